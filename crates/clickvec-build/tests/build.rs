//! Builds from small logs: results, refusals, and interruptions.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec::tables::Titles;
use clickvec::train::{Outcome, Overrides};
use clickvec_build::{Build, Built, Join, Progress, Step, folder_beside};
use clickvec_eval::{Evidence, Metric, training};
use clickvec_index::{Index, Mode, Part, Request};
use clickvec_logs::tables::Options;

#[path = "../../clickvec-transformer/tests/tiny/mod.rs"]
mod tiny;

/// The things, in titles and queries.
const THINGS: [&str; 8] = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill"];

/// A row of a table by its number.
type Row = fn(usize) -> String;

struct Shop {
    folder: tempfile::TempDir,
    logs: Vec<PathBuf>,
    teachers: Vec<PathBuf>,
    judged: Option<PathBuf>,
}

impl Shop {
    /// Writes a table of titles, and a log with this header and these rows.
    fn new(header: &str, rows: impl Iterator<Item = String>) -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log.tsv");
        std::fs::write(&log, format!("{header}\n{}", rows.collect::<String>())).unwrap();
        let titles = (0..800).map(|i| format!("i{i}\t{}\n", title(i))).collect::<String>();
        std::fs::write(folder.path().join("titles.tsv"), format!("id\ttitle\n{titles}")).unwrap();
        Shop { folder, logs: vec![log], teachers: Vec::new(), judged: None }
    }

    /// Writes a log of counted pairs.
    fn counted() -> Shop {
        Shop::new("query\ttitle", (0..1400).map(|i| format!("{} {}\t{}\n", THINGS[i % 8], i, title(i % 700))))
    }

    /// Writes the same with a tiny transformer that teaches.
    fn taught() -> Shop {
        let mut shop = Shop::counted();
        shop.teachers.push(shop.path("transformer"));
        tiny::write(&shop.path("transformer"));
        shop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, on_progress: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>) -> clickvec::Result<Outcome<Built>> {
        self.build_of("shop", &self.path("titles.tsv"), on_progress)
    }

    fn build_of(
        &self,
        output: &str,
        titles: &Path,
        on_progress: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> clickvec::Result<Outcome<Built>> {
        let mut settings = Overrides::default();
        for (name, value) in [("encoder.cells", 8), ("encoder.members", 1), ("titles.epochs", 1)] {
            settings.set(name, value.into());
        }
        let build = Build {
            logs: &self.logs,
            table: Options::default(),
            preset: None,
            titles: Titles::from(titles),
            store: &[],
            teachers: &self.teachers,
            judged: self.judged.as_deref(),
            fast: false,
            settings,
            output: &self.path(output),
        };
        build.run(&mut |progress| on_progress(&progress))
    }

    /// Returns the error of a build that leaves nothing.
    fn refused(&self) -> String {
        let error = self.run(&mut go_on).expect_err("refused").to_string();
        assert!(!self.path("shop").exists() && !folder_beside(&self.path("shop")).exists(), "{error}");
        error
    }
}

fn title(i: usize) -> String {
    format!("{} no {i} for the house", THINGS[i % 8])
}

fn go_on(_: &Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_log_and_titles_become_an_index_with_a_test() {
    let shop = Shop::counted();
    let mut steps = Vec::new();
    let built = shop.run(&mut |progress| {
        if let Progress::Step { step, number, of } = progress {
            steps.push((*step, *number, *of));
        }
        ControlFlow::Continue(())
    });
    let built = built.unwrap().finished().expect("finished");
    let order = [Step::Look, Step::Count, Step::Learn, Step::Test, Step::LearnAll, Step::Index];
    assert_eq!(steps, order.into_iter().zip(1..).map(|(step, number)| (step, number, 6)).collect::<Vec<_>>());
    let tested = built.tested.expect("a test");
    let names: Vec<&str> = tested.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!((names, tested.tests.len()), (vec!["the index", "BM25", "BM25 of stems"], 2));
    let index = Index::open(&shop.path("shop")).unwrap();
    let answer = index.search(&Request::new("hammer 16", Mode::Fused).with_k(3)).unwrap();
    assert_eq!((built.titles, answer.hits[0].id.as_str()), (800, "i16"));
    assert!(!folder_beside(&shop.path("shop")).exists());
}

#[test]
fn what_was_shown_and_not_clicked_is_bad_and_what_was_never_shown_is_unknown() {
    let build = |is_shown: bool| {
        let rows = (0..1400).map(|i| {
            let query = format!("{} {i}", THINGS[i % 8]);
            let row = |title: String, clicked: u8| format!("{query}\t{title}\t{clicked}\t2026-03-02T10:00:00Z\n");
            row(title(i % 700), 1) + &if is_shown { row(title((i + 8) % 700), 0) } else { String::new() }
        });
        let mut not_clicked = 0;
        let shop = Shop::new("query\ttitle\tclicked\ttime", rows);
        let built = shop.run(&mut |progress| {
            if let Progress::Counted(report) = progress {
                not_clicked = report.left_out.not_clicked;
            }
            ControlFlow::Continue(())
        });
        let Outcome::Finished(Built { tested: Some(tested), .. }) = built.unwrap() else { panic!("a test") };
        (tested, not_clicked)
    };
    let ((by_clicks, none), (by_shown, all)) = (build(false), build(true));
    assert_eq!((none, all), (0, 1400));
    assert_eq!([by_clicks.evidence, by_shown.evidence], [Evidence::Clicks, Evidence::Impressions]);
    for (clicks, shown) in by_clicks.systems.iter().zip(&by_shown.systems) {
        let found = [&clicks.mean, &shown.mean].map(|mean| mean.get(Metric::Ndcg(10)));
        assert_eq!(found[0], found[1], "what was not clicked is not learnt");
        // Two titles were shown for each query.
        let judged = [&clicks.mean, &shown.mean].map(|mean| mean.get(Metric::Judged(10)));
        assert!(judged[0] > 0.5 && judged[1] <= 0.2, "{judged:?}");
    }
    assert!(by_shown.warning.unwrap().contains("of the first ten titles were shown to users"));
}

#[test]
fn titles_alone_are_enough() {
    let shop = Shop { logs: Vec::new(), ..Shop::counted() };
    let built = shop.run(&mut go_on).unwrap().finished().expect("finished");
    assert!(built.tested.is_none() && built.query.is_none() && built.titles == 800);
}

#[test]
fn an_interrupted_build_is_resumed_with_the_same_result() {
    let shop = Shop::counted();
    let build = |output: &str, on_progress: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>| {
        shop.build_of(output, &shop.path("titles.tsv"), on_progress).unwrap()
    };
    let whole = build("whole", &mut go_on).finished().expect("finished");
    let is_minibatch = |progress: &Progress<'_>| {
        matches!(
            progress,
            Progress::Training(training::Progress::Run { event: clickvec::train::Event::Minibatch { .. }, .. })
        )
    };
    let at = |wanted: Step, progress: &Progress<'_>| matches!(progress, Progress::Step { step, .. } if *step == wanted);
    let stop = |when: bool| if when { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert!(matches!(build("shop", &mut |progress| stop(is_minibatch(progress))), Outcome::Cancelled));
    assert!(matches!(build("shop", &mut |progress| stop(at(Step::LearnAll, progress))), Outcome::Cancelled));
    assert!(matches!(build("shop", &mut |progress| stop(at(Step::Index, progress))), Outcome::Cancelled));
    assert!(!shop.path("shop").exists() && folder_beside(&shop.path("shop")).exists());
    let mut resumed = false;
    let built = build("shop", &mut |progress| {
        resumed |= matches!(progress, Progress::Resumed);
        ControlFlow::Continue(())
    });
    let built = built.finished().expect("finished");
    assert!(resumed);
    assert_eq!((built.fingerprint, built.query), (whole.fingerprint, whole.query));
    assert_eq!(built.tested.map(|tested| tested.systems), whole.tested.map(|tested| tested.systems));
}

#[test]
fn a_transformer_teaches_and_is_a_part_if_it_pays() {
    let shop = Shop::taught();
    let mut steps = Vec::new();
    let stop_after = |texts: u64| {
        shop.run(&mut |progress| match progress {
            Progress::Encoding { texts: done, .. } if *done >= texts => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    };
    assert!(matches!(stop_after(512).unwrap(), Outcome::Cancelled));
    let mut encoded = Vec::new();
    let built = shop.run(&mut |progress| {
        match progress {
            Progress::Step { step, .. } => steps.push(*step),
            Progress::Encoding { texts, .. } if steps.last() == Some(&Step::Teach) => encoded.push(*texts),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let built = built.unwrap().finished().expect("finished");
    // The first 512 are there already.
    assert!(steps.contains(&Step::Teach) && encoded.first() == Some(&512), "{encoded:?}");
    let index = Index::open(&shop.path("shop")).unwrap();
    let is_part = index.fusion().weight(Part::Teacher) > 0.0;
    let other = if is_part { "the index without the teacher" } else { "the index with the teacher" };
    let tested = built.tested.expect("a test");
    let names: Vec<&str> = tested.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["the index", other, "BM25", "BM25 of stems"]);
    assert_eq!(built.teacher, Some(is_part));
    let whole = Shop::taught();
    let again = whole.run(&mut go_on).unwrap().finished().expect("finished");
    assert_eq!(built.fingerprint, again.fingerprint);
}

#[test]
fn a_transformer_is_a_part_where_nothing_tests_it_and_not_where_it_loses() {
    let mut shop = Shop { logs: Vec::new(), ..Shop::taught() };
    let built = shop.run(&mut go_on).unwrap().finished().expect("finished");
    assert_eq!(built.teacher, Some(true));
    let index = Index::open(&shop.path("shop")).unwrap();
    let found = index.search(&Request::new("hammer 16", Part::Teacher).with_k(3)).unwrap().hits;
    assert_eq!(found.len(), 3);
    // Random weights find nothing that people would call good.
    let judged = |i: usize| format!("{} no {i}\t{}\t4\n", THINGS[i % 8], title(i));
    std::fs::write(
        shop.path("judged.tsv"),
        format!("query\ttitle\tgrade\n{}", (0..60).map(judged).collect::<String>()),
    )
    .unwrap();
    shop.judged = Some(shop.path("judged.tsv"));
    let built = shop.run(&mut go_on).unwrap().finished().expect("finished");
    let tested = built.tested.expect("a test");
    let is_part = Index::open(&shop.path("shop")).unwrap().fusion().weight(Part::Teacher) > 0.0;
    assert_eq!(built.teacher, Some(is_part));
    assert_eq!(tested.systems[1].name == "the index with the teacher", !is_part);
    assert_eq!(tested.systems.len(), 4);
}

#[test]
fn a_bad_transformer_is_refused_and_leaves_nothing() {
    let shop = Shop::taught();
    let weights = shop.path("transformer/model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    assert!(shop.refused().contains("cut short or damaged"));
    std::fs::remove_dir_all(shop.path("transformer")).unwrap();
    std::fs::create_dir(shop.path("transformer")).unwrap();
    assert!(shop.refused().contains("expected a folder that sentence-transformers saved"));
    let mut two = Shop::taught();
    two.teachers.push(two.path("transformer"));
    assert!(two.refused().contains("expected one transformer as the teacher, found a second one"));
}

#[test]
fn other_inputs_start_afresh_and_the_old_index_stays_meanwhile() {
    let shop = Shop::counted();
    shop.run(&mut go_on).unwrap().finished().expect("finished");
    let manifest = || std::fs::read(shop.path("shop").join(clickvec_index::MANIFEST)).unwrap();
    let before = manifest();
    let stop = &mut |progress: &Progress<'_>| {
        if matches!(progress, Progress::Counted(_)) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(matches!(shop.run(stop).unwrap(), Outcome::Cancelled));
    assert!(manifest() == before && folder_beside(&shop.path("shop")).exists());
    let more = std::fs::read_to_string(&shop.logs[0]).unwrap() + "blue hammer\thammer no 8 for the house\n";
    std::fs::write(&shop.logs[0], more).unwrap();
    let mut afresh = false;
    shop.run(&mut |progress| {
        afresh |= matches!(progress, Progress::StartedAfresh);
        ControlFlow::Continue(())
    })
    .unwrap()
    .finished()
    .expect("finished");
    assert!(afresh && manifest() != before);
}

#[test]
fn ids_in_the_log_are_joined_with_the_titles() {
    for header in ["query\tsku", "query\ttitle"] {
        let rows = (0..1400).map(|i| format!("{} {}\ti{}\n", THINGS[i % 8], i, i % 700));
        let mut join = None;
        let built = Shop::new(header, rows).run(&mut |progress| {
            if let Progress::Looked(looked) = progress {
                join = Some(looked.join.clone());
            }
            ControlFlow::Continue(())
        });
        assert_eq!(built.unwrap().finished().expect("finished").titles, 800);
        let column = header.split('\t').next_back().unwrap().to_owned();
        assert_eq!(join, Some(Join::Ids { column }));
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused_and_leave_nothing() {
    let rows = |row: Row| (0..300).map(row);
    let swapped = Shop::counted();
    let (log, titles) = (swapped.logs[0].clone(), swapped.path("titles.tsv"));
    let swapped = Shop { logs: vec![titles], ..swapped };
    let error = swapped.build_of("shop", &log, &mut go_on).expect_err("refused").to_string();
    assert!(error.contains("the log and the titles are swapped"), "{error}");

    let shop = Shop::counted();
    std::fs::write(
        shop.path("titles.tsv"),
        format!("id\ttitle\n{}", rows(|i| format!("{i}\tX{i}\n")).collect::<String>()),
    )
    .unwrap();
    assert!(shop.refused().contains("expected titles with words, found ids such as `X0` in the column `title`"));

    let cases: [(&str, Row, &str); 5] = [
        (
            "query\ttitle",
            |i| format!("marteau {i}x\tmarteau bleu numéro {i}x\n"),
            "are these the titles that were searched, in the same language?",
        ),
        ("query\titem", |i| format!("hammer\tZ{i}\n"), "found 0 of 300, the first being `Z0`"),
        ("query\ttitle", |i| format!("hammer\tZ{i}\n"), "expected texts of titles, or ids that are among the ids of"),
        (
            "query\ttitle\tuser",
            |i| format!("hammer {i}\thammer no {} for the house\tu{i}\n", i / 8 * 8),
            "300 clicks of queries with fewer than 2 users; pass a longer log",
        ),
        ("query\ttitle", |i| format!("hammer {i}\thammer no 8 for the house\n"), "found 100 % of them on `hammer no 8"),
    ];
    for (header, row, expected) in cases {
        let error = Shop::new(header, rows(row)).refused();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let turned = Shop::new("query\ttitle", (0..300).map(|i| format!("{}\t{} {i}\n", title(i), THINGS[i % 8])));
    assert!(turned.refused().contains("are the columns of queries and titles swapped?"));
    let other = Shop::new("query\tsku", (0..300).map(|i| format!("échelle bleue\ti{i}\n")));
    assert!(other.refused().contains("are the titles in the language of the queries"));
}
