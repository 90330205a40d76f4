//! From a text to tokens, WordPiece.

use std::collections::HashMap;

use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::folder::Folder;
use crate::normalizer::{Normalizer, for_each_word};

pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
pub(crate) const VOCABULARY: &str = "vocab.txt";

/// The longest word that is split into pieces, in characters, unless the folder has its own limit.
const LONGEST_WORD: usize = 100;

/// A tokenizer of WordPiece.
#[derive(Debug, Clone)]
pub(crate) struct Tokenizer {
    normalizer: Normalizer,
    /// The pieces that begin words.
    first: HashMap<Box<str>, u32>,
    /// The pieces that continue words, without `##`.
    continuing: HashMap<Box<str>, u32>,
    unknown: u32,
    longest_word: usize,
    /// The tokens before and after every text.
    around: [Vec<u32>; 2],
    /// Tokens that texts may have as they are, such as `[SEP]`.
    special: Vec<(String, u32)>,
    /// The number of tokens of a text that are read, if the folder limits it.
    pub(crate) limit: Option<usize>,
}

#[derive(Deserialize)]
struct File {
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    model: Value,
    truncation: Option<Truncation>,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
}

#[derive(Deserialize)]
struct Truncation {
    max_length: usize,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}

#[derive(Deserialize)]
struct WordPiece {
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    vocab: HashMap<String, u32>,
}

/// The settings beside a `vocab.txt`.
#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    do_lower_case: bool,
    strip_accents: Option<bool>,
    tokenize_chinese_chars: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { do_lower_case: true, strip_accents: None, tokenize_chinese_chars: true }
    }
}

impl Tokenizer {
    /// Reads the tokenizer of a folder: `tokenizer.json`, or else `vocab.txt`.
    pub(crate) fn read(folder: &mut Folder<'_>) -> Result<Tokenizer> {
        match folder.json::<File>(TOKENIZER)? {
            Some(file) => Tokenizer::from_file(file, folder),
            None => Tokenizer::from_vocabulary(folder),
        }
    }

    fn from_file(file: File, folder: &Folder<'_>) -> Result<Tokenizer> {
        let kind = |value: &Value| value.get("type").and_then(Value::as_str).unwrap_or("none").to_owned();
        let parts = [
            ("model", &file.model, "WordPiece"),
            ("normalizer", &file.normalizer, "BertNormalizer"),
            ("pre_tokenizer", &file.pre_tokenizer, "BertPreTokenizer"),
        ];
        for (name, value, expected) in parts {
            let found = kind(value);
            if found != expected {
                let found = format!("`{}`", shortened(&found));
                return Err(folder.unsupported(TOKENIZER, format!("the {name} `{expected}`"), found));
            }
        }
        let bad = |name: &str| folder.unsupported(TOKENIZER, format!("the settings of the {name}"), "others");
        let normalizer = Normalizer::deserialize(&file.normalizer).map_err(|_| bad("normalizer"))?;
        let pieces = WordPiece::deserialize(&file.model).map_err(|_| bad("model"))?;
        let around = match kind(&file.post_processor).as_str() {
            "TemplateProcessing" => around_template(&file.post_processor),
            "BertProcessing" => around_bert(&file.post_processor),
            _ => None,
        };
        let around = around.ok_or_else(|| bad("post_processor"))?;
        let special = file.added_tokens.into_iter().filter(|token| !token.content.is_empty());
        let special = special.map(|AddedToken { id, content }| (content, id)).collect();
        let (unknown, longest_word) = (pieces.unk_token.clone(), pieces.max_input_chars_per_word);
        let prefix = pieces.continuing_subword_prefix;
        let mut tokenizer = Tokenizer::new(normalizer, pieces.vocab, &prefix, &unknown, folder, TOKENIZER)?;
        (tokenizer.longest_word, tokenizer.around, tokenizer.special) = (longest_word, around, special);
        tokenizer.limit = file.truncation.map(|truncation| truncation.max_length);
        Ok(tokenizer)
    }

    fn from_vocabulary(folder: &mut Folder<'_>) -> Result<Tokenizer> {
        let Some(bytes) = folder.read(VOCABULARY)? else {
            let expected = format!("`{TOKENIZER}` or `{VOCABULARY}`");
            return Err(folder.unsupported("", expected, "neither"));
        };
        let text = String::from_utf8(bytes)
            .map_err(|_| folder.unsupported(VOCABULARY, "a token of UTF-8 in each line", "other bytes"))?;
        let settings: Settings = folder.json(TOKENIZER_CONFIG)?.unwrap_or_default();
        let normalizer = Normalizer {
            clean_text: true,
            handle_chinese_chars: settings.tokenize_chinese_chars,
            strip_accents: settings.strip_accents,
            lowercase: settings.do_lower_case,
        };
        let vocabulary: HashMap<String, u32> = text.lines().map(str::to_owned).zip(0..).collect();
        let special = ["[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"];
        let special: Vec<(String, u32)> =
            special.iter().filter_map(|&name| Some((name.to_owned(), *vocabulary.get(name)?))).collect();
        let mut tokenizer = Tokenizer::new(normalizer, vocabulary, "##", "[UNK]", folder, VOCABULARY)?;
        let [Some(first), Some(last)] =
            ["[CLS]", "[SEP]"].map(|wanted| special.iter().find(|(name, _)| name == wanted).map(|&(_, id)| id))
        else {
            return Err(folder.unsupported(VOCABULARY, "the tokens `[CLS]` and `[SEP]`", "none"));
        };
        (tokenizer.around, tokenizer.special) = ([vec![first], vec![last]], special);
        Ok(tokenizer)
    }

    fn new(
        normalizer: Normalizer,
        vocabulary: HashMap<String, u32>,
        prefix: &str,
        unknown: &str,
        folder: &Folder<'_>,
        file: &str,
    ) -> Result<Tokenizer> {
        let Some(&id) = vocabulary.get(unknown) else {
            let expected = format!("a vocabulary with `{}`", shortened(unknown));
            return Err(folder.unsupported(file, expected, "one without it"));
        };
        let (mut first, mut continuing) = (HashMap::new(), HashMap::new());
        for (token, id) in vocabulary {
            if let Some(rest) = token.strip_prefix(prefix).filter(|rest| !rest.is_empty()) {
                continuing.insert(rest.into(), id);
            }
            first.insert(token.into_boxed_str(), id);
        }
        Ok(Tokenizer {
            normalizer,
            first,
            continuing,
            unknown: id,
            longest_word: LONGEST_WORD,
            around: Default::default(),
            special: Vec::new(),
            limit: None,
        })
    }

    /// Checks that each token has a row among the `rows` of the encoder's embeddings.
    pub(crate) fn check_rows(&self, rows: usize, folder: &Folder<'_>) -> Result<()> {
        let around = self.around.iter().flatten().chain(self.special.iter().map(|(_, id)| id));
        let all = self.first.values().chain(self.continuing.values()).chain(around);
        let most = all.copied().max().unwrap_or(0);
        if (most as usize) < rows {
            return Ok(());
        }
        let expected = format!("a tokenizer with the {rows} tokens that the embeddings have");
        let error = Error::expected(ErrorKind::Mismatch, expected, format!("a token with the number {most}"));
        Err(error.help("are the files of one model?").at(&folder.file("")))
    }

    /// Returns the tokens of a text, at most `limit` with those around it.
    pub(crate) fn tokens(&self, text: &str, limit: usize) -> Vec<u32> {
        let [before, after] = &self.around;
        let room = limit.saturating_sub(before.len() + after.len());
        let mut tokens = before.clone();
        let end = before.len() + room;
        let mut rest = text;
        while !rest.is_empty() && tokens.len() < end {
            let next = self.special.iter().filter_map(|(name, id)| Some((rest.find(name)?, name.len(), *id)));
            // The first; of those that begin there, the longest.
            let next = next.min_by_key(|&(at, length, _)| (at, usize::MAX - length));
            let (at, length) = next.map_or((rest.len(), 0), |(at, length, _)| (at, length));
            let normalized = self.normalizer.normalized(&rest[..at]);
            for_each_word(&normalized, |word| {
                if tokens.len() < end {
                    self.add_pieces(word, &mut tokens);
                }
            });
            tokens.extend(next.map(|(_, _, id)| id));
            rest = &rest[at + length..];
        }
        tokens.truncate(end);
        tokens.extend(after);
        tokens
    }

    /// Adds the longest pieces from left to right that a word consists of; the unknown token if there are none.
    fn add_pieces(&self, word: &str, tokens: &mut Vec<u32>) {
        let begin = tokens.len();
        let mut rest = word;
        // A longer word need not be counted to its end.
        if word.chars().nth(self.longest_word).is_some() {
            tokens.push(self.unknown);
            return;
        }
        while !rest.is_empty() {
            let pieces = if rest.len() == word.len() { &self.first } else { &self.continuing };
            let ends = rest.char_indices().rev().map(|(at, c)| at + c.len_utf8());
            let found = ends.into_iter().find_map(|end| Some((end, *pieces.get(&rest[..end])?)));
            let Some((end, id)) = found else {
                tokens.truncate(begin);
                tokens.push(self.unknown);
                return;
            };
            tokens.push(id);
            rest = &rest[end..];
        }
    }
}

/// Returns the tokens before and after a text of a `TemplateProcessing`.
fn around_template(processor: &Value) -> Option<[Vec<u32>; 2]> {
    let mut around = [Vec::new(), Vec::new()];
    let mut side = 0;
    for item in processor.get("single")?.as_array()? {
        if item.get("Sequence").is_some() {
            side += 1;
            continue;
        }
        let name = item.get("SpecialToken")?.get("id")?.as_str()?;
        let ids = processor.get("special_tokens")?.get(name)?.get("ids")?.as_array()?;
        for id in ids {
            around.get_mut(side)?.push(u32::try_from(id.as_u64()?).ok()?);
        }
    }
    (side == 1 && around.iter().all(|tokens| tokens.len() <= 8)).then_some(around)
}

/// Returns the tokens before and after a text of a `BertProcessing`.
fn around_bert(processor: &Value) -> Option<[Vec<u32>; 2]> {
    let id = |name: &str| u32::try_from(processor.get(name)?.get(1)?.as_u64()?).ok();
    Some([vec![id("cls")?], vec![id("sep")?]])
}
