//! The spec of `clickvec table`: a file in TOML (docs/reference/spec.md).

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clickvec::ranker::{FusionMethod, RECIPROCAL_RANK_K, RankerSpec};
use clickvec::table::{self, Entry, Plan, Source};
use clickvec::tables::{TITLE, titles_file};
use clickvec::train::Weighting;
use serde::Deserialize;

use crate::commands::train;
use crate::output;
use crate::weighting::WeightingFlag;

/// The most grid points of all systems: each would be trained and judged.
const MOST_POINTS: usize = 10_000;
/// A spec has a few thousand bytes.
const MAX_SPEC_BYTES: u64 = 1 << 20;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    /// The title of the table.
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) data: Data,
    #[serde(default)]
    pub(super) evaluation: Evaluation,
    #[serde(rename = "system", default)]
    pub(super) systems: Vec<System>,
}

/// The input files. Relative paths start at the spec.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Data {
    pub(super) judged: Option<PathBuf>,
    /// The texts of the queries, if the judged titles are TREC qrels.
    pub(super) topics: Option<PathBuf>,
    pub(super) clicks: Option<PathBuf>,
    pub(super) titles: Option<PathBuf>,
    /// Running text.
    pub(super) contiguous: Option<PathBuf>,
    /// The column to judge and learn from instead of the title.
    pub(super) field: Option<String>,
    /// How the column count of the log becomes the weight of a pair for rankers.
    pub(super) weighting: Option<WeightingFlag>,
}

impl Data {
    /// The column with the texts that are ranked.
    pub(super) fn field(&self) -> &str {
        self.field.as_deref().unwrap_or(TITLE)
    }

    /// The files for the library.
    fn planned(&self) -> Result<table::Data> {
        let Some(judged) = self.judged.clone() else {
            bail!("expected judged titles, found none; name them with `--judged FILE` or in the spec's `[data]`");
        };
        let Data { topics, clicks, titles, contiguous, .. } = self.clone();
        // A file, and not its folder: other files in the folder should not change the result.
        let titles = titles.map(|titles| titles_file(&titles)).transpose()?;
        let weighting = self.weighting.map_or(Weighting::Log, Weighting::from);
        Ok(table::Data { judged, topics, clicks, titles, contiguous, field: self.field().to_owned(), weighting })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Evaluation {
    pub(super) folds: usize,
    pub(super) seed: u64,
    /// How often each model is trained, each time with the next seed.
    pub(super) seeds: usize,
    /// Whether each system also searches all titles.
    pub(super) full: bool,
}

impl Default for Evaluation {
    fn default() -> Evaluation {
        Evaluation { folds: 2, seed: 1, seeds: 1, full: false }
    }
}

/// One row of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct System {
    pub(super) name: String,
    /// A ranker, as in `--ranker`.
    ranker: Option<String>,
    /// Options of `clickvec train`, in one line or one by one.
    train: Option<Options>,
    /// An existing model or ranker.
    model: Option<PathBuf>,
    /// A run of another program.
    run: Option<PathBuf>,
    /// The rows to combine.
    fusion: Option<Vec<String>>,
    /// The method; if not given, whichever is best on the other folds.
    method: Option<Method>,
    /// Values to try for each parameter. For `train`, the name of an option without its dashes.
    #[serde(default)]
    grid: BTreeMap<String, Vec<toml::Value>>,
    /// A trained Skip-Thought encoder.
    load: Option<PathBuf>,
    /// Vectors that another program trained: of all texts, or of queries and of titles.
    vectors: Option<Paths>,
    /// With `train`: titles to learn from.
    titles: Option<LearntTitles>,
    /// With `train`: the model to start from.
    init: Option<PathBuf>,
    /// With `train`: files of a teacher.
    teacher: Option<Paths>,
    /// With `train`: the number of members.
    members: Option<usize>,
    /// The column that this system learns from and scores, instead of the table's.
    field: Option<String>,
    /// Results in a paper: NDCG@1, @3 and @10, in the paper's units.
    pub(super) paper: Option<[f64; 3]>,
}

/// Options of a command.
#[derive(Deserialize)]
#[serde(untagged)]
enum Options {
    /// Split at white space.
    Line(String),
    List(Vec<String>),
}

/// One path or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl Paths {
    fn all(&mut self) -> &mut [PathBuf] {
        match self {
            Paths::One(path) => std::slice::from_mut(path),
            Paths::Several(paths) => paths,
        }
    }

    fn list(&self) -> &[PathBuf] {
        match self {
            Paths::One(path) => std::slice::from_ref(path),
            Paths::Several(paths) => paths,
        }
    }
}

/// Titles to learn from.
#[derive(Deserialize)]
#[serde(untagged)]
enum LearntTitles {
    /// Whether to learn from the collection of the table.
    OfTable(bool),
    Files(Paths),
}

impl Options {
    fn list(&self) -> Vec<String> {
        match self {
            Options::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            Options::List(list) => list.clone(),
        }
    }
}

/// How the scores of several systems are combined, always with weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Method {
    /// A sum of scores from 0 to 1.
    MinMax,
    /// A sum of scores in standard deviations from their mean.
    ZScore,
    /// A sum of 1 / (60 + rank).
    ReciprocalRank,
}

impl Method {
    fn fusion(self) -> FusionMethod {
        match self {
            Method::MinMax => FusionMethod::MinMax,
            Method::ZScore => FusionMethod::ZScore,
            Method::ReciprocalRank => FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
        }
    }
}

/// Reads and checks a spec. Relative paths become relative to the working directory.
pub(super) fn read(path: &Path) -> Result<Spec> {
    let text = text(path)?;
    let mut spec: Spec =
        toml::from_str(&text).with_context(|| format!("{}: expected a table's spec", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let Data { judged, topics, clicks, titles, contiguous, field: _, weighting: _ } = &mut spec.data;
    for file in [judged, topics, clicks, titles, contiguous].into_iter().flatten() {
        *file = folder.join(&*file);
    }
    for system in &mut spec.systems {
        let titles = match &mut system.titles {
            Some(LearntTitles::Files(files)) => files.all(),
            Some(LearntTitles::OfTable(_)) | None => &mut [],
        };
        let lists = system.teacher.iter_mut().chain(&mut system.vectors).flat_map(Paths::all);
        let several = titles.iter_mut().chain(lists);
        let single = [&mut system.model, &mut system.load, &mut system.run, &mut system.init];
        for file in single.into_iter().flatten().chain(several) {
            *file = folder.join(&*file);
        }
    }
    ensure!(!spec.systems.is_empty(), "{}: expected systems below `[[system]]`, found none", path.display());
    ensure!(
        (1..=100).contains(&spec.evaluation.folds),
        "{}: expected 1 to 100 folds, found {}",
        path.display(),
        spec.evaluation.folds
    );
    ensure!(
        (1..=100).contains(&spec.evaluation.seeds),
        "{}: expected 1 to 100 seeds, found {}",
        path.display(),
        spec.evaluation.seeds
    );
    let mut names = HashSet::new();
    for system in &spec.systems {
        let name = output::printable(&system.name);
        ensure!(!system.name.trim().is_empty(), "{}: expected a name for each system, found ``", path.display());
        ensure!(
            system.paper.is_none_or(|numbers| numbers.iter().all(|number| number.is_finite())),
            "{}: expected three finite numbers for `paper` of `{name}`, found {:?}",
            path.display(),
            system.paper.unwrap_or_default()
        );
        ensure!(
            names.insert(system.name.trim()),
            "{}: expected each name once, found `{}` again",
            path.display(),
            name
        );
    }
    Ok(spec)
}

/// The text of a spec; `path` may be a device that never ends.
fn text(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|source| clickvec::Error::io(path, "read", source))?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_SPEC_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| clickvec::Error::io(path, "read", source))?;
    ensure!(
        bytes.len() as u64 <= MAX_SPEC_BYTES,
        "{}: expected a table's spec of at most {MAX_SPEC_BYTES} bytes, found more; name a file in TOML",
        path.display()
    );
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[place];
        anyhow!("{}: expected a table's spec in UTF-8, found the byte 0x{byte:02x} at {}", path.display(), place + 1)
    })
}

impl Spec {
    /// The plan of the table for the library.
    pub(super) fn plan(&self) -> Result<Plan> {
        let points =
            |system: &System| system.grid.values().try_fold(1_usize, |points, values| points.checked_mul(values.len()));
        let all = self.systems.iter().try_fold(0_usize, |all, system| all.checked_add(points(system)?));
        let all = all.and_then(|all| all.checked_mul(self.evaluation.seeds));
        ensure!(
            all.is_some_and(|all| all <= MOST_POINTS),
            "expected at most {MOST_POINTS} combinations of the values of `grid` in all systems, times the seeds, found {}; try \
             fewer values",
            all.map_or("more than 2^64".to_owned(), |all| all.to_string())
        );
        let entries = (0..self.systems.len()).map(|place| self.entry(place)).collect::<Result<_>>()?;
        let Evaluation { folds, seed, seeds, full } = self.evaluation;
        Ok(Plan { data: self.data.planned()?, folds, seed, seeds, full, entries })
    }

    /// The row of the system at `place`.
    fn entry(&self, place: usize) -> Result<Entry> {
        let system = &self.systems[place];
        let source = self.source_of(system, place);
        let source = source.with_context(|| format!("system `{}`", output::printable(&system.name)))?;
        Ok(Entry { name: system.name.clone(), field: system.field.clone(), source })
    }

    /// Refuses settings that would have no effect.
    fn refuse_idle(&self, system: &System) -> Result<()> {
        let reads = |name: &str| system.ranker.as_ref().is_some_and(|ranker| ranker.split(':').next() == Some(name));
        let idle = [
            (
                "grid",
                !system.grid.is_empty() && system.ranker.is_none() && system.train.is_none(),
                "`ranker` or `train`",
            ),
            ("method", system.method.is_some() && system.fusion.is_none(), "`fusion`"),
            ("load", system.load.is_some() && !reads("skip-thought"), "`ranker = \"skip-thought\"`"),
            ("vectors", system.vectors.is_some() && !reads("vectors"), "`ranker = \"vectors\"`"),
            ("titles", system.titles.is_some() && system.train.is_none(), "`train`"),
            ("init", system.init.is_some() && system.train.is_none(), "`train`"),
            ("teacher", system.teacher.is_some() && system.train.is_none(), "`train`"),
            ("members", system.members.is_some() && system.train.is_none(), "`train`"),
            (
                "field",
                system.field.is_some() && (system.run.is_some() || system.fusion.is_some()),
                "`ranker`, `train` or `model`",
            ),
        ];
        match idle.iter().find(|(_, idle, _)| *idle) {
            None => Ok(()),
            Some((name, _, wants)) => bail!("expected `{name}` only with {wants}; leave it out"),
        }
    }

    /// The options of `train` for the files and the members of a system.
    fn learnt_from(&self, system: &System) -> Result<Vec<String>> {
        let titles = match &system.titles {
            None | Some(LearntTitles::OfTable(false)) => &[],
            Some(LearntTitles::OfTable(true)) => match &self.data.titles {
                Some(titles) => std::slice::from_ref(titles),
                None => bail!("expected titles of the table for `titles = true`, found none; name them in `[data]`"),
            },
            Some(LearntTitles::Files(files)) => files.list(),
        };
        let teacher = system.teacher.as_ref().map_or(&[][..], Paths::list);
        let files = titles.iter().map(|path| ("--titles", path));
        let files = files.chain(system.init.iter().map(|path| ("--init", path)));
        let files = files.chain(teacher.iter().map(|path| ("--teacher", path)));
        let mut options = Vec::new();
        for (option, path) in files {
            let Some(path) = path.to_str() else {
                bail!("expected a path in UTF-8 for `{option}`, found `{}`", path.display())
            };
            options.extend([option.to_owned(), path.to_owned()]);
        }
        options.extend(system.members.iter().flat_map(|members| ["--members".to_owned(), members.to_string()]));
        Ok(options)
    }

    fn source_of(&self, system: &System, place: usize) -> Result<Source> {
        let grid = || grid(&system.grid);
        self.refuse_idle(system)?;
        let vectors = system.vectors.as_ref().map_or(&[][..], Paths::list);
        ensure!(vectors.len() < 3, "expected one or two files in `vectors`, found {}", vectors.len());
        Ok(match (&system.ranker, &system.train, &system.model, &system.fusion, &system.run) {
            (Some(ranker), None, None, None, None) => {
                let base: RankerSpec = ranker.parse().map_err(clickvec::Error::from)?;
                let points = grid()?.iter().map(|point| at_point(&base, point)).collect::<Result<Vec<_>>>()?;
                let known = clickvec::ranker::System::named(&base.name).map_err(clickvec::Error::from)?;
                for point in &points {
                    known.values(point).map_err(clickvec::Error::from)?;
                }
                Source::Ranker { points, load: system.load.clone(), vectors: vectors.to_vec() }
            }
            (None, Some(train), None, None, None) => {
                let base = [train.list(), self.learnt_from(system)?].concat();
                let arguments = |point: &Vec<(String, toml::Value)>| {
                    let options = point.iter().map(|(name, value)| format!("--{name}={}", shown(value)));
                    base.iter().cloned().chain(options).collect()
                };
                let points: Vec<Vec<String>> = grid()?.iter().map(arguments).collect();
                Source::Model(points.iter().map(|point| train::planned(point)).collect::<Result<_>>()?)
            }
            (None, None, Some(model), None, None) => Source::File(model.clone()),
            (None, None, None, None, Some(run)) => Source::Run(run.clone()),
            (None, None, None, Some(members), None) => {
                let known = |name: &String| {
                    let above = &self.systems[..place];
                    above.iter().position(|other| other.name == *name).with_context(|| {
                        format!("expected the name of a system above it, found `{}`", output::printable(name))
                    })
                };
                let mut distinct = HashSet::new();
                if let Some(again) = members.iter().find(|member| !distinct.insert(*member)) {
                    bail!("expected each member once, found `{}` again; leave one out", output::printable(again));
                }
                ensure!(members.len() > 1, "expected at least two members, found {}", members.len());
                let methods = match system.method {
                    Some(method) => vec![method.fusion()],
                    None => [Method::MinMax, Method::ZScore, Method::ReciprocalRank].map(Method::fusion).to_vec(),
                };
                Source::Fusion { members: members.iter().map(known).collect::<Result<_>>()?, methods }
            }
            _ => {
                let given = [
                    ("`ranker`", system.ranker.is_some()),
                    ("`train`", system.train.is_some()),
                    ("`model`", system.model.is_some()),
                    ("`run`", system.run.is_some()),
                    ("`fusion`", system.fusion.is_some()),
                ];
                let found: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
                let found = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
                bail!("expected one of `ranker`, `train`, `model`, `run` and `fusion`, found {found}")
            }
        })
    }
}

/// Every combination of the grid's values; a single empty one if there are no values.
fn grid(values: &BTreeMap<String, Vec<toml::Value>>) -> Result<Vec<Vec<(String, toml::Value)>>> {
    let mut points = vec![Vec::new()];
    for (name, values) in values {
        ensure!(!values.is_empty(), "expected values for `{}`, found none", output::printable(name));
        let with = |point: &Vec<(String, toml::Value)>, value: &toml::Value| {
            let mut point = point.clone();
            point.push((name.clone(), value.clone()));
            point
        };
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    Ok(points)
}

fn at_point(base: &RankerSpec, point: &[(String, toml::Value)]) -> Result<RankerSpec> {
    let mut spec = base.clone();
    for (name, value) in point {
        let number = match value {
            toml::Value::Integer(number) => *number as f64,
            toml::Value::Float(number) => *number,
            other => bail!("expected numbers for `{}`, found `{other}`", output::printable(name)),
        };
        ensure!(spec.get(name).is_none(), "expected `{name}` in `ranker` or in `grid`, found it in both");
        spec.parameters.push((name.clone(), number));
    }
    Ok(spec)
}

/// A value as text for an option.
fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use clickvec::train::OptimizerKind;

    use super::*;

    fn parse(systems: &str) -> Spec {
        toml::from_str(&format!("[data]\njudged = \"j.tsv\"\n{systems}")).unwrap()
    }

    #[test]
    fn a_grid_is_every_combination() {
        let spec = parse(
            "[[system]]\nname = \"a\"\nranker = \"lsa:whitening=1\"\ngrid = { dimensions = [1, 5], weighting = [0, 1, 2] }\n",
        );
        let Source::Ranker { points, .. } = spec.entry(0).unwrap().source else { panic!("no rankers") };
        let shown: Vec<String> = points.iter().map(ToString::to_string).collect();
        assert_eq!(
            (shown.len(), shown[0].as_str(), shown[5].as_str()),
            (6, "lsa:whitening=1,dimensions=1,weighting=0", "lsa:whitening=1,dimensions=5,weighting=2")
        );
        let spec = parse(
            "[[system]]\nname = \"n\"\ntrain = \"--encoder lstm\"\ngrid = { optimizer = [\"adam\"], gamma = [10] }\n",
        );
        let Source::Model(points) = spec.entry(0).unwrap().source else { panic!("no models") };
        let [point] = points.try_into().unwrap();
        assert_eq!(point.label, "--encoder lstm --gamma=10 --optimizer=adam");
        assert_eq!((point.config.gamma, point.config.optimizer), (10.0, OptimizerKind::Adam));
    }

    #[test]
    fn combinations_of_all_systems_have_a_bound() {
        let values = |count: usize| (0..count).map(|value| format!("{value}, ")).collect::<String>();
        let system = |name: usize, (b, k1): (usize, usize)| {
            let (b, k1) = (values(b), values(k1));
            format!(
                "[[system]]\nname = \"{name}\"\nranker = \"lsa\"\ngrid = {{ dimensions = [{b}], weighting = [{k1}] }}\n"
            )
        };
        let spec = |grids: &[(usize, usize)]| {
            let systems: String = grids.iter().enumerate().map(|(name, &grid)| system(name, grid)).collect();
            parse(&systems).plan().map_err(|error| error.to_string())
        };
        let refused = |grids: &[(usize, usize)]| spec(grids).unwrap_err().contains("at most 10000 combinations");
        assert!(refused(&[(5_000, 3)]), "one");
        assert!(refused(&[(100, 1); 101]), "many");
        // One value more than there may be weightings is another fault, found once the number is.
        assert!(!refused(&[(5_000, 2), (0, 1)]));
    }

    #[test]
    fn a_spec_is_short_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spec.toml");
        let fault = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            format!("{:#}", read(&path).map(drop).unwrap_err())
        };
        let long = "é".repeat(MAX_SPEC_BYTES as usize / 2);
        assert!(fault(long.as_bytes()).contains("expected a table's spec"), "within the bound");
        assert!(fault(format!("{long}é").as_bytes()).contains("at most 1048576 bytes, found more"));
        assert!(
            fault(format!("#{long}").as_bytes()).contains("at most 1048576 bytes, found more"),
            "cut in a character"
        );
        assert!(fault(b"title = \"\xff\"").ends_with("in UTF-8, found the byte 0xff at 10"));
        assert!(format!("{:#}", read(folder.path()).map(drop).unwrap_err()).contains("cannot read"));
        #[cfg(unix)]
        assert!(format!("{:#}", read(Path::new("/dev/zero")).map(drop).unwrap_err()).contains("found more"));
    }

    #[test]
    fn faults_say_what_is_expected() {
        let fault = |systems: &str, place: usize| match parse(systems).entry(place) {
            Ok(_) => panic!("{systems}: no fault"),
            Err(error) => format!("{error:#}"),
        };
        let one_of = "system `a`: expected one of `ranker`, `train`, `model`, `run` and `fusion`, found";
        assert_eq!(fault("[[system]]\nname = \"a\"\n", 0), format!("{one_of} none"));
        let both = fault("[[system]]\nname = \"a\"\nranker = \"bm25\"\nmodel = \"m\"\n", 0);
        assert_eq!(both, format!("{one_of} `ranker` and `model`"));
        let again = fault(
            "[[system]]\nname = \"a\"\nranker = \"bm25\"\n[[system]]\nname = \"f\"\nfusion = [\"a\", \"a\"]\n",
            1,
        );
        assert!(again.ends_with("expected each member once, found `a` again; leave one out"), "{again}");
        let twice = fault("[[system]]\nname = \"a\"\nranker = \"bm25:b=1\"\ngrid = { b = [1] }\n", 0);
        assert!(twice.contains("found it in both"), "{twice}");
        let unknown = fault(
            "[[system]]\nname = \"a\"\nranker = \"bm25\"\n[[system]]\nname = \"f\"\nfusion = [\"a\", \"z\"]\n",
            1,
        );
        assert!(unknown.ends_with("expected the name of a system above it, found `z`"), "{unknown}");
        let text = fault("[[system]]\nname = \"a\"\nranker = \"bm25\"\ngrid = { b = [\"x\"] }\n", 0);
        assert!(text.contains("expected numbers for `b`"), "{text}");
    }

    #[test]
    fn the_specs_that_are_shipped_are_whole() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        // A published crate does not have this folder.
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut systems = 0;
        for entry in entries {
            let spec = read(&entry.unwrap().path()).unwrap();
            for place in 0..spec.systems.len() {
                spec.entry(place).unwrap();
                systems += 1;
            }
        }
        assert!(systems > 30, "{systems}");
    }

    /// Their rows are the papers' experiments: two towers, minibatches of 1,024, n or J negatives, Nesterov momentum or, for
    /// the CLSM's paper and a CLSM anywhere, plain gradient descent; no biases in a CLSM, and one click for each pair.
    #[test]
    fn the_specs_of_the_papers_train_as_printed() {
        use clickvec::encoder::EncoderConfig;
        use clickvec::train::{Keep, NegativeSource, Negatives, Weighting};

        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        if !folder.is_dir() {
            return;
        }
        let (mut networks, mut topics) = (0, 0);
        for (name, of_clsm) in [("lstm-table-4.toml", false), ("clsm-tables-5-6.toml", true)] {
            let spec = read(&folder.join(name)).unwrap();
            assert_eq!(spec.evaluation.seeds, 5, "{name}");
            for (place, system) in spec.systems.iter().enumerate() {
                let points = match spec.entry(place).unwrap().source {
                    Source::Model(points) => points,
                    // Topics are learnt from the clicked titles, as both papers' were.
                    Source::Ranker { points, .. } if ["plsa", "lda"].contains(&points[0].name.as_str()) => {
                        assert!(points.iter().all(|point| point.get("clicked") == Some(1.0)), "{}", system.name);
                        topics += 1;
                        continue;
                    }
                    _ => continue,
                };
                networks += 1;
                let [point] = points.try_into().unwrap();
                let config = point.config;
                assert_eq!((config.shared_towers, config.minibatch), (false, 1024), "{}", system.name);
                assert_eq!((config.weighting, config.keep), (Weighting::Binary, Keep::Last), "{}", system.name);
                assert_eq!(config.negative_source, NegativeSource::Minibatch);
                let printed = system.name.rsplit_once("n = ").or_else(|| system.name.rsplit_once("J = "));
                let negatives = printed.map_or(4, |(_, number)| number.parse().unwrap());
                assert_eq!(config.negatives, Negatives::Sampled(negatives), "{}", system.name);
                let is_clsm = matches!(&config.encoder, EncoderConfig::Clsm(clsm) if !clsm.bias);
                assert_eq!(is_clsm, system.name.starts_with("CLSM"), "{}", system.name);
                let plain = of_clsm || is_clsm;
                let optimizer = if plain { OptimizerKind::Sgd } else { OptimizerKind::Nesterov };
                assert_eq!((config.optimizer, config.clip_norm.is_none()), (optimizer, plain), "{}", system.name);
                assert!(point.label.contains("--learning-rate"), "a step size of its own: {}", system.name);
            }
        }
        assert_eq!((networks, topics), (12 + 6, 1 + 4));
    }

    /// A single training says little of a network.
    #[test]
    fn the_specs_of_the_claims_train_each_network_five_times() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        if !folder.is_dir() {
            return;
        }
        let mut specs = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let spec = read(&path).unwrap();
            let is_trained = spec.systems.iter().any(|system| system.train.is_some());
            if is_trained && (name.starts_with("claims-") || name.ends_with("-defaults.toml")) {
                assert_eq!(spec.evaluation.seeds, 5, "{name}");
                specs += 1;
            }
        }
        assert_eq!(specs, 11);
    }

    #[test]
    fn what_would_not_be_looked_at_is_refused() {
        let fault = |system: &str| match parse(&format!("[[system]]\nname = \"a\"\n{system}\n")).entry(0) {
            Ok(_) => panic!("{system}: no fault"),
            Err(error) => format!("{error:#}"),
        };
        for (system, wants) in [
            ("model = \"m\"\ngrid = { x = [1] }", "`grid` only with `ranker` or `train`"),
            ("ranker = \"bm25\"\nmethod = \"z-score\"", "`method` only with `fusion`"),
            ("ranker = \"bm25\"\nload = \"x\"", "`load` only with `ranker = \"skip-thought\"`"),
            ("train = \"\"\nvectors = \"x\"", "`vectors` only with `ranker = \"vectors\"`"),
        ] {
            assert!(fault(system).contains(wants), "{}", fault(system));
        }
        assert!(fault("train = \"--cells none\"").contains("--cells none"), "{}", fault("train = \"--cells none\""));
    }
}
