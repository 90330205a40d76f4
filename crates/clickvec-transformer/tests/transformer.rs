//! A tiny transformer compared with a naive one of 64-bit floats, a tokenizer with tokens derived by hand, and bad folders.

mod tiny;

use std::fs;
use std::path::Path;
use std::time::Instant;

use clickvec::model::Side;
use clickvec_tables::ErrorKind;
use clickvec_transformer::Transformer;
use tiny::{EPSILON, HEADS, HIDDEN, LAYERS, Tensors};

/// The naive transformer.
struct Naive(Tensors);

impl Naive {
    fn numbers(&self, name: &str) -> Vec<f64> {
        self.0[name].1.iter().map(|&x| f64::from(x)).collect()
    }

    fn linear(&self, name: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (weights, bias) = (self.numbers(&format!("{name}.weight")), self.numbers(&format!("{name}.bias")));
        let output = |row: &Vec<f64>, o: usize| {
            bias[o] + row.iter().enumerate().map(|(i, x)| x * weights[o * row.len() + i]).sum::<f64>()
        };
        rows.iter().map(|row| (0..bias.len()).map(|o| output(row, o)).collect()).collect()
    }

    fn normalized(&self, name: &str, rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let (scale, shift) = (self.numbers(&format!("{name}.weight")), self.numbers(&format!("{name}.bias")));
        let of_row = |row: Vec<f64>| {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
            let normal = |(i, x): (usize, &f64)| (x - mean) / (variance + EPSILON).sqrt() * scale[i] + shift[i];
            row.iter().enumerate().map(normal).collect()
        };
        rows.into_iter().map(of_row).collect()
    }

    fn states(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        let [words, positions, types] = ["word", "position", "token_type"]
            .map(|kind| self.numbers(&format!("embeddings.{kind}_embeddings.weight")));
        let embedded = |(position, &token): (usize, &u32)| {
            (0..HIDDEN)
                .map(|i| words[token as usize * HIDDEN + i] + positions[position * HIDDEN + i] + types[i])
                .collect::<Vec<f64>>()
        };
        let mut states = self.normalized("embeddings.LayerNorm", tokens.iter().enumerate().map(embedded).collect());
        for layer in 0..LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            let [query, key, value] =
                ["query", "key", "value"].map(|part| self.linear(&name(&format!("attention.self.{part}")), &states));
            let d = HIDDEN / HEADS;
            let attended = |at: usize| {
                let of_head = |head: usize| {
                    let of_key = |key: &Vec<f64>| {
                        let product: f64 = (head * d..(head + 1) * d).map(|i| query[at][i] * key[i]).sum();
                        (product / (d as f64).sqrt()).exp()
                    };
                    let weights: Vec<f64> = key.iter().map(of_key).collect();
                    let total: f64 = weights.iter().sum();
                    let value = &value;
                    let mixed = move |i: usize| {
                        weights.iter().zip(value).map(|(weight, value)| weight / total * value[i]).sum::<f64>()
                    };
                    (head * d..(head + 1) * d).map(mixed).collect::<Vec<f64>>()
                };
                (0..HEADS).flat_map(of_head).collect::<Vec<f64>>()
            };
            let context: Vec<Vec<f64>> = (0..states.len()).map(attended).collect();
            let sum = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<Vec<f64>> {
                a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(x, y)| x + y).collect()).collect()
            };
            let output = self.linear(&name("attention.output.dense"), &context);
            states = self.normalized(&name("attention.output.LayerNorm"), sum(&states, &output));
            let mut inner = self.linear(&name("intermediate.dense"), &states);
            inner.iter_mut().flatten().for_each(|x| *x *= normal_distribution(*x));
            let output = self.linear(&name("output.dense"), &inner);
            states = self.normalized(&name("output.LayerNorm"), sum(&states, &output));
        }
        states
    }
}

/// Φ(x), by Simpson's rule on the density.
fn normal_distribution(x: f64) -> f64 {
    let (steps, density) = (2000, |t: f64| (-t * t / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt());
    let step = x / steps as f64;
    let weight = |i: usize| if i == 0 || i == steps { 1.0 } else { [2.0, 4.0][i % 2] };
    0.5 + (0..=steps).map(|i| weight(i) * density(i as f64 * step)).sum::<f64>() * step / 3.0
}

fn unit(vector: Vec<f64>) -> Vec<f64> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.into_iter().map(|x| x / length).collect()
}

const TEXTS: [&str; 6] = [
    "oak table",
    "desk lamps, oak",
    "",
    "Oak chair 12 x 34",
    "c",
    "a very long text with more than sixteen tokens in it",
];

#[test]
fn vectors_are_those_of_the_naive_transformer_in_any_batch() {
    let folder = tempfile::tempdir().unwrap();
    let naive = Naive(tiny::tensors());
    for cls in [false, true] {
        tiny::write(folder.path());
        fs::create_dir_all(folder.path().join("1_Pooling")).unwrap();
        let pooling = format!("{{\"pooling_mode_cls_token\":{cls},\"pooling_mode_mean_tokens\":{}}}", !cls);
        fs::write(folder.path().join("1_Pooling/config.json"), pooling).unwrap();
        let transformer = Transformer::load(folder.path()).unwrap();
        let vectors = transformer.encode(Side::Title, &TEXTS);
        for (text, vector) in TEXTS.iter().zip(vectors.chunks_exact(HIDDEN)) {
            let tokens = transformer.tokens(Side::Title, text);
            assert!(tokens.len() <= tiny::POSITIONS, "{tokens:?}");
            let states = naive.states(&tokens);
            let mean = |i: usize| states.iter().map(|state| state[i]).sum::<f64>();
            let expected = unit(if cls { states[0].clone() } else { (0..HIDDEN).map(mean).collect() });
            for (x, expected) in vector.iter().zip(&expected) {
                assert!((f64::from(*x) - expected).abs() < 1e-5, "{text}: {x} and {expected}");
            }
            assert_eq!(transformer.encode_until(Side::Query, text, None).unwrap(), vector, "{text}");
        }
        let late = Instant::now();
        assert_eq!(transformer.encode_until(Side::Query, "oak", Some(late)), None);
    }
}

#[test]
fn tokens_are_those_that_bert_has() {
    let folder = tempfile::tempdir().unwrap();
    tiny::write(folder.path());
    let vocabulary = tiny::vocabulary();
    let check = |transformer: &Transformer, text: &str, expected: &str| {
        let tokens = transformer.tokens(Side::Title, text);
        let shown: Vec<&str> = tokens.iter().map(|&token| vocabulary[token as usize].as_str()).collect();
        assert_eq!(shown.join(" "), expected, "{text:?}");
    };
    let cases = [
        ("", "[CLS] [SEP]"),
        ("  Oak\tTABLES ", "[CLS] oak table ##s [SEP]"),
        // The longest piece first; a word without pieces is unknown as a whole.
        ("oaks oakθ", "[CLS] oak ##s [UNK] [SEP]"),
        // Accents, also those that are composed with the letter, and what is not to be seen.
        ("CAFÉ cafe\u{301} c\u{200b}a\u{0}f\u{fffd}e", "[CLS] cafe cafe cafe [SEP]"),
        // A Chinese character and one of punctuation are words.
        ("oak东oak,oak", "[CLS] oak 东 oak , oak [SEP]"),
        // Punctuation that has no token; `×` is a symbol, so that it is a part of the word.
        ("2-x 2×x", "[CLS] 2 [UNK] x [UNK] [SEP]"),
        ("x\u{a0}y\u{2003}z", "[CLS] x y z [SEP]"),
        // As long as a word may be, and longer.
        ("abcdefghij", "[CLS] a ##b ##c ##d ##e ##f ##g ##h ##i ##j [SEP]"),
        ("abcdefghijk", "[CLS] [UNK] [SEP]"),
        // Tokens in the text itself; no more tokens than there are positions.
        ("oak[SEP]lamp", "[CLS] oak [SEP] lamp [SEP]"),
        ("a a a a a a a a a a a a a a a a", "[CLS] a a a a a a a a a a a a a a [SEP]"),
    ];
    let from_file = Transformer::load(folder.path()).unwrap();
    for (text, expected) in cases {
        check(&from_file, text, expected);
    }
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    fs::write(folder.path().join("vocab.txt"), vocabulary.join("\n")).unwrap();
    let from_vocabulary = Transformer::load(folder.path()).unwrap();
    for (text, expected) in cases.iter().filter(|(text, _)| *text != "abcdefghijk") {
        check(&from_vocabulary, text, expected);
    }
    let prompts = "{\"prompts\":{\"query\":\"desk \",\"passage\":\"lamp, \"}}";
    fs::write(folder.path().join("config_sentence_transformers.json"), prompts).unwrap();
    fs::write(folder.path().join("sentence_bert_config.json"), "{\"max_seq_length\":5}").unwrap();
    let prompted = Transformer::load(folder.path()).unwrap();
    check(&prompted, "oak table", "[CLS] lamp , oak [SEP]");
    assert_ne!(prompted.tokens(Side::Query, "oak"), prompted.tokens(Side::Title, "oak"));
}

#[test]
fn bad_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&Path)| {
        let path = folder.path().join("teacher");
        let _ = fs::remove_dir_all(&path);
        tiny::write(&path);
        change(&path);
        let error = Transformer::load(&path).unwrap_err();
        (error.kind(), error.to_string().replace(&format!("{}/", path.display()), ""))
    };
    let replace = |name: &'static str, from: &'static str, to: &'static str| {
        move |path: &Path| {
            let text = fs::read_to_string(path.join(name)).unwrap();
            assert!(text.contains(from), "{name}: {from}");
            fs::write(path.join(name), text.replace(from, to)).unwrap();
        }
    };
    let help = "take a BERT model that sentence-transformers saved, such as MiniLM, BGE, GTE or E5";
    let (kind, message) = refused(&replace("config.json", "bert", "mpnet"));
    let expected = format!("config.json: expected the model_type `bert`, found `mpnet`; {help}");
    assert_eq!((kind, message), (ErrorKind::Malformed, expected));
    let weights = |change: fn(&mut Tensors)| {
        move |path: &Path| {
            let mut tensors = tiny::tensors();
            change(&mut tensors);
            tiny::write_tensors(&path.join("model.safetensors"), &tensors);
        }
    };
    type Change<'a> = &'a dyn Fn(&Path);
    let others: [(Change<'_>, ErrorKind, &str); 12] = [
        (&replace("config.json", "gelu", "relu"), ErrorKind::Malformed, "expected `gelu` as hidden_act, found `relu`"),
        (&replace("config.json", "12", "13"), ErrorKind::Malformed, "the heads a divisor of hidden_size"),
        (
            &replace("tokenizer.json", "WordPiece", "BPE"),
            ErrorKind::Malformed,
            "expected the model `WordPiece`, found `BPE`",
        ),
        (&replace("tokenizer.json", "\"oak\":5", "\"oak\":999"), ErrorKind::Mismatch, "a token with the number 999"),
        (&replace("tokenizer.json", "\"truncation\"", "truncation"), ErrorKind::Malformed, "tokenizer.json: expected"),
        (
            &weights(|all| all.values_mut().for_each(|(_, numbers)| numbers[3] = f32::NAN)),
            ErrorKind::Damaged,
            "found NaN",
        ),
        (
            &weights(|all| drop(all.remove("encoder.layer.1.output.dense.bias"))),
            ErrorKind::Damaged,
            "layer.1.output.dense.bias",
        ),
        (
            &weights(|all| all.get_mut("encoder.layer.0.output.dense.weight").unwrap().0.reverse()),
            ErrorKind::Damaged,
            "to be F32, F16 or BF16 [12, 20], found F32 [20, 12]",
        ),
        (
            &|path| {
                let bytes = fs::read(path.join("model.safetensors")).unwrap();
                fs::write(path.join("model.safetensors"), &bytes[..bytes.len() / 2]).unwrap();
            },
            ErrorKind::Damaged,
            "cut short or damaged",
        ),
        (
            &|path| fs::rename(path.join("model.safetensors"), path.join("pytorch_model.bin")).unwrap(),
            ErrorKind::Malformed,
            "found `pytorch_model.bin`",
        ),
        (
            &|path| {
                fs::remove_dir_all(path).unwrap();
                fs::write(path, "oak").unwrap();
            },
            ErrorKind::Malformed,
            "a folder that sentence-transformers saved",
        ),
        (
            &|path| {
                let modules = "[{\"path\":\"\",\"type\":\"a.Transformer\"},{\"path\":\"1_Pooling\",\"type\":\"a.Pooling\"},\
                               {\"path\":\"2_Dense\",\"type\":\"a.Dense\"}]";
                fs::write(path.join("modules.json"), modules).unwrap();
            },
            ErrorKind::Malformed,
            "found `Dense` in the folder `2_Dense`",
        ),
    ];
    for (change, kind, part) in others {
        let (found, message) = refused(change);
        assert!(found == kind && message.contains(part), "{found:?}: {message}");
        if folder.path().join("teacher").is_file() {
            fs::remove_file(folder.path().join("teacher")).unwrap();
        }
    }
}
