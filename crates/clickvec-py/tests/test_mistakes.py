"""Mistakes that are easily made: each is refused in words that help, or does what was meant."""

import decimal
import subprocess
import sys

import numpy as np
import pytest
from conftest import SHOP

import clickvec
from clickvec import rankers

JUDGED, TITLES, CLICKS = SHOP / "judged.tsv", SHOP / "titles.tsv", SHOP / "clicks.tsv"
QUICK = {"encoder": {"cells": 4}, "epochs": 1, "held_out": 0, "progress": False}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ties": "x"}, "expected ties of expected or trec, found `x`"),
        ({"gain": "x"}, "expected a gain of exponential or linear, found `x`"),
        ({"relevant_from": -1}, "relevant_from: expected a grade, 0 to 10, found -1"),
    ],
)
def test_ways_to_judge(arguments, words):
    with pytest.raises(clickvec.Error, match=words):
        clickvec.evaluate(["bm25", "trigram"], JUDGED, **arguments)


def test_nothing_is_judged(tmp_path):
    header = tmp_path / "header.tsv"
    header.write_text("query\ttitle\tgrade\n")
    for judged, name in (([], "^judged"), (header, "header.tsv")):
        with pytest.raises(clickvec.Error, match=f"{name}: expected judged titles below the header, found none"):
            clickvec.evaluate("bm25", judged)


def test_judged_queries_that_were_clicked(model, program, tmp_path):
    rows = [("red sofa", "grey sofa", 4), ("red sofa", "lamp", 0), ("desk lamp", "lamp", 3)]
    words = "judged: 1 of 2 judged queries is also in clicks, with 1 of 3 judged pairs: `desk lamp`; what learns"
    for systems in (["wtm"], [model]):
        with pytest.warns(UserWarning, match=f"^{words}"):
            clickvec.evaluate(systems, rows, clicks=[("desk lamp", "lamp")])
    judged, clicks = tmp_path / "judged.tsv", tmp_path / "clicks.tsv"
    judged.write_text("query\ttitle\tgrade\n" + "".join(f"{query}\t{title}\t{grade}\n" for query, title, grade in rows))
    clicks.write_text("query\ttitle\nred sofa\tlamp\ndesk lamp\tlamp\n")
    with pytest.warns(UserWarning) as warned:
        clickvec.evaluate(["bm25"], judged, clicks=clicks)
    theirs = program("evaluate", "bm25", "--judged", judged, "--clicks", clicks).stderr
    assert str(warned[0].message) in theirs


@pytest.mark.parametrize(
    ("systems", "words"),
    [
        ([rankers.Bm25], r"found the class Bm25; Bm25\(\) is a ranker"),
        ([dict], "found the class dict"),
        ([lambda query, titles: None], "expected a function that returns a score for each title, found None"),
        ([lambda query, titles: ["x" for _ in titles]], "expected scores that are numbers, found str"),
    ],
)
def test_what_is_no_system(systems, words):
    with pytest.raises(TypeError, match=words):
        clickvec.evaluate(systems, JUDGED)


def test_a_system_may_be_any_file(tmp_path, monkeypatch):
    path = tmp_path / "my.ranker"
    rankers.Bm25(k1=2.0).fit(TITLES).save(path)
    result = clickvec.evaluate([str(path), "bm25:k1=2"], JUDGED, titles=TITLES)
    assert result.means["my"] == result.means["bm25:k1=2"]
    # The name of a ranker is no file, whatever is in the folder.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bm25").write_text("mine")
    assert clickvec.evaluate(["bm25"], [("a", "b", 1)]).systems == ["bm25"]


def test_warnings_name_arguments():
    with pytest.warns(UserWarning, match="left out wtm: .*give a click log"):
        clickvec.evaluate(["bm25", "wtm"], JUDGED)


def test_descriptions_of_rankers():
    assert rankers.named("bm25:k1=1.2, b=0.4")._parameters == {"k1": 1.2, "b": 0.4}
    for spec, words in (
        ("bm25:k1", "bm25:k1: expected NAME=NUMBER, with commas between them, found `` as a number"),
        ("bm25:k1=x", "found `x` as a number"),
        ("bm25:k3=1", "bm25: expected one of k1, b, stem, split, fold, found `k3`"),
        ("bm26", "expected one of bm25, .*found `bm26`"),
    ):
        with pytest.raises(clickvec.Error, match=words):
            rankers.named(spec)


def test_files_of_titles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = TITLES.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "a.tsv").write_text("".join(lines[:100]), encoding="utf-8")
    (tmp_path / "b.tsv").write_text("".join([lines[0], *lines[100:]]), encoding="utf-8")
    settings = {"encoder": {"cells": 4}, "settings": {"titles.epochs": 1}, "progress": False}
    expected = clickvec.train(titles=[tmp_path / "a.tsv", tmp_path / "b.tsv"], **settings)
    assert clickvec.train(titles=["a.tsv", "b.tsv"], **settings) == expected
    assert clickvec.train(titles=["a.tsv", tmp_path / "b.tsv"], **settings) == expected
    with pytest.raises(clickvec.Error, match="titles: expected titles or files, found both: 'c.tsv' is no file"):
        clickvec.train(titles=["a.tsv", "c.tsv"], **settings)
    with pytest.raises(clickvec.Error, match="titles: expected files that are there, found none called 'c.tsv'"):
        clickvec.train(titles=["c.tsv", "d.csv.gz"], **settings)
    assert clickvec.train(titles=["oak table", "red sofa"] * 9, **settings).dimension == 12


def test_columns_that_are_given_twice():
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame([["a", "b", "c"]], columns=["query", "title", "query"])
    for of in (frame, arrow.table([["a"], ["b"], ["c"]], names=["query", "title", "query"])):
        with pytest.raises(clickvec.Error, match="^clicks: expected one column `query`, found several; rename all but one$"):
            clickvec.train(of, **QUICK)
    with pytest.raises(clickvec.Error, match="^judged: expected one column `query`, found several"):
        clickvec.evaluate("bm25", frame.assign(grade=1))


def test_several_columns_as_the_title(tmp_path):
    columns = {
        "query": ["sofa", "lamp", "oak"] * 9,
        "title": ["grey sofa", "desk lamp", ""] * 9,
        "brand": ["acme", " ", "oak & co"] * 9,
    }
    rows = list(zip(*columns.values(), strict=True))
    path = tmp_path / "table.tsv"
    path.write_text("query\ttitle\tbrand\n" + "".join("\t".join(row) + "\n" for row in rows))
    settings = dict(QUICK, field="title+brand")
    tables = [columns, [dict(zip(columns, row, strict=True)) for row in rows]]
    for module, name in (("pandas", "DataFrame"), ("pyarrow", "table"), ("polars", "DataFrame")):
        tables.append(getattr(pytest.importorskip(module), name)(columns))
    expected = clickvec.train(path, **settings)
    judged = [("a sofa", "grey sofa", "acme", 0), ("a sofa", "", "acme sofa", 1), ("a sofa", "lamp", "", 0)]
    means = clickvec.evaluate("wtm", judged, clicks=path, field="title+brand").means
    for table in tables:
        assert clickvec.train(table, **settings) == expected
        assert clickvec.evaluate("wtm", judged, clicks=table, field="title+brand").means == means
    joined = [(query, f"{title} {brand}", grade) for query, title, brand, grade in judged]
    clicks = [(query, f"{title} {brand}") for query, title, brand in rows]
    assert clickvec.evaluate("wtm", joined, clicks=clicks).means == means
    # A column with this very name goes before.
    one = {"query": columns["query"], "title+brand": [" ".join(filter(str.strip, row[1:3])) for row in rows]}
    assert clickvec.train(one, **settings) == clickvec.train(tables[3].from_pydict(one), **settings) == expected


def test_rows_with_names():
    rows = [{"query": f"red shoes {number}", "title": f"shoes {number % 7}", "count": 1 + number % 5} for number in range(50)]
    arrow = pytest.importorskip("pyarrow")
    expected = clickvec.train(arrow.Table.from_pylist(rows), **QUICK)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for clicks in (rows, iter(rows), columns):
        assert clickvec.train(clicks, **QUICK) == expected
    # As in a file, what has no title is counted, and so is what has no number of clicks.
    model = clickvec.train([*rows, {"query": "a", "count": 1}, {"query": "a", "title": "b", "count": -1}], **QUICK)
    assert np.array_equal(model.encode_query("red shoes"), expected.encode_query("red shoes"))
    assert (model.history[0]["without_words"], model.history[0]["skipped"]) == (1, 1)
    with pytest.raises(clickvec.Error, match="^clicks, row 51: expected texts or numbers in column `title`, found list"):
        clickvec.train([*rows, {"query": "a", "title": ["b"], "count": 1}], **QUICK)
    # What nothing reads may be anything.
    assert clickvec.train([{**row, "tags": ["b"]} for row in rows], **QUICK) == expected


def test_decimals():
    rows = [(f"red shoes {number}", f"shoes {number % 7}", decimal.Decimal(number + 1) / 2) for number in range(50)]
    expected = clickvec.train([(query, title, float(weight)) for query, title, weight in rows], **QUICK)
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(rows, columns=["query", "title", "weight"])
    assert clickvec.train(rows, **QUICK) == clickvec.train(frame, **QUICK) == expected
    for kind in (arrow.decimal32(5, 2), arrow.decimal64(5, 2), arrow.decimal128(38, 3), arrow.decimal256(60, 4)):
        column = arrow.array(list(frame["weight"]), kind)
        table = arrow.table({"query": frame["query"], "title": frame["title"], "weight": column})
        assert clickvec.train(table, **QUICK) == expected
    duckdb = pytest.importorskip("duckdb")
    duckdb.sql("create or replace table log as select query, title, weight::decimal(10, 2) as weight from frame")
    sums = duckdb.sql("select query, title, sum(weight) as weight from log group by all order by min(rowid)")
    assert clickvec.train(sums, **QUICK) == expected
    judged = [("sofa", "grey sofa", decimal.Decimal("2.0")), ("sofa", "lamp", decimal.Decimal(0))]
    floats = [(query, title, float(weight)) for query, title, weight in rows]
    means = clickvec.evaluate("wtm", judged, clicks=floats).means
    for clicks in (rows, frame, table, table.to_reader(), sums):
        assert clickvec.evaluate("wtm", judged, clicks=clicks).means == means


def test_every_error_about_a_value_is_ours(model, tmp_path):
    pandas = pytest.importorskip("pandas")
    for wrong in (
        lambda: clickvec.train([("a", "b", -1)], **QUICK),
        lambda: clickvec.train(pandas.DataFrame({"query": ["a"]}), **QUICK),
        lambda: clickvec.evaluate(["bm25", "bm25"], JUDGED),
        lambda: clickvec.set_threads(5000),
    ):
        with pytest.raises(clickvec.Error):
            wrong()
    with pytest.raises(FileNotFoundError) as raised:
        clickvec.prepare(tmp_path / "nope.csv", tmp_path / "o")
    assert isinstance(raised.value, clickvec.Error) and raised.value.filename == str(tmp_path / "nope.csv")
    with pytest.raises(FileNotFoundError) as raised:
        model.save(tmp_path / "none" / "x")
    assert isinstance(raised.value, clickvec.FileError) and raised.value.errno == 2


def test_models_and_paths_are_told_apart(model, tmp_path):
    with pytest.raises(TypeError, match="expected a model that was learnt, found str; Model.load opens a file"):
        clickvec.Model(model.path)
    assert clickvec.Index.encode(model.path, TITLES, tmp_path / "index").model == model
    with pytest.raises(TypeError, match="expected a model or its path, found int"):
        clickvec.Index.encode(3, TITLES, tmp_path / "other")
    with pytest.raises(clickvec.Error, match="^the bytes of a model: "):
        clickvec.Model.from_bytes(b"")


def test_settings_that_are_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="titles: expected a text, a number or a path, found DataFrame"):
        clickvec.prepare(SHOP / "log.csv", tmp_path / "o", titles=pandas.DataFrame({"id": [1]}))


def test_checkpoints_have_an_output():
    for arguments in ({"resume": True}, {"checkpoint_every": 1}):
        with pytest.raises(clickvec.Error, match=f"{[*arguments][0]}: expected an output, .*found none"):
            clickvec.train(CLICKS, **arguments, **QUICK)


def test_similarity_is_the_cosine_of_any_vectors(model):
    a, b = model.encode(["red shoes", "lamp", ""]), model.encode(["shoes", "desk", "lamp"])
    cosines = a @ b.T
    assert np.allclose(model.similarity(3 * a, 5 * b), cosines, atol=1e-6)
    assert np.allclose(model.similarity_pairwise(3 * a, b), np.diag(cosines), atol=1e-6)
    eight = model.encode(["red shoes", "lamp", ""], precision="int8")
    assert np.allclose(model.similarity(eight, b), cosines, atol=0.05)


def test_batches_have_two_sides(model):
    arrow = pytest.importorskip("pyarrow")
    from clickvec.batches import encode_batch

    with pytest.raises(clickvec.Error, match='tower: expected "query" or "title", found \'querry\''):
        encode_batch(arrow.record_batch({"title": ["a"]}), model, tower="querry")


def test_labels_and_tables_in_scikit_learn():
    pytest.importorskip("sklearn")
    pandas = pytest.importorskip("pandas")
    from clickvec.sklearn import ClickvecVectorizer

    texts = ["red sofa", "desk lamp", "oak table", "lamp for a desk"] * 9
    vectorizer = ClickvecVectorizer(encoder={"cells": 4}, epochs=1)
    alone = vectorizer.fit(texts).model_
    # What y has is never guessed.
    for labels in (["Home Improvement", "Lawn & Garden", "Kitchen", "Bath"] * 9, [1, 0, 0, 1] * 9):
        assert vectorizer.fit(texts, labels).model_ == alone
    assert vectorizer.set_params(titles=True).fit(texts, ["red sofa"] * 36).model_ != alone
    with pytest.raises(ValueError, match="expected the titles clicked for the queries as y, found None"):
        vectorizer.fit(texts)
    given = ClickvecVectorizer(alone, tower="query").fit(texts)
    assert given.model_ is alone and (given.transform(texts) == alone.encode_query(texts)).all()
    with pytest.raises(TypeError, match="expected texts, found a table"):
        vectorizer.transform(pandas.DataFrame({"title": texts}))
    assert vectorizer.transform(pandas.Series(texts)).shape == (36, 4)


SCRIPT = r"""
import sys, time, threading, os, signal, clickvec
model = clickvec.load(sys.argv[1])
clickvec.set_threads(1)
log = sys.argv[1] + ".log"
if sys.argv[2] == "prepare":
    with open(log, "w") as file:
        file.write("query\ttitle\n" + "".join(f"red shoes {number}\tshoes {number % 97}\n" for number in range(3_000_000)))
texts = [f"red shoes {number} for {number // 7}" for number in range(int(sys.argv[3]))]
work = {
    "encode": model.encode,
    "search": lambda texts: clickvec.Index.encode(model, texts),
    "search_batch": lambda texts: clickvec.Index.encode(model, texts[:2000]).search_batch(texts),
    "fit": lambda texts: clickvec.rankers.Plsa(iterations=100_000).fit(texts[:2000]),
    "prepare": lambda texts: clickvec.prepare(log, os.devnull, min_users=1),
    "simulate": lambda texts: clickvec.simulate(log + ".world", settings={"pairs": 10**9, "titles": 500}),
    "table": lambda texts: clickvec.table(rankers="lda:sweeps=1000000", judged="testdata/shop/judged.tsv",
                                          clicks="testdata/shop/clicks.tsv", cache=log + ".cache"),
    "evaluate": lambda texts: clickvec.evaluate("lda:sweeps=1000000", [("red", text, 1) for text in texts[:2000]]),
}[sys.argv[2]]
threading.Timer(0.2, lambda: (print(time.monotonic(), flush=True), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    work(texts)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """The file of a model that encodes slowly."""
    path = tmp_path_factory.mktemp("slow") / "m.safetensors"
    clickvec.train([("red shoes", "shoes for all")] * 9, path, **{**QUICK, "encoder": {"cells": 512}})
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="no signals here")
@pytest.mark.parametrize("work", ["encode", "search", "search_batch", "fit", "evaluate", "prepare", "simulate", "table"])
def test_ctrl_c_ends_the_first_work_of_a_process(work, slow):
    command = [sys.executable, "-c", SCRIPT, str(slow), work, "120000"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    pressed, raised = map(float, done.stdout.split())
    # The whole takes some 9 s, what is encoded between two looks a few tenths.
    assert raised - pressed < 2
