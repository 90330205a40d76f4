//! The settings of the encoder in a folder.

use std::collections::BTreeMap;

use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::Deserialize;

use crate::folder::{Folder, SUPPORTED};

pub(crate) const CONFIG: &str = "config.json";
pub(crate) const MODULES: &str = "modules.json";
pub(crate) const POOLING: &str = "1_Pooling/config.json";
pub(crate) const SENTENCES: &str = "sentence_bert_config.json";
pub(crate) const PROMPTS: &str = "config_sentence_transformers.json";

/// The sizes of a BERT encoder, and how it is used.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) hidden: usize,
    pub(crate) intermediate: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) positions: usize,
    pub(crate) epsilon: f32,
    pub(crate) pooling: Pooling,
    /// The number of tokens of a text that are read, if the folder limits it.
    pub(crate) limit: Option<usize>,
    /// Whether texts are changed to lower case before anything else.
    pub(crate) lowercase: bool,
    /// The prefix of each query and each title.
    pub(crate) prompts: [String; 2],
}

/// The way the vector of a text is made from those of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    /// The vector of the first token.
    First,
}

#[derive(Deserialize)]
struct Kind {
    model_type: Option<String>,
}

#[derive(Deserialize)]
struct Bert {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    max_position_embeddings: usize,
    #[serde(default = "usual_epsilon")]
    layer_norm_eps: f32,
    hidden_act: String,
    position_embedding_type: Option<String>,
    #[serde(default)]
    is_decoder: bool,
}

fn usual_epsilon() -> f32 {
    1e-12
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PoolingModes {
    pooling_mode: Option<String>,
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_weightedmean_tokens: bool,
    pooling_mode_lasttoken: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sentences {
    max_seq_length: Option<usize>,
    do_lower_case: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Prompts {
    prompts: BTreeMap<String, String>,
    default_prompt_name: Option<String>,
}

impl Config {
    /// Reads the settings of a folder, and refuses those of another encoder.
    pub(crate) fn read(folder: &mut Folder<'_>) -> Result<Config> {
        let Some(Kind { model_type }) = folder.json(CONFIG)? else {
            let expected = "a folder that sentence-transformers saved, with `config.json`";
            let error = Error::expected(ErrorKind::Malformed, expected, "none").help(SUPPORTED);
            return Err(error.at(&folder.file("")));
        };
        if model_type.as_deref() != Some("bert") {
            let found = model_type.map_or("none".to_owned(), |found| format!("`{}`", shortened(&found)));
            return Err(folder.unsupported(CONFIG, "the model_type `bert`", found));
        }
        let bert: Bert = folder.json(CONFIG)?.ok_or_else(|| folder.unsupported(CONFIG, "a file", "none"))?;
        let position = bert.position_embedding_type.as_deref().unwrap_or("absolute");
        for (name, expected, found) in
            [("hidden_act", "gelu", bert.hidden_act.as_str()), ("position_embedding_type", "absolute", position)]
        {
            if found != expected {
                let expected = format!("`{expected}` as {name}");
                return Err(folder.unsupported(CONFIG, expected, format!("`{}`", shortened(found))));
            }
        }
        if bert.is_decoder {
            return Err(folder.unsupported(CONFIG, "an encoder", "a decoder"));
        }
        let sizes = [bert.hidden_size, bert.intermediate_size, bert.num_attention_heads, bert.max_position_embeddings];
        if sizes.contains(&0)
            || !bert.hidden_size.is_multiple_of(bert.num_attention_heads)
            || !bert.layer_norm_eps.is_finite()
        {
            let found = format!("hidden_size {}, num_attention_heads {}", bert.hidden_size, bert.num_attention_heads);
            return Err(folder.unsupported(CONFIG, "sizes above 0, the heads a divisor of hidden_size", found));
        }
        let pooling = pooling(folder)?;
        let sentences: Sentences = folder.json(SENTENCES)?.unwrap_or_default();
        Ok(Config {
            hidden: bert.hidden_size,
            intermediate: bert.intermediate_size,
            layers: bert.num_hidden_layers,
            heads: bert.num_attention_heads,
            positions: bert.max_position_embeddings,
            epsilon: bert.layer_norm_eps,
            pooling,
            limit: sentences.max_seq_length,
            lowercase: sentences.do_lower_case,
            prompts: prompts(folder)?,
        })
    }
}

/// Reads the modules that follow the encoder, and the pooling of the tokens' vectors. Without a list of modules it is their mean,
/// as in sentence-transformers.
fn pooling(folder: &mut Folder<'_>) -> Result<Pooling> {
    let modules: Option<Vec<Module>> = folder.json(MODULES)?;
    for (number, module) in modules.iter().flatten().enumerate() {
        let kind = module.kind.rsplit('.').next().unwrap_or_default();
        let (path, expected) = [("", "Transformer"), ("1_Pooling", "Pooling"), ("", "Normalize")][number.min(2)];
        if kind != expected || number > 2 || (number < 2 && module.path != path) {
            let found = format!("`{}` in the folder `{}`", shortened(kind), shortened(&module.path));
            let expected = "the modules Transformer, Pooling in `1_Pooling`, and perhaps Normalize";
            return Err(folder.unsupported(MODULES, expected, found));
        }
    }
    let Some(modes) = folder.json::<PoolingModes>(POOLING)? else { return Ok(Pooling::Mean) };
    let (cls, mean) = match modes.pooling_mode.as_deref() {
        Some(mode) => (mode == "cls", mode == "mean"),
        None => (modes.pooling_mode_cls_token, modes.pooling_mode_mean_tokens),
    };
    let others = modes.pooling_mode_max_tokens
        || modes.pooling_mode_mean_sqrt_len_tokens
        || modes.pooling_mode_weightedmean_tokens
        || modes.pooling_mode_lasttoken;
    match (cls, mean, others) {
        (true, false, false) => Ok(Pooling::First),
        (false, true, false) => Ok(Pooling::Mean),
        _ => Err(folder.unsupported(POOLING, "the pooling `mean` or `cls` alone", "another or more than one")),
    }
}

/// Reads the prefixes of queries and titles.
fn prompts(folder: &mut Folder<'_>) -> Result<[String; 2]> {
    let Prompts { prompts, default_prompt_name } = folder.json(PROMPTS)?.unwrap_or_default();
    let first = |names: &[&str]| {
        let named = names.iter().copied().chain(default_prompt_name.as_deref());
        named.filter_map(|name| prompts.get(name)).next().cloned().unwrap_or_default()
    };
    Ok([first(&["query"]), first(&["document", "passage", "corpus"])])
}
