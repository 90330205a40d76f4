//! A sentence transformer as its users see it.

use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clickvec::model::Side;
use clickvec_tables::Result;
use rayon::prelude::*;

use crate::config::{CONFIG, Config, MODULES, POOLING, PROMPTS, SENTENCES};
use crate::encoder::{Encoder, Scratch};
use crate::folder::Folder;
use crate::tokenizer::{TOKENIZER, TOKENIZER_CONFIG, Tokenizer, VOCABULARY};
use crate::weights::WEIGHTS;

/// The number of tokens that a thread encodes at once.
const TOKENS_AT_ONCE: usize = 256;

/// All files that a transformer may have.
const FILES: [&str; 9] =
    [CONFIG, MODULES, POOLING, SENTENCES, PROMPTS, TOKENIZER, TOKENIZER_CONFIG, VOCABULARY, WEIGHTS];

/// A sentence transformer: a BERT encoder with its tokenizer and pooling.
pub struct Transformer {
    tokenizer: Tokenizer,
    encoder: Encoder,
    /// The number of tokens of a text that are read.
    limit: usize,
    lowercase: bool,
    prompts: [String; 2],
    files: Vec<&'static str>,
    fingerprint: String,
}

impl Transformer {
    /// Returns the files of a folder that [`Transformer::load`] might read, without reading them.
    pub fn files_in(path: &Path) -> Vec<PathBuf> {
        FILES.iter().map(|name| path.join(name)).filter(|file| file.is_file()).collect()
    }

    /// Loads a transformer from a folder that sentence-transformers saved.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](clickvec_tables::ErrorKind::Malformed) if it is of another kind than a BERT encoder with WordPiece and the
    /// pooling `mean` or `cls`; [`ErrorKind::Damaged`](clickvec_tables::ErrorKind::Damaged) for weights that are cut short, missing, of another
    /// shape or not finite; [`ErrorKind::Mismatch`](clickvec_tables::ErrorKind::Mismatch) if the tokenizer has tokens without an embedding.
    pub fn load(path: &Path) -> Result<Transformer> {
        let mut folder = Folder::new(path);
        let config = Config::read(&mut folder)?;
        let tokenizer = Tokenizer::read(&mut folder)?;
        let encoder = Encoder::read(&mut folder, &config)?;
        tokenizer.check_rows(encoder.tokens(), &folder)?;
        let limit = config.limit.or(tokenizer.limit).unwrap_or(config.positions).min(config.positions);
        let Config { lowercase, prompts, .. } = config;
        let (files, fingerprint) = folder.finish();
        Ok(Transformer { tokenizer, encoder, limit, lowercase, prompts, files, fingerprint })
    }

    /// Returns the names of the files that were read: a folder with copies of these is the same transformer.
    pub fn files(&self) -> &[&'static str] {
        &self.files
    }

    /// Returns a fingerprint of all these files.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the size of a vector.
    pub fn dimension(&self) -> usize {
        self.encoder.hidden
    }

    /// Returns the tokens of a text, by their numbers.
    pub fn tokens(&self, side: Side, text: &str) -> Vec<u32> {
        let prompt = match side {
            Side::Query => &self.prompts[0],
            Side::Title => &self.prompts[1],
        };
        let text = format!("{prompt}{}", text.trim());
        let text = if self.lowercase { text.to_lowercase() } else { text };
        self.tokenizer.tokens(&text, self.limit)
    }

    /// Returns the vectors of texts, [texts, dimension], of unit length.
    pub fn encode<S: AsRef<str> + Sync>(&self, side: Side, texts: &[S]) -> Vec<f32> {
        let tokens: Vec<Vec<u32>> = texts.par_iter().map(|text| self.tokens(side, text.as_ref())).collect();
        // Texts of one length make blocks of one size.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&text| tokens[text].len());
        let mut blocks: Vec<&[usize]> = Vec::new();
        let (mut begin, mut size) = (0, 0);
        for (end, &text) in order.iter().enumerate() {
            if size > 0 && size + tokens[text].len() > TOKENS_AT_ONCE {
                blocks.push(&order[begin..end]);
                (begin, size) = (end, 0);
            }
            size += tokens[text].len();
        }
        blocks.push(&order[begin..]);
        let d = self.dimension();
        let encoded: Vec<Vec<f32>> = blocks
            .par_iter()
            .map_init(Scratch::default, |scratch, block| {
                let mut vectors = vec![0.0; block.len() * d];
                let texts = block.iter().map(|&text| &tokens[text][..]);
                self.encoder.encode(texts, scratch, &mut vectors, None);
                vectors
            })
            .collect();
        let mut vectors = vec![0.0; texts.len() * d];
        for (&text, vector) in order.iter().zip(encoded.iter().flat_map(|block| block.chunks_exact(d))) {
            vectors[text * d..][..d].copy_from_slice(vector);
        }
        vectors
    }

    /// Returns the vector of one text, on the thread that asks; `None` if it is not ready in time.
    pub fn encode_until(&self, side: Side, text: &str, until: Option<Instant>) -> Option<Vec<f32>> {
        let tokens = self.tokens(side, text);
        let mut vector = vec![0.0; self.dimension()];
        let texts = std::iter::once(&tokens[..]);
        self.encoder.encode(texts, &mut Scratch::default(), &mut vector, until).then_some(vector)
    }
}

impl Debug for Transformer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transformer").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}
