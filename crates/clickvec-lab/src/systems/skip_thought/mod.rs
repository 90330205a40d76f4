//! Skip-Thought vectors (Kiros et al., "Skip-thought vectors", 2015), with weights that the authors' program trained. Where paper and
//! program differ, the equations are those of the program, which made the published vectors.

mod gru;
mod load;
mod numpy;
mod packed;
#[cfg(test)]
mod tests;

use clickvec::internals::math::score::score;
use clickvec::internals::math::vector::normalize;
use clickvec::internals::math::{Buffer, Matrix};
use clickvec::internals::text::Interner;
use clickvec_eval::internals::{Numbers, RankerState};
use clickvec_eval::internals::{UNKNOWN, WordReader};
use clickvec_eval::ranker::{InnerWords, Ranker, SystemRanker};
use clickvec_eval::ranker::{Parameter, Resources, System, Values};
use clickvec_tables::{Error, ErrorKind};
use clickvec_tables::{Result, damaged};
use gru::{Gru, Scratch};
use packed::Packed;

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "skip-thought",
    about: "Skip-Thought vectors, whose weights another program trained (Kiros et al. 2015)",
    parameters: &[
        Parameter::count("uni", 1, 0, 1, "1 takes the encoder that reads forward only; 0 leaves it out"),
        Parameter::count("bi", 1, 0, 1, "1 takes the two that read forward and backward; 0 leaves them out"),
    ],
    files: &["encoder"],
    one_above_zero: &["uni", "bi"],
    train: |values, resources, _| Ok(Box::new(SkipThought::train(values, resources)?)),
    restore: |values, state| Ok(Box::new(SkipThought::restore(values, state)?)),
};

/// Larger weights are refused, since a sum could become infinite.
const LARGEST: f32 = 1e6;
/// The number of texts that are encoded at once.
const TEXTS_TOGETHER: usize = 128;

/// The cosine of two texts' combine-skip vectors: the normalised uni-skip vector followed by the normalised bi-skip
/// vector.
///
/// A word that is not in the vocabulary counts as the unknown word. A text without words has the zero vector.
#[derive(Debug, Clone)]
pub(super) struct SkipThought {
    vocabulary: Interner,
    /// Uni-skip and bi-skip, or one of them.
    parts: Vec<Part>,
}

/// The encoders over one set of word vectors.
#[derive(Debug, Clone)]
struct Part {
    name: &'static str,
    /// A row for each word, and one for the unknown word: [V + 1, D]
    word_vectors: Matrix,
    /// An encoder that reads forward; bi-skip has a second that reads backward.
    encoders: Vec<Gru>,
}

/// The names of the parts and of their encoders. The parameters `uni` and `bi` say which to take.
const PARTS: [(&str, &[&str]); 2] = [("uni", &["forward"]), ("bi", &["forward", "backward"])];

/// Returns those of [`PARTS`] that the parameters take.
fn parts(values: &Values) -> Vec<(&'static str, &'static [&'static str])> {
    PARTS.into_iter().filter(|(name, _)| values.count(name) > 0).collect()
}

impl SkipThought {
    fn train(values: &Values, resources: &Resources<'_>) -> Result<SkipThought> {
        let Some(folder) = resources.file("encoder") else {
            let error = Error::expected(ErrorKind::Empty, "a trained encoder", "none");
            return Err(error.help("name its folder, as in `skip-thought:encoder=FOLDER`").within(SYSTEM.name));
        };
        load::load(folder, &parts(values))
    }

    fn restore(values: &Values, state: &RankerState) -> Result<SkipThought, clickvec_tables::Error> {
        let vocabulary = state.words()?;
        let part = |(name, encoders)| Part::restore(name, encoders, vocabulary.len(), state);
        let parts = parts(values).into_iter().map(part).collect::<Result<_, clickvec_tables::Error>>()?;
        Ok(SkipThought { vocabulary, parts })
    }

    /// Encodes each text as a vector, whose length is the number of parts: [texts, units].
    fn encode(&self, texts: &[&str]) -> Matrix {
        let width = self.parts.iter().map(Part::width).sum();
        let mut vectors = Matrix::zeros(texts.len(), width);
        let (mut reader, mut scratch) = (WordReader::default(), Scratch::default());
        let unknown = self.vocabulary.len() as u32;
        let known = |&word: &u32| if word == UNKNOWN { unknown } else { word };
        let read = |text: &&str| reader.read(&self.vocabulary, text).iter().map(known).collect();
        let texts: Vec<Vec<u32>> = texts.iter().map(read).collect();
        // Process texts of similar lengths together, so that few of a batch end early.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&text| std::cmp::Reverse(texts[text].len()));
        for batch in order.chunks(TEXTS_TOGETHER) {
            let words: Vec<&[u32]> = batch.iter().map(|&text| &texts[text][..]).collect();
            let mut first = 0;
            for part in &self.parts {
                let states = part.encode(&words, &mut scratch);
                for (&text, state) in batch.iter().zip(states.data().chunks_exact(part.width())) {
                    let out = &mut vectors.row_mut(text)[first..][..part.width()];
                    out.copy_from_slice(state);
                    normalize(out);
                }
                first += part.width();
            }
        }
        vectors
    }
}

impl Part {
    /// Returns the size of a vector.
    fn width(&self) -> usize {
        self.encoders.iter().map(|gru| gru.units).sum()
    }

    /// Returns the last states of all encoders, one after the other: [texts, units].
    fn encode(&self, texts: &[&[u32]], scratch: &mut Scratch) -> Matrix {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let mut vectors = Matrix::zeros(texts.len(), self.width());
        let mut first = 0;
        for (number, gru) in self.encoders.iter().enumerate() {
            let word = |text: usize, step: usize| match number {
                0 => texts[text][step],
                _ => texts[text][lengths[text] - 1 - step],
            };
            let packed = Packed::new(&lengths, word);
            let mut states = Buffer::zeros(texts.len() * gru.units);
            let input = |word: u32, out: &mut [f32]| out.copy_from_slice(self.word_vectors.row(word as usize));
            gru.encode(&packed.words, &packed.alive, input, scratch, &mut states);
            for (&text, state) in packed.order.iter().zip(states.chunks_exact(gru.units)) {
                vectors.row_mut(text as usize)[first..][..gru.units].copy_from_slice(state);
            }
            first += gru.units;
        }
        vectors
    }

    fn restore(
        name: &'static str,
        encoders: &[&str],
        words: usize,
        state: &RankerState,
    ) -> Result<Part, clickvec_tables::Error> {
        let array = |tensor: &str, rows: Option<usize>, columns: Option<usize>| {
            let tensor = format!("{name}.{tensor}");
            let shape = &state.array(&tensor, &[rows, columns])?.shape;
            let (rows, columns) = (shape[0], shape[1]);
            let numbers = state.f32s(&tensor, &[Some(rows), Some(columns)])?;
            if rows.min(columns) == 0 {
                let (expected, found) = ("at least one row and one column".to_owned(), format!("[{rows}, {columns}]"));
                return Err(damaged::wrong_tensor(tensor, expected, found));
            }
            match numbers.iter().position(is_large) {
                Some(position) => Err(damaged::content(
                    tensor,
                    format!("numbers from -{LARGEST:e} to {LARGEST:e}, with which no state overflows"),
                    format!("{:e} at place {position}", numbers[position]),
                )),
                None => Ok(Matrix::from_vec(rows, columns, numbers.to_vec())),
            }
        };
        let word_vectors = array("words", Some(words + 1), None)?;
        let encoder = |encoder: &&str| {
            let recurrent = array(&format!("{encoder}.recurrent_weights"), None, None)?;
            let (units, width) = (recurrent.rows(), recurrent.rows().saturating_mul(3));
            if recurrent.columns() != width {
                let tensor = format!("{name}.{encoder}.recurrent_weights");
                let (expected, found) = (format!("[{units}, {width}]"), format!("[{units}, {}]", recurrent.columns()));
                return Err(damaged::wrong_tensor(tensor, expected, found));
            }
            let input = array(&format!("{encoder}.input_weights"), Some(word_vectors.columns()), Some(width))?;
            let bias = array(&format!("{encoder}.bias"), Some(1), Some(width))?;
            let mut gru = Gru::zeros(word_vectors.columns(), units);
            for (buffer, matrix) in gru.tensors_mut().into_iter().zip([input, recurrent, bias]) {
                buffer.copy_from_slice(matrix.data());
            }
            Ok(gru)
        };
        let encoders = encoders.iter().map(encoder).collect::<Result<_, clickvec_tables::Error>>()?;
        Ok(Part { name, encoders, word_vectors })
    }

    fn state(&self, encoders: &[&str], state: RankerState) -> RankerState {
        let add = |state: RankerState, tensor: &str, rows: usize, numbers: &[f32]| {
            let shape = [rows, numbers.len() / rows];
            state.with(&format!("{}.{tensor}", self.name), &shape, Numbers::F32(numbers.to_vec()))
        };
        let mut state = add(state, "words", self.word_vectors.rows(), self.word_vectors.data());
        for (name, gru) in encoders.iter().zip(&self.encoders) {
            state = add(state, &format!("{name}.input_weights"), gru.inputs, &gru.input_weights);
            state = add(state, &format!("{name}.recurrent_weights"), gru.units, &gru.recurrent_weights);
            state = add(state, &format!("{name}.bias"), 1, &gru.bias);
        }
        state
    }
}

/// Returns the first number that is NaN or too large for a weight.
fn large(numbers: &[f32]) -> Option<f32> {
    numbers.iter().copied().find(is_large)
}

fn is_large(number: &f32) -> bool {
    // NaN compares as false.
    number.is_nan() || number.abs() > LARGEST
}

impl Ranker for SkipThought {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let texts: Vec<&str> = [query].into_iter().chain(titles.iter().copied()).collect();
        let vectors = self.encode(&texts);
        // The vector of each part has length 1.
        let parts = self.parts.len() as f64;
        (1..texts.len()).map(|title| f64::from(score(vectors.row(0), vectors.row(title))) / parts).collect()
    }

    /// Returns the rows of all parts' tables, one after the other.
    fn word_vectors(&self) -> Option<InnerWords<'_>> {
        let rows = |word: usize| self.parts.iter().flat_map(move |part| part.word_vectors.row(word).iter().copied());
        let vectors = (0..self.vocabulary.len()).flat_map(rows).collect();
        let dimension = self.parts.iter().map(|part| part.word_vectors.columns()).sum();
        Some(InnerWords { words: &self.vocabulary, vectors, dimension })
    }
}

impl SystemRanker for SkipThought {
    fn tune(&mut self, _: &Values) {}

    fn state(&self) -> RankerState {
        let state = RankerState::default().with_words(&self.vocabulary);
        self.parts.iter().fold(state, |state, part| {
            let (_, encoders) = PARTS.into_iter().find(|(name, _)| *name == part.name).expect("one of the parts");
            part.state(encoders, state)
        })
    }
}
