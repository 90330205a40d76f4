//! Processes that train one model together: what each of them learns, and how they add up what they have computed.
//!
//! The members of an encoder are divided among the ranks. If there are more ranks than members, several ranks are the *team* of one
//! member and divide its minibatches: each has consecutive blocks of texts. A sum over blocks is one chain in the order of the
//! blocks, and a rank continues what the one before it has summed, slice by slice. So the bits are the same at any number of ranks.

use std::fmt::Debug;
use std::sync::Arc;

use clickvec_tables::Result;

/// Processes that train one model together, each with all of the data.
///
/// All of them call the training with the same settings, data and kind of output, on a thread that is in no thread pool: the pool's
/// threads would wait for other ranks. A rank that fails must end the others, or at least their waiting.
pub trait Ranks: Debug + Send + Sync {
    /// Returns the number of this process, counted from 0.
    fn rank(&self) -> usize;

    /// Returns the number of processes.
    fn size(&self) -> usize;

    /// Sends numbers to another rank, without waiting until it asks for them.
    ///
    /// # Errors
    /// The rank cannot be reached.
    fn send(&self, to: usize, channel: u32, numbers: Vec<f32>) -> Result<()>;

    /// Waits for the next numbers that another rank sends through this channel. They arrive in order, and bit for bit.
    ///
    /// # Errors
    /// The rank cannot be reached.
    fn receive(&self, from: usize, channel: u32) -> Result<Vec<f32>>;
}

/// The channel of what all ranks tell each other. Those of the towers follow.
pub(crate) const CONTROL: u32 = 0;

/// The largest number of values in a message.
const PIECE: usize = 1 << 22;

/// All ranks of a run, and how they divide the members of its encoder.
#[derive(Debug, Clone)]
pub(crate) struct Teams {
    ranks: Arc<dyn Ranks>,
    members: usize,
}

impl Teams {
    pub(crate) fn new(ranks: Arc<dyn Ranks>, members: usize) -> Teams {
        Teams { ranks, members }
    }

    /// Returns the number of this rank.
    pub(crate) fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// Returns all ranks, in ascending order.
    pub(crate) fn all(&self) -> std::ops::Range<usize> {
        0..self.ranks.size()
    }

    /// Returns the ranks that learn a member, in ascending order.
    pub(crate) fn of(&self, member: usize) -> Vec<usize> {
        let size = self.ranks.size();
        let is_one =
            |&rank: &usize| if size > self.members { rank % self.members == member } else { rank == member % size };
        self.all().filter(is_one).collect()
    }

    /// Returns whether this rank learns a member.
    pub(crate) fn learns(&self, member: usize) -> bool {
        self.of(member).contains(&self.rank())
    }

    /// Returns the team of a member, which this rank learns.
    pub(crate) fn team(&self, member: usize) -> Team {
        Team::new(&self.ranks, self.of(member))
    }

    /// Returns the part of each minibatch that this rank learns.
    pub(crate) fn part(&self) -> Part {
        let members: Vec<bool> = (0..self.members).map(|member| self.learns(member)).collect();
        let team = self.team(members.iter().position(|&learns| learns).unwrap_or(0));
        Part { members, share: team.place, shares: team.numbers.len() }
    }

    /// Returns what all ranks say, in their order.
    pub(crate) fn share(&self, own: &[u64]) -> Result<Vec<Vec<u64>>> {
        let all = Team::new(&self.ranks, self.all().collect());
        Ok(all.share(CONTROL, encode(own))?.iter().map(|numbers| decode(numbers)).collect())
    }

    /// Sends numbers to a rank, if there is one to send to, in pieces.
    pub(crate) fn send(&self, to: Option<usize>, numbers: &[f32]) -> Result<()> {
        to.map_or(Ok(()), |to| numbers.chunks(PIECE).try_for_each(|piece| self.ranks.send(to, CONTROL, piece.to_vec())))
    }

    /// Waits for this many numbers, and passes each piece on.
    pub(crate) fn receive(&self, from: usize, to: Option<usize>, count: usize) -> Result<Vec<f32>> {
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            let piece = self.ranks.receive(from, CONTROL)?;
            self.send(to, &piece)?;
            numbers.extend(piece);
        }
        Ok(numbers)
    }
}

/// The part of each minibatch that a rank learns.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Whether it learns each member of the encoder.
    pub(crate) members: Vec<bool>,
    /// Which of `shares` shares of the blocks of texts it has.
    pub(crate) share: usize,
    pub(crate) shares: usize,
}

/// The ranks that divide the minibatches of one member.
#[derive(Debug, Clone)]
pub(crate) struct Team {
    ranks: Arc<dyn Ranks>,
    numbers: Vec<usize>,
    /// The place of this rank among `numbers`.
    place: usize,
}

impl Team {
    fn new(ranks: &Arc<dyn Ranks>, numbers: Vec<usize>) -> Team {
        let place = numbers.iter().position(|&number| number == ranks.rank()).unwrap_or(0);
        Team { ranks: Arc::clone(ranks), numbers, place }
    }

    /// Returns whether there is anything to divide.
    pub(crate) fn is_divided(&self) -> bool {
        self.numbers.len() > 1
    }

    /// Returns what each of the team says, in the order of their places.
    fn share(&self, channel: u32, own: Vec<f32>) -> Result<Vec<Vec<f32>>> {
        let others = || self.numbers.iter().enumerate().filter(|&(place, _)| place != self.place);
        others().try_for_each(|(_, &to)| self.ranks.send(to, channel, own.clone()))?;
        let mut all = vec![Vec::new(); self.numbers.len()];
        for (place, &from) in others() {
            all[place] = self.ranks.receive(from, channel)?;
        }
        all[self.place] = own;
        Ok(all)
    }
}

/// The sums of one tower over the blocks of texts of a team.
#[derive(Debug)]
pub(crate) struct Chain {
    team: Team,
    channel: u32,
    /// The first fault, after which nothing is summed any more.
    fault: Option<clickvec_tables::Error>,
}

impl Chain {
    /// Creates the sums of a tower, counted from 0.
    pub(crate) fn new(team: Team, tower: usize) -> Chain {
        Chain { team, channel: CONTROL + 1 + tower as u32, fault: None }
    }

    /// Returns the place of this rank in its team, and whether it is the last one.
    pub(crate) fn place(&self) -> (usize, bool) {
        (self.team.place, self.team.place + 1 == self.team.numbers.len())
    }

    /// Sends this rank's rows of a matrix to the others of the team, and receives theirs. `rows` has the numbers of each one's rows.
    pub(crate) fn exchange<'a>(
        &self,
        rows: impl Fn(usize) -> &'a [u32],
        width: usize,
        matrix: &mut [f32],
    ) -> Result<()> {
        let mut own = Vec::with_capacity(rows(self.team.place).len() * width);
        for &row in rows(self.team.place) {
            own.extend_from_slice(&matrix[row as usize * width..][..width]);
        }
        for (place, numbers) in self.team.share(self.channel, own)?.iter().enumerate() {
            for (&row, numbers) in rows(place).iter().zip(numbers.chunks_exact(width)) {
                matrix[row as usize * width..][..width].copy_from_slice(numbers);
            }
        }
        Ok(())
    }

    /// Sets each of `sums` to the sum over the team. `add` gets the number of one of them, what the ranks before this one have handed
    /// on (nothing at the first one), and the place for the sum so far. It returns what to hand on; at the last rank that is the sum.
    pub(crate) fn sum(&mut self, sums: Vec<&mut [f32]>, add: impl Fn(usize, &[f32], &mut [f32]) -> Vec<f32>) {
        if self.fault.is_none() {
            self.fault = self.try_sum(sums, add).err();
        }
    }

    fn try_sum(&self, mut sums: Vec<&mut [f32]>, add: impl Fn(usize, &[f32], &mut [f32]) -> Vec<f32>) -> Result<()> {
        let Chain { team: Team { ranks, numbers, place }, channel, .. } = self;
        let (place, last) = (*place, numbers.len() - 1);
        let [before, next] = [place + last, place + 1].map(|place| numbers[place % numbers.len()]);
        for (number, sum) in sums.iter_mut().enumerate() {
            let so_far = if place == 0 { Vec::new() } else { ranks.receive(before, *channel)? };
            ranks.send(next, *channel, add(number, &so_far, sum))?;
        }
        // The last rank has sent the sums to the first, and from there they go round.
        if place < last {
            for sum in &mut sums {
                let whole = ranks.receive(before, *channel)?;
                sum.copy_from_slice(&whole);
                if place + 1 < last {
                    ranks.send(next, *channel, whole)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the fault of the sums since the last call.
    pub(crate) fn fault(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }
}

/// Writes integers as numbers that can be sent: two of 32 bits for each.
pub(crate) fn encode(integers: &[u64]) -> Vec<f32> {
    integers.iter().flat_map(|&integer| [integer as u32, (integer >> 32) as u32].map(f32::from_bits)).collect()
}

/// Reads what [`encode`] wrote.
pub(crate) fn decode(numbers: &[f32]) -> Vec<u64> {
    let pairs = numbers.chunks_exact(2);
    pairs.map(|pair| u64::from(pair[0].to_bits()) | u64::from(pair[1].to_bits()) << 32).collect()
}
