//! Several LSTMs, each with its own weights, whose unit vectors are the embedding, one after the other.

use super::joined::Joined;
use super::kind::{EncoderKind, UNITS};
use super::trace::Direction;
use super::{Description, Encoder, LstmConfig, Peephole};
use crate::fields::{Rule, fields};
use clickvec_tables::{Error, ErrorKind, Result};

fields! {
    /// The number of LSTMs, their sizes, and those of their vectors together. The default number is the best in validation
    /// (docs/explanation/defaults.md).
    #[derive(Copy, Eq)]
    pub struct MembersConfig {
        /// The number of LSTMs. Each is trained on its own, with its own seed, and their vectors are joined end to end.
        pub members: usize = 3 where Rule::Within(1.0, MAX_MEMBERS as f64),
        /// The number of cells of each.
        pub cells: usize = 96 where UNITS,
        /// Whether there are forget gates.
        pub forget_gate: bool = false,
        /// Connections from the cells to the gates: `none`, `diagonal` or `full`.
        pub peephole: Peephole = (Peephole::None),
        /// The size of a text's vector, or `none` for all cells of the members. After each epoch, the principal components of up to
        /// 20,000 titles reduce the members' vectors to this many numbers.
        #[serde(with = "crate::fields::integer_or_none")]
        pub dimension: Option<usize> = None where Rule::AtLeast(1.0),
    }
}

impl MembersConfig {
    /// Returns the size of the members' vectors together.
    fn units(&self) -> usize {
        self.members * self.cells
    }

    /// Creates a configuration of `members` LSTMs like `lstm`.
    pub fn new(members: usize, lstm: LstmConfig, dimension: Option<usize>) -> MembersConfig {
        let LstmConfig { cells, forget_gate, peephole } = lstm;
        MembersConfig { members, cells, forget_gate, peephole, dimension }
    }

    /// Returns the input and output size of the projection that makes the embedding, if there is one.
    pub(super) fn projection(&self) -> Option<(usize, usize)> {
        self.dimension.map(|dimension| (self.units(), dimension))
    }

    /// Returns the same without a projection.
    pub(super) fn without_projection(&self) -> MembersConfig {
        MembersConfig { dimension: None, ..*self }
    }

    /// Returns each of the LSTMs.
    pub(super) fn lstm(&self) -> LstmConfig {
        LstmConfig { cells: self.cells, forget_gate: self.forget_gate, peephole: self.peephole }
    }
}

/// The largest number of members.
pub(super) const MAX_MEMBERS: usize = 64;

impl EncoderKind for MembersConfig {
    fn sizes(&self) -> String {
        let projected =
            self.dimension.map_or_else(String::new, |dimension| format!(", projected to {dimension} numbers"));
        format!("{} times lstm, {}{projected}", self.members, self.lstm().sizes())
    }

    fn build(&self, features: usize) -> Box<dyn Encoder> {
        let lstms = (0..self.members).map(|member| (prefix(member), Direction::Forward));
        Box::new(Joined::new(features, self.lstm(), lstms).scaled(self.dimension))
    }

    fn parameters(&self, features: u64) -> Option<u64> {
        let projection =
            self.dimension.map_or(Some(0), |dimension| (self.units() as u64).checked_mul(dimension as u64))?;
        self.lstm().parameters(features)?.checked_mul(self.members as u64)?.checked_add(projection)
    }

    fn check(&self) -> Result<()> {
        let units = self.units();
        match self.dimension {
            Some(dimension) if self.members < 2 || dimension > units => {
                let expected = format!("two members or more, which have at least {dimension} numbers together");
                let found = format!("{} of {} cells", self.members, self.cells);
                Err(Error::expected(ErrorKind::Setting, expected, found).within("encoder.dimension"))
            }
            _ => Ok(()),
        }
    }

    fn description(&self) -> Description {
        self.lstm().description()
    }

    fn has_published_signals(&self) -> bool {
        true
    }

    fn adds_up(&self) -> bool {
        self.lstm().adds_up()
    }
}

/// Returns the prefix of the names of a member's matrices.
pub(crate) fn prefix(member: usize) -> String {
    format!("m{}.", member + 1)
}
