//! `evaluate --require`: an exit status for jobs that go on only if a system is better, or not worse.

use crate::harness::Folder;

/// Judged titles for which one model is always right and another always wrong.
fn folder() -> Folder {
    let folder = Folder::new();
    let (mut judged, mut good, mut bad) =
        ("query_id\tquery\ttitle_id\ttitle\tgrade\n".to_owned(), String::new(), String::new());
    for i in 0..30 {
        judged.push_str(&format!(
            "q{i}\tquery {i}\ta{i}\tgood title {i}\t4\nq{i}\tquery {i}\tb{i}\tother title {i}\t0\n"
        ));
        good.push_str(&format!("q{i} Q0 a{i} 1 2.0 x\nq{i} Q0 b{i} 2 1.0 x\n"));
        bad.push_str(&format!("q{i} Q0 b{i} 1 2.0 x\nq{i} Q0 a{i} 2 1.0 x\n"));
    }
    folder.write("judged.tsv", judged);
    folder.write("good.run", good);
    folder.write("bad.run", bad);
    folder
}

const BASE: [&str; 4] = ["evaluate", "--judged=judged.tsv", "bad.run", "good.run"];

#[test]
fn a_job_goes_on_only_if_a_system_is_better() {
    let folder = folder();
    let run = |more: &[&str]| folder.run(&[&BASE[..], more].concat());
    run(&["--require=good:better:bad"]).code(0).says("required: good is better than bad by ndcg@10: +0.");
    run(&["--require=bad:better:good"])
        .code(1)
        .says("required: bad is not shown to be better than good by ndcg@10: -0.");
    run(&["--require=good:better:bad", "--require=bad:better:good"]).code(1);
    run(&["--require=good:better:bad", "--measures=ndcg@1", "--json"]).code(0).says("by ndcg@1: +1.000");
    // Equal systems: no difference was shown.
    folder.write("same.run", folder.read("good.run"));
    run(&["same.run", "--require=same:better:good"]).code(1).says("by ndcg@10: 0.000, p 1.0000");
}

#[test]
fn a_job_goes_on_unless_a_system_is_worse() {
    let folder = folder();
    folder.write("same.run", folder.read("good.run"));
    let run = |more: &[&str]| folder.run(&[&BASE[..], &["same.run"], more].concat());
    run(&["--require=good:not-worse:bad"])
        .code(0)
        .says("required: good is not shown to be worse than bad by ndcg@10: +0.");
    run(&["--require=same:not-worse:good"]).code(0).says("required: same is not shown to be worse than good");
    run(&["--require=bad:not-worse:good"]).code(1).says("required: bad is worse than good by ndcg@10: -0.");
    run(&["--require=same:not-worse:good", "--require=same:better:good"]).code(1);
    run(&["--require=good:not-worse:bad", "--measures=ndcg@1"]).code(0).says("by ndcg@1: +1.000");
    run(&["--require=good:not-worse:best"])
        .code(2)
        .says("for `--require`, found `good:not-worse:best`")
        .prints_nothing();
}

#[test]
fn what_is_required_is_checked_before_anything_is_judged() {
    let folder = folder();
    let run = |more: &[&str]| folder.run(&[&BASE[..], more].concat());
    let named = "expected two of the systems `bad`, `good` with `:better:` or `:not-worse:` between them for `--require`, found `good:better:best`";
    run(&["--require=good:better:best"]).code(2).says(named).prints_nothing();
    run(&["--require=good:bad"]).code(2).prints_nothing();
}

#[test]
fn it_works_for_whole_collections_and_for_names_with_colons() {
    let folder = folder();
    let mut titles = "id\ttitle\n".to_owned();
    (0..30).for_each(|i| titles.push_str(&format!("a{i}\tgood title {i}\nb{i}\tother title {i}\n")));
    folder.write("titles.tsv", titles);
    let full = [&BASE[..], &["--full", "--titles=titles.tsv", "bm25:b=0.4"]].concat();
    let run = |more: &[&str]| folder.run(&[&full[..], more].concat());
    run(&["--require=good:better:bad"]).code(0).says("required: good is better than bad by ndcg@10");
    run(&["--require=bad:better:bm25:b=0.4"]).code(1).says("required: bad is not shown to be better than bm25:b=0.4");
    run(&["--require=good:better:bad", "--measures=mrr@10"]).code(0).says("by mrr@10: +0.500");
    run(&["--require=good:better:bad", "--measures=judged@10"]).code(1).says("not compared");
}
