//! A tiny sentence transformer with random weights, in a folder as sentence-transformers saves it.
#![allow(dead_code, reason = "each test program that has this module uses a part of it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(crate) const HIDDEN: usize = 12;
pub(crate) const HEADS: usize = 3;
pub(crate) const LAYERS: usize = 2;
pub(crate) const INTERMEDIATE: usize = 20;
pub(crate) const POSITIONS: usize = 16;
pub(crate) const EPSILON: f64 = 1e-12;

/// The words of the vocabulary besides letters, digits and what continues words.
const WORDS: [&str; 14] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "oak", "table", "chair", "lamp", "##s", "desk", "cafe", "东", ","];

/// Tensors by their names: shape and numbers.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Returns the vocabulary, a token for each number.
pub(crate) fn vocabulary() -> Vec<String> {
    let letters = || ('a'..='z').chain('0'..='9');
    let pieces = letters().map(String::from).chain(letters().filter(|&c| c != 's').map(|c| format!("##{c}")));
    WORDS.iter().map(|&word| word.to_owned()).chain(pieces).collect()
}

/// Returns random weights.
pub(crate) fn tensors() -> Tensors {
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 33) as f32 / (1u64 << 31) as f32 - 0.5) * 1.6
    };
    let mut tensors = Tensors::new();
    let mut add = |name: String, shape: &[usize]| {
        let numbers = (0..shape.iter().product()).map(|_| random()).collect();
        tensors.insert(name, (shape.to_vec(), numbers));
    };
    let (h, i) = (HIDDEN, INTERMEDIATE);
    add("embeddings.word_embeddings.weight".to_owned(), &[vocabulary().len(), h]);
    add("embeddings.position_embeddings.weight".to_owned(), &[POSITIONS, h]);
    add("embeddings.token_type_embeddings.weight".to_owned(), &[2, h]);
    let mut parts: Vec<(String, Vec<usize>)> = vec![("embeddings.LayerNorm".to_owned(), vec![h])];
    for layer in 0..LAYERS {
        let sizes = [
            ("attention.self.query", vec![h, h]),
            ("attention.self.key", vec![h, h]),
            ("attention.self.value", vec![h, h]),
            ("attention.output.dense", vec![h, h]),
            ("attention.output.LayerNorm", vec![h]),
            ("intermediate.dense", vec![i, h]),
            ("output.dense", vec![h, i]),
            ("output.LayerNorm", vec![h]),
        ];
        parts.extend(sizes.into_iter().map(|(name, shape)| (format!("encoder.layer.{layer}.{name}"), shape)));
    }
    for (name, shape) in parts {
        add(format!("{name}.weight"), &shape);
        add(format!("{name}.bias"), &shape[..1]);
    }
    tensors
}

/// Writes tensors as a safetensors file.
pub(crate) fn write_tensors(path: &Path, tensors: &Tensors) {
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, (shape, numbers)) in tensors {
        let begin = data.len();
        data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        header.push(format!(
            "\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{begin},{}]}}",
            data.len()
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    fs::write(path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()).unwrap();
}

/// Returns the contents of `tokenizer.json`.
pub(crate) fn tokenizer() -> String {
    let vocabulary: Vec<String> =
        vocabulary().iter().zip(0..).map(|(token, id): (_, u32)| format!("{token:?}:{id}")).collect();
    format!(
        "{{\"truncation\":null,\"added_tokens\":[{{\"id\":3,\"content\":\"[SEP]\"}}],\
         \"normalizer\":{{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\
         \"strip_accents\":null,\"lowercase\":true}},\"pre_tokenizer\":{{\"type\":\"BertPreTokenizer\"}},\
         \"post_processor\":{{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}},\
         \"model\":{{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\",\
         \"max_input_chars_per_word\":10,\"vocab\":{{{}}}}}}}",
        vocabulary.join(",")
    )
}

/// Returns the contents of `config.json`.
pub(crate) fn config() -> String {
    format!(
        "{{\"model_type\":\"bert\",\"hidden_act\":\"gelu\",\"hidden_size\":{HIDDEN},\"intermediate_size\":{INTERMEDIATE},\
         \"num_hidden_layers\":{LAYERS},\"num_attention_heads\":{HEADS},\"max_position_embeddings\":{POSITIONS},\
         \"layer_norm_eps\":{EPSILON:e}}}"
    )
}

/// Writes the folder.
pub(crate) fn write(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("config.json"), config()).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer()).unwrap();
    write_tensors(&folder.join("model.safetensors"), &tensors());
}
