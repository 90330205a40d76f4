//! Tests of specs, and of those that are shipped.

use crate::table::Source;
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
    let Source::Ranker(points) = spec.entry(0).unwrap().source else { panic!("no rankers") };
    let shown: Vec<String> = points.iter().map(ToString::to_string).collect();
    assert_eq!(
        (shown.len(), shown[0].as_str(), shown[5].as_str()),
        (6, "lsa:whitening=1,dimensions=1,weighting=0", "lsa:whitening=1,dimensions=5,weighting=2")
    );
    let spec = parse(
        "[[system]]\nname = \"n\"\ntrain.encoder = \"lstm\"\ngrid = { optimizer = [\"adam\"], \"loss.gamma\" = [9] }\n",
    );
    let Source::Model(points) = spec.entry(0).unwrap().source else { panic!("no models") };
    let [point] = points.try_into().unwrap();
    assert_eq!(point.label, "encoder.kind=lstm loss.gamma=9 optimizer=adam");
    assert_eq!((point.config.loss.gamma, point.config.optimizer), (9.0, OptimizerKind::Adam));
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
    assert!(fault(format!("#{long}").as_bytes()).contains("at most 1048576 bytes, found more"), "cut in a character");
    assert!(fault(b"title = \"\xff\"").ends_with("in UTF-8, found the byte 0xff at 10"));
    assert!(format!("{:#}", read(folder.path()).map(drop).unwrap_err()).contains("cannot read"));
    #[cfg(unix)]
    assert!(format!("{:#}", read(Path::new("/dev/zero")).map(drop).unwrap_err()).contains("found more"));
}

#[test]
fn faults_say_what_is_expected() {
    let fault = |systems: &str, position: usize| match parse(systems).entry(position) {
        Ok(_) => panic!("{systems}: no fault"),
        Err(error) => format!("{error:#}"),
    };
    let one_of = "system `a`: expected one of `ranker`, `train`, `model`, `run` and `fusion`, found";
    assert_eq!(fault("[[system]]\nname = \"a\"\n", 0), format!("{one_of} none"));
    let both = fault("[[system]]\nname = \"a\"\nranker = \"bm25\"\nmodel = \"m\"\n", 0);
    assert_eq!(both, format!("{one_of} `ranker` and `model`"));
    let again =
        fault("[[system]]\nname = \"a\"\nranker = \"bm25\"\n[[system]]\nname = \"f\"\nfusion = [\"a\", \"a\"]\n", 1);
    assert!(again.ends_with("expected each member once, found `a` again; leave one out"), "{again}");
    let twice = fault("[[system]]\nname = \"a\"\nranker = \"bm25:b=1\"\ngrid = { b = [1] }\n", 0);
    assert!(twice.contains("found it in both"), "{twice}");
    let unknown =
        fault("[[system]]\nname = \"a\"\nranker = \"bm25\"\n[[system]]\nname = \"f\"\nfusion = [\"a\", \"z\"]\n", 1);
    assert!(unknown.ends_with("expected the name of a system above it, found `z`"), "{unknown}");
    let text = fault("[[system]]\nname = \"a\"\nranker = \"bm25\"\ngrid = { b = [\"x\"] }\n", 0);
    assert!(text.contains("expected numbers for `b`"), "{text}");
    // A message repeats little of a long name or value.
    let long = "x".repeat(1000);
    for system in [
        format!("name = \"{long}\"\nranker = \"bm26\""),
        format!("name = \"f\"\nfusion = [\"{long}\", \"b\"]"),
        format!("name = \"f\"\nfusion = [\"{long}\", \"{long}\"]"),
        format!("name = \"a\"\nranker = \"bm25\"\ngrid = {{ b = [\"{long}\"] }}"),
        format!("name = \"a\"\nranker = \"bm25\"\ngrid = {{ {long} = [] }}"),
        format!("name = \"a\"\nranker = \"bm25\"\ngrid = {{ {long} = [\"x\"] }}"),
    ] {
        let text = fault(&format!("[[system]]\n{system}\n"), 0);
        assert!(text.contains("xxx…") && text.len() < 400, "{text}");
    }
}

#[test]
fn a_claim_names_systems_and_a_metric_of_the_table() {
    let fault = |claim: &str| {
        let text = format!(
            "[[system]]\nname = \"a\"\nranker = \"bm25\"\n[[system]]\nname = \"b\"\nranker = \"trigram\"\n[[claim]]\nname = \"c\"\n{claim}\n"
        );
        parse(&text).check().map_or_else(|error| error.to_string(), |()| "none".to_owned())
    };
    assert_eq!(fault("metric = \"ndcg@1\"\npairs = [[\"a\", \"b\"]]"), "none");
    for (claim, says) in [
        (
            "metric = \"map\"\npairs = [[\"a\", \"b\"]]",
            "expected `ndcg@1`, `ndcg@3` or `ndcg@10` in the claim `c`, found `map`",
        ),
        ("metric = \"ndcg@1\"\npairs = []", "expected pairs of systems in the claim `c`, found none"),
        (
            "metric = \"ndcg@1\"\npairs = [[\"a\", \"z\"]]",
            "expected names of systems of the table in the claim `c`, found `z`",
        ),
        (
            "metric = \"ndcg@1\"\npairs = [[\"a\", \"a\"]]",
            "expected two systems in each pair in the claim `c`, found `a` twice",
        ),
    ] {
        assert_eq!(fault(claim), says);
    }
}

/// A message describes the values of a field, without the name of a type.
#[test]
fn a_field_of_another_kind_is_told() {
    let fault = |field: &str| {
        let text = format!("[[system]]\nname = \"a\"\n{field}\n");
        toml::from_str::<Spec>(&text).map(drop).unwrap_err().to_string()
    };
    for (field, expected) in [
        ("train = 1", "expected a map"),
        ("train = {}\nteacher = 1", "expected a path or a list of paths"),
        ("train = {}\ntitles = 1", "expected true, false, a path or a list of paths"),
        ("[[claim]]\nname = \"c\"\npairs = []", "missing field `metric`"),
        ("[[claim]]\nname = \"c\"\nmetric = \"f1\"", "expected a metric, one of `ndcg@K`"),
    ] {
        let text = fault(field);
        assert!(text.contains(expected) && !text.contains("untagged"), "{field}: {text}");
    }
}

#[test]
fn the_specs_that_are_shipped_are_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
    // A published crate does not have this folder.
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut systems = 0;
    for entry in entries {
        let spec = read(&entry.unwrap().path()).unwrap();
        for position in 0..spec.systems.len() {
            spec.entry(position).unwrap();
            systems += 1;
        }
    }
    assert!(systems > 30, "{systems}");
}

/// Their rows are the papers' experiments: two towers, minibatches of 1,024, n or J negatives, Nesterov momentum or, for
/// the CLSM's paper and a CLSM anywhere, plain gradient descent; no biases in a CLSM, and one click for each pair.
#[test]
fn the_specs_of_the_papers_train_as_printed() {
    use clickvec::encoder::{EncoderConfig, InitRange};
    use clickvec::train::{Keep, NegativeSource, Negatives, Weighting};

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
    if !folder.is_dir() {
        return;
    }
    let (mut networks, mut topics) = (0, 0);
    for (name, of_clsm) in [("lstm-table-4.toml", false), ("clsm-tables-5-6.toml", true)] {
        let spec = read(&folder.join(name)).unwrap();
        assert_eq!(spec.evaluation.seeds, 5, "{name}");
        for (position, system) in spec.systems.iter().enumerate() {
            let points = match spec.entry(position).unwrap().source {
                Source::Model(points) => points,
                // Topics are learnt from the clicked titles, as both papers' were.
                Source::Ranker(points) if ["plsa", "lda"].contains(&points[0].name.as_str()) => {
                    assert!(points.iter().all(|point| point.get("clicked") == Some(1.0)), "{}", system.name);
                    topics += 1;
                    continue;
                }
                _ => continue,
            };
            networks += 1;
            let [point] = points.try_into().unwrap();
            let config = point.config;
            assert_eq!((config.shared_towers, config.batch_size), (false, 1024), "{}", system.name);
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
            // The LSTM's paper prints none, and a DSSM does better with those of the CLSM's.
            let is_fan = plain || matches!(config.encoder, EncoderConfig::Dssm(_));
            let range = if is_fan { InitRange::Fan } else { InitRange::Uniform(0.01) };
            assert_eq!((config.init_range, config.forget_bias), (range, 0.0), "{}", system.name);
            assert!(point.label.contains("learning_rate="), "a step size of its own: {}", system.name);
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
    let (mut specs, mut claims) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let spec = read(&path).unwrap();
        let is_trained = spec.systems.iter().any(|system| system.train.is_some());
        if is_trained && (name.starts_with("claims-") || name.ends_with("-defaults.toml")) {
            assert_eq!(spec.evaluation.seeds, 5, "{name}");
            // By the papers' metric, which was declared before the result was known.
            assert!(spec.claims.iter().all(|claim| claim.metric == Metric::Ndcg(1)), "{name}");
            claims += usize::from(!spec.claims.is_empty());
            specs += 1;
        }
    }
    assert_eq!((specs, claims), (12, 9));
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
        ("ranker = \"bm25:encoder=x\"", "expected one of the parameters k1, b, stem, split, fold, found `encoder`"),
    ] {
        assert!(fault(system).contains(wants), "{}", fault(system));
    }
    assert!(fault("train.encoder.cells = \"none\"").contains("encoder.cells: invalid type"));
}
