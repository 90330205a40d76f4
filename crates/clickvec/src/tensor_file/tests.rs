//! Files of tensors, whole and damaged.

use super::*;
use crate::encoder::{Group, TensorKind};

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Json {
    format: u32,
    kind: String,
    fingerprint: String,
}

fn json() -> Json {
    Json { format: FORMAT, kind: "test".to_owned(), fingerprint: "abc".to_owned() }
}

/// Two groups of one and two columns.
fn tensor(numbers: [f32; 6]) -> Tensor {
    let groups = [("b", 1), ("w", 2)].map(|(name, width)| Group { name: name.to_owned(), width });
    Tensor::new(TensorKind::Dense, groups.to_vec(), Matrix::from_vec(2, 3, numbers.to_vec()))
}

fn entry<'a>(name: &str, data: Data<'a>) -> Entry<'a> {
    Entry { name: name.to_owned(), data }
}

fn array(shape: &[usize], numbers: Numbers) -> Array {
    Array { shape: shape.to_vec(), numbers }
}

/// Writes a file and opens it.
fn written(json: &Json, entries: Vec<Entry<'_>>) -> TensorFile<'static> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, json, entries).unwrap();
    TensorFile::open(&path).unwrap()
}

/// Returns the error of reading the kind of a file with these bytes.
fn fault(bytes: &[u8]) -> clickvec_tables::Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    TensorFile::open(&path).unwrap().kind().unwrap_err()
}

#[test]
fn every_kind_of_tensor_there_and_back() {
    let one = [tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])];
    let triples: Vec<[u32; 3]> = (0..500).map(|i| [i, i + 1, u32::MAX - i]).collect();
    let counts: Vec<u64> = (0..700).map(|i| u64::MAX / (i + 1)).collect();
    let all = || {
        let mut all = entries("query.", &one);
        all.push(entry("trigrams", Data::Triples(&triples)));
        all.push(entry("counts", Data::Counts(&counts)));
        all
    };
    assert_eq!(
        all().iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(),
        ["query.b", "query.w", "trigrams", "counts"]
    );
    let file = written(&json(), all());
    assert_eq!((file.kind().unwrap(), file.fingerprint().unwrap()), ("test".to_owned(), "abc".to_owned()));
    let (tensors, read): (Tensors<'_>, Json) = file.parse("test").unwrap();
    assert_eq!((read, tensors.len(), tensors.numbers()), (json(), 4, 6 + 1_500 + 700));
    assert_eq!(tensors.triples("trigrams").unwrap(), triples);
    assert_eq!(tensors.counts("counts", 700).unwrap(), counts);
    assert_eq!(tensors.optional_counts("counts").unwrap(), Some(counts.clone()));
    assert_eq!(tensors.optional_counts("none").unwrap(), None);
    let mut back = [tensor([0.0; 6])];
    tensors.read("query.", &mut back).unwrap();
    assert_eq!(back, one);
    assert_eq!(tensors.fingerprint(&json()), fingerprint(&all(), &json()));
    assert!(tensors.arrays().is_err_and(|fault| fault.message().contains("`counts` to be")));
    let other = file.parse::<Json>("model").map(drop).unwrap_err();
    assert_eq!(other.to_string(), "expected a model, found a `test`");
}

#[test]
fn every_kind_of_array_there_and_back() {
    let arrays = [
        ("f32", array(&[3, 2], Numbers::F32(vec![1.0, -2.0, 3.5, 0.0, f32::MIN, f32::MAX]))),
        ("f64", array(&[3], Numbers::F64(vec![0.1, -0.2, f64::MAX]))),
        ("u32", array(&[2, 1], Numbers::U32(vec![7, u32::MAX]))),
        ("bytes", array(&[5], Numbers::Bytes(b"texts".to_vec()))),
        ("none", array(&[0], Numbers::Bytes(Vec::new()))),
    ];
    let sizes = arrays.iter().map(|(_, array)| (array.numbers.len(), array.numbers.bytes(), array.numbers.is_empty()));
    assert_eq!(sizes.collect::<Vec<_>>(), [(6, 24, false), (3, 24, false), (2, 8, false), (5, 5, false), (0, 0, true)]);
    let file = written(&json(), arrays.iter().map(|(name, array)| entry(name, Data::Array(array))).collect());
    let (tensors, _): (Tensors<'_>, Json) = file.parse("test").unwrap();
    let found = tensors.arrays().unwrap();
    let expected = arrays.into_iter().map(|(name, array)| (name.to_owned(), array)).collect();
    assert_eq!(found, expected);
}

/// Numbers alone are not all: the same ones under another name, in another shape or with other settings are another file.
#[test]
fn a_fingerprint_is_of_names_shapes_numbers_and_settings() {
    let of = |name: &str, shape: &[usize], numbers: [u32; 2], json: &Json| {
        let array = array(shape, Numbers::U32(numbers.to_vec()));
        fingerprint(&[entry(name, Data::Array(&array))], json)
    };
    let other = Json { kind: "other".to_owned(), ..json() };
    let all = [
        of("a", &[2], [1, 2], &json()),
        of("b", &[2], [1, 2], &json()),
        of("a", &[1, 2], [1, 2], &json()),
        of("a", &[2], [1, 3], &json()),
        of("a", &[2], [1, 2], &other),
    ];
    for (place, one) in all.iter().enumerate() {
        assert!(one.len() == 32 && !all[..place].contains(one), "{all:?}");
    }
    // The order in which entries are written does not matter.
    let [a, b] = [[1, 2], [3, 4]].map(|numbers| array(&[2], Numbers::U32(numbers.to_vec())));
    let entries = || [entry("a", Data::Array(&a)), entry("b", Data::Array(&b))];
    let mut turned = entries();
    turned.reverse();
    assert_eq!(fingerprint(&entries(), &json()), fingerprint(&turned, &json()));
}

#[test]
fn a_tensor_has_the_type_and_the_shape_that_are_asked_for() {
    let whole = |shape: &[usize], count: u32| array(shape, Numbers::U32((0..count).collect()));
    let (flat, wide, deep, right) = (whole(&[6], 6), whole(&[2, 4], 8), whole(&[2, 3, 1], 6), whole(&[2, 3], 6));
    let floats = array(&[2, 3], Numbers::F32(vec![0.0; 6]));
    let names = ["flat", "wide", "deep", "right", "floats"];
    let arrays = [&flat, &wide, &deep, &right, &floats];
    let mut all: Vec<Entry<'_>> =
        names.iter().zip(arrays).map(|(name, array)| entry(name, Data::Array(array))).collect();
    all.push(entry("counts", Data::Counts(&[1, 2, 3])));
    let file = written(&json(), all);
    let (tensors, _): (Tensors<'_>, Json) = file.parse("test").unwrap();
    assert_eq!(tensors.triples("right").unwrap(), [[0, 1, 2], [3, 4, 5]]);
    for name in ["flat", "wide", "deep", "floats"] {
        let fault = tensors.triples(name).unwrap_err();
        assert_eq!(fault.what_was_expected(), Some(&*format!("`{name}` to be U32 [any, 3]")));
    }
    assert_eq!(tensors.triples("x").unwrap_err().what_was_expected(), Some("a tensor `x`"));
    let fault = tensors.counts("counts", 4).unwrap_err();
    assert_eq!(fault.to_string(), "expected `counts` to be U64 [4], found U64 [3]; the file is damaged");
}

#[test]
fn a_number_that_is_none_is_found_in_its_row() {
    for (at, row) in [(0, 0), (2, 0), (5, 1)] {
        let mut numbers = [1.0; 6];
        numbers[at] = f32::NAN;
        let one = [tensor(numbers)];
        let file = written(&json(), entries("", &one));
        let (tensors, _): (Tensors<'_>, Json) = file.parse("test").unwrap();
        let name = if at == 0 { "b" } else { "w" };
        assert_eq!(
            tensors.read("", &mut [tensor([0.0; 6])]).unwrap_err().to_string(),
            format!("expected finite numbers in `{name}`, found NaN in row {row}; the file is damaged")
        );
    }
    let infinite = [
        (Numbers::F32(vec![1.0, 1.0, 1.0, 1.0, 1.0, f32::INFINITY]), vec![3, 2], 2, "inf"),
        (Numbers::F64(vec![1.0, 1.0, 1.0, 1.0, 1.0, f64::NEG_INFINITY]), vec![2, 3], 1, "-inf"),
        (Numbers::F64(vec![1.0, f64::NAN]), vec![2], 1, "NaN"),
    ];
    for (numbers, shape, row, found) in infinite {
        let array = Array { shape, numbers };
        let file = written(&json(), vec![entry("a", Data::Array(&array))]);
        let (tensors, _): (Tensors<'_>, Json) = file.parse("test").unwrap();
        assert_eq!(tensors.arrays().unwrap_err().what_was_found(), Some(&*format!("{found} in row {row}")));
    }
}

#[test]
fn another_version_is_told_by_its_number() {
    let file = written(&Json { format: FORMAT + 1, ..json() }, Vec::new());
    assert_eq!(file.kind().unwrap_err().kind(), ErrorKind::Version);
    assert_eq!(file.parse::<Json>("test").map(drop).unwrap_err().what_was_found(), Some("2"));
}

#[test]
fn a_header_has_a_bound_that_is_reached_but_not_passed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let of_length = |length: usize| {
        let counts = [1, 2];
        write(&path, &json(), vec![entry(&"n".repeat(length), Data::Counts(&counts))])
    };
    let header = || u64::from_le_bytes(*std::fs::read(&path).unwrap().first_chunk().unwrap());
    of_length(1_000).unwrap();
    assert_eq!(header() % 8, 0);
    // A header is a multiple of 8 bytes long, so some of these lengths fill it to the last.
    let around = (MAX_HEADER_BYTES - header()) as usize + 1_000;
    let last = (around - 8..=around + 8).rfind(|&length| of_length(length).is_ok()).unwrap();
    of_length(last).unwrap();
    assert_eq!(header(), MAX_HEADER_BYTES);
    assert_eq!(TensorFile::open(&path).unwrap().kind().unwrap(), "test");
    let refused = format!("one of {}", MAX_HEADER_BYTES + 8);
    assert!(of_length(last + 1).unwrap_err().to_string().contains(&refused));

    let promise = |header: u64, length: usize| {
        let mut bytes = vec![b' '; length];
        bytes[..8].copy_from_slice(&header.to_le_bytes());
        fault(&bytes)
    };
    let (above, length) = (MAX_HEADER_BYTES + 8, MAX_HEADER_BYTES as usize + 8);
    assert_eq!(promise(above, length + 8).what_was_found(), Some(&*refused));
    // What promises as much as there is, or more, was never a file of this kind.
    assert!(promise(above, length).message().contains("expected a safetensors file, found"));
    assert!(promise(u64::MAX, 100).message().contains("expected a safetensors file, found"));
    assert!(fault(b"short").message().contains("expected a safetensors file, found"));
}
