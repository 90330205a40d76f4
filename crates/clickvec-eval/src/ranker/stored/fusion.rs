//! A fusion as a file (docs/reference/formats.md): method, weights, and the files of its members in the same folder.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::FileKind;
use crate::ranker::state::check_range;
use crate::ranker::{Fusion, FusionMethod, System};
use clickvec::internals::tensor_file::{Array, Data, Entry, FORMAT, Numbers, TensorFile, fingerprint, write};
use clickvec_tables::ErrorKind;
use clickvec_tables::files;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Result, damaged};

/// `kind` in the JSON value of a file.
pub(super) const KIND: &str = "fusion";
const WEIGHTS: &str = "weights";

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    kind: String,
    fingerprint: String,
    fusion: Settings,
}

#[derive(Serialize, Deserialize)]
struct Settings {
    method: FusionMethod,
    members: Vec<Member>,
}

#[derive(Serialize, Deserialize)]
struct Member {
    /// The file's name in the folder of the fusion.
    file: String,
    /// The fingerprint of the file.
    fingerprint: String,
}

/// Writes a fusion of the files `members`, each with its weight, through a temporary file.
///
/// The members are models or rankers in the folder of `path`. They must be there unchanged when the fusion is read.
///
/// # Errors
/// `ErrorKind::Io`; an error if a member cannot be read or is not in that folder, or if the weights are not
/// valid. Whatever was at `path` is then untouched.
pub fn save(path: &Path, method: FusionMethod, members: &[(&str, f64)]) -> Result<()> {
    let folder = files::folder_of(path);
    let settings = Settings {
        method,
        members: members
            .iter()
            .map(|&(file, _)| {
                Ok(Member { file: file.to_owned(), fingerprint: super::fingerprint(&folder.join(file))? })
            })
            .collect::<Result<_>>()?,
    };
    let weights: Vec<f64> = members.iter().map(|&(_, weight)| weight).collect();
    check(&settings, &weights).map_err(|fault| fault.at(path))?;
    write_parts(path, settings, &Array { shape: vec![weights.len()], numbers: Numbers::F64(weights) })
}

/// Writes settings and weights as given, with a matching fingerprint.
fn write_parts(path: &Path, settings: Settings, weights: &Array) -> Result<()> {
    let entries = vec![Entry { name: WEIGHTS.to_owned(), data: Data::Array(weights) }];
    let header = Header {
        format: FORMAT,
        kind: KIND.to_owned(),
        fingerprint: fingerprint(&entries, &settings),
        fusion: settings,
    };
    write(path, &header, entries)
}

/// The contents of a fusion's file, without its members.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionFile {
    /// How scores are made comparable.
    pub method: FusionMethod,
    /// The members.
    pub members: Vec<FusionMember>,
}

/// A member of a fusion.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionMember {
    /// Its file.
    pub path: PathBuf,
    /// The fingerprint that the file must have.
    pub fingerprint: String,
    /// Its weight.
    pub weight: f64,
    /// Name and parameters of the system, if the member is a ranker and no model.
    pub system: Option<(&'static str, Vec<(&'static str, f64)>)>,
}

/// Reads a fusion's file, and its members to see what they are.
///
/// # Errors
/// Those of [`crate::ranker::load`].
pub fn members(path: &Path, systems: &[&'static System]) -> Result<FusionFile> {
    let parameters = |path: &Path, kind| match kind {
        FileKind::Ranker => super::ranker::ranker_parameters(path, systems).map(Some),
        FileKind::Model | FileKind::Fusion => Ok(None),
    };
    let (method, members) = read_members(path, parameters)?;
    let member = |(Member { file, fingerprint }, weight, system)| FusionMember {
        path: files::folder_of(path).join(file),
        fingerprint,
        weight,
        system,
    };
    Ok(FusionFile { method, members: members.into_iter().map(member).collect() })
}

/// Reads a fusion and its members. Nothing in the files is trusted.
///
/// # Errors
/// [`ErrorKind::Io`], or an error for a file that is damaged or of another kind.
pub(super) fn load(path: &Path, systems: &[&'static System]) -> Result<Fusion> {
    let (method, members) = read_members(path, |path, _| super::load_with(path, systems))?;
    let members = members.into_iter().map(|(_, weight, ranker)| (Arc::from(ranker), weight)).collect();
    Ok(Fusion::new(KIND.to_owned(), members, method))
}

/// A member, its weight, and its contents.
type Weighted<T> = (Member, f64, T);

/// Reads the members of a fusion with `read`, each with its weight.
fn read_members<T>(
    path: &Path,
    read: impl Fn(&Path, FileKind) -> Result<T>,
) -> Result<(FusionMethod, Vec<Weighted<T>>)> {
    let in_file = |fault: clickvec_tables::Error| fault.at(path);
    let (settings, weights) = parse(&TensorFile::open(path)?).map_err(in_file)?;
    let member = |(member, weight): (Member, f64)| {
        let path = files::folder_of(path).join(&member.file);
        let kind = FileKind::of(&path)?;
        // Fusions of fusions could form a circle.
        if kind == FileKind::Fusion {
            return Err(damaged::other_kind("model or ranker", KIND).at(&path));
        }
        let contents = read(&path, kind)?;
        let found = super::fingerprint(&path)?;
        if found != member.fingerprint {
            return Err(in_file(changed_member(&member.file, &shortened(&member.fingerprint), &found)));
        }
        Ok((member, weight, contents))
    };
    let members = settings.members.into_iter().zip(weights).map(member).collect::<Result<_>>()?;
    Ok((settings.method, members))
}

/// Creates the error of a member that changed after the fusion was written.
fn changed_member(file: &str, expected: &str, found: &str) -> clickvec_tables::Error {
    let expected = format!("member `{file}` with the fingerprint {expected}");
    clickvec_tables::Error::expected(ErrorKind::Damaged, expected, found.to_owned())
        .help("it was changed since, so fuse again")
}

fn parse(file: &TensorFile) -> Result<(Settings, Vec<f64>), clickvec_tables::Error> {
    let (tensors, header) = file.parse::<Header>(KIND)?;
    let found = tensors.fingerprint(&header.fusion);
    if found != header.fingerprint {
        return Err(damaged::fingerprint(&shortened(&header.fingerprint), &found));
    }
    let mut arrays = tensors.arrays()?;
    let weights = match arrays.remove(WEIGHTS) {
        None => return Err(damaged::missing_tensor(WEIGHTS)),
        Some(Array { numbers: Numbers::F64(weights), .. }) => weights,
        Some(other) => {
            let expected = format!("F64 [{}]", header.fusion.members.len());
            let found = format!("{:?} {:?}", other.numbers.dtype(), other.shape);
            return Err(damaged::wrong_tensor(WEIGHTS, expected, found));
        }
    };
    check(&header.fusion, &weights)?;
    Ok((header.fusion, weights))
}

fn check(Settings { method, members }: &Settings, weights: &[f64]) -> Result<(), clickvec_tables::Error> {
    if let FusionMethod::ReciprocalRank { k } = *method
        && !(k.is_finite() && k > -1.0)
    {
        return Err(damaged::content("k", "a finite number above -1.0", k));
    }
    if members.is_empty() || members.len() != weights.len() {
        return Err(damaged::file(
            format_args!("a weight for each of the {} members", members.len()),
            format_args!("{} weights", weights.len()),
        ));
    }
    check_range("weights", weights, 0.0, f64::INFINITY)?;
    let mut distinct = HashSet::new();
    for Member { file, .. } in members {
        let mut parts = Path::new(file).components();
        let is_name =
            matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == OsStr::new(file));
        if !is_name || !distinct.insert(file) {
            return Err(damaged::file(
                "the names of other files in the same folder, each once",
                format_args!("`{}`", shortened(file)),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::testing::{corpus, train};
    use crate::ranker::{RECIPROCAL_RANK_K, RankerSpec, SYSTEMS, fuse};

    const TITLES: [&str; 4] = ["red door", "red lamp", "lamp", ""];

    /// A folder with a saved `bm25` and `trigram`, and their scores of the titles.
    fn folder() -> (tempfile::TempDir, [Vec<f64>; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let corpus = corpus(&["red door", "red", "blue lamp", "a red red lamp"], &[]);
        let scores = ["bm25", "trigram"].map(|name| {
            let system = System::named(name, &SYSTEMS).unwrap();
            let values = system.values(&name.parse::<RankerSpec>().unwrap()).unwrap();
            let ranker = train(name, &corpus);
            system.save(&folder.path().join(format!("{name}.safetensors")), &values, ranker.as_ref()).unwrap();
            ranker.score("red lamp", &TITLES)
        });
        (folder, scores)
    }

    const MEMBERS: [(&str, f64); 2] = [("bm25.safetensors", 0.25), ("trigram.safetensors", 0.75)];

    #[test]
    fn a_file_keeps_it() {
        let (folder, scores) = folder();
        let path = folder.path().join("fusion.safetensors");
        let of = [&scores[0][..], &scores[1][..]];
        for method in [
            FusionMethod::Linear,
            FusionMethod::MinMax,
            FusionMethod::ZScore,
            FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
            FusionMethod::ReciprocalRank { k: 0.1 },
        ] {
            save(&path, method, &MEMBERS).unwrap();
            assert_eq!(FileKind::of(&path).unwrap(), FileKind::Fusion);
            let fusion = crate::ranker::load(&path).unwrap();
            assert_eq!(fusion.name(), KIND);
            assert_eq!(fusion.score("red lamp", &TITLES), fuse(&of, &[0.25, 0.75], method), "{method:?}");
        }
    }

    #[test]
    fn each_fault_is_named() {
        let (folder, _) = folder();
        let path = folder.path().join("fusion.safetensors");
        let message = |path: &Path| load(path, &SYSTEMS).err().expect("a fault").to_string();
        let refused = |members: &[(&str, f64)], k: f64| {
            save(&path, FusionMethod::ReciprocalRank { k }, members).unwrap_err().to_string()
        };
        assert!(refused(&[], 60.0).contains("a weight for each of the 0 members, found 0 weights"));
        assert!(refused(&MEMBERS, -1.0).contains("`k`: expected a finite number above -1.0, found -1"));
        assert!(
            refused(&[("bm25.safetensors", -0.5)], 60.0)
                .contains("`weights`: expected finite numbers of 0 or more, found -0.5 at place 0")
        );
        assert!(
            refused(&[("bm25.safetensors", f64::NAN)], 60.0)
                .contains("`weights`: expected finite numbers of 0 or more, found NaN at place 0")
        );
        assert!(refused(&[MEMBERS[0], MEMBERS[0]], 60.0).contains("each once, found `bm25.safetensors`"));
        assert!(refused(&[("./bm25.safetensors", 1.0)], 60.0).contains("each once, found `./bm25.safetensors`"));
        assert!(refused(&[("missing.safetensors", 1.0)], 60.0).contains("missing.safetensors: cannot open"));
        assert!(!path.exists());

        save(&path, FusionMethod::MinMax, &MEMBERS).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        // Every byte matters.
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            message(&path);
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(message(&path).contains("expected a safetensors file"), "cut at {at}");
        }
        std::fs::write(&path, &bytes).unwrap();
        // Members that were replaced, that are fusions, or that are missing.
        let (bm25, trigram) = (folder.path().join("bm25.safetensors"), folder.path().join("trigram.safetensors"));
        let member_bytes = std::fs::read(&trigram).unwrap();
        std::fs::copy(&bm25, &trigram).unwrap();
        assert!(message(&path).contains("expected member `trigram.safetensors` with the fingerprint "));
        std::fs::copy(&path, &trigram).unwrap();
        assert!(message(&path).ends_with("trigram.safetensors: expected a model or ranker, found a `fusion`"));
        std::fs::remove_file(&trigram).unwrap();
        assert!(message(&path).contains("trigram.safetensors: cannot open"));
        std::fs::write(&trigram, &member_bytes).unwrap();
        assert!(load(&path, &SYSTEMS).is_ok());
        assert!(message(&trigram).ends_with("expected a fusion, found a `ranker`"));
    }

    /// Files with hostile contents and a matching fingerprint.
    #[test]
    fn a_hostile_file_reads_nothing_else() {
        let (folder, _) = folder();
        let path = folder.path().join("fusion.safetensors");
        let one = |numbers| Array { shape: vec![1], numbers };
        let member = |file: &str| Member { file: file.to_owned(), fingerprint: String::new() };
        let outside = format!("{}/bm25.safetensors", folder.path().display());
        for file in ["../bm25.safetensors", "", ".", "..", "a/../bm25.safetensors", &outside] {
            let settings = Settings { method: FusionMethod::MinMax, members: vec![member(file)] };
            write_parts(&path, settings, &one(Numbers::F64(vec![1.0]))).unwrap();
            let message = load(&path, &SYSTEMS).err().expect("a fault").to_string();
            assert!(message.contains("expected the names of other files in the same folder"), "{file}: {message}");
        }
        let cases = [
            (
                vec![member("bm25.safetensors")],
                one(Numbers::F32(vec![1.0])),
                "expected `weights` to be F64 [1], found F32 [1]",
            ),
            (
                vec![member("bm25.safetensors")],
                one(Numbers::F64(vec![-1.0])),
                "`weights`: expected finite numbers of 0 or more, found -1",
            ),
            (vec![], one(Numbers::F64(vec![1.0])), "a weight for each of the 0 members, found 1 weights"),
            (
                vec![member("fusion.safetensors")],
                one(Numbers::F64(vec![1.0])),
                "expected a model or ranker, found a `fusion`",
            ),
        ];
        for (members, weights, expected) in cases {
            write_parts(&path, Settings { method: FusionMethod::ZScore, members }, &weights).unwrap();
            let message = load(&path, &SYSTEMS).err().expect("a fault").to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
