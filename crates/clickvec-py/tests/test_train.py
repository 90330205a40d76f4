"""Training: from every source the same model, and whatever goes wrong is an exception."""

import csv
import inspect
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import ROOT, SETTINGS, SHOP

import clickvec
from clickvec import training

CLICKS = SHOP / "clicks.tsv"


def rows():
    with open(CLICKS, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return list(reader)


def test_the_same_bytes_as_the_program(model, program, tmp_path):
    theirs = tmp_path / "program.safetensors"
    program("train", "--clicks", CLICKS, "--output", theirs, "--epochs", 2, "--set", "encoder.cells=16", "--set", "seed=7")
    with open(model.path, "rb") as ours:
        assert ours.read() == theirs.read_bytes()
    assert model.to_bytes() == theirs.read_bytes()


@pytest.mark.skipif("CLICKVEC_PROGRAM" not in os.environ, reason="CLICKVEC_PROGRAM names no program")
def test_the_same_bytes_as_another_build_of_the_program(model, tmp_path):
    theirs = tmp_path / "program.safetensors"
    settings = ["--epochs", "2", "--set", "encoder.cells=16", "--set", "seed=7"]
    command = [os.environ["CLICKVEC_PROGRAM"], "train", "--clicks", CLICKS, "--output", theirs, *settings]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert model.to_bytes() == theirs.read_bytes()


def test_the_same_bytes_as_the_program_with_everything(program, tmp_path):
    ours, theirs = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    validation, titles = SHOP / "validation.tsv", SHOP / "titles.tsv"
    clickvec.train(
        CLICKS, ours, titles=titles, validation=validation, epochs=1, settings={"titles.epochs": 1}, encoder={"members": 2, "cells": 8},
        augment={"misspell": 0.2, "drop": 0.1}, clip_norm=5.0, shared_towers=False, progress=False,
    )  # fmt: skip
    program(
        "train", "--clicks", CLICKS, "--output", theirs, "--titles", titles, "--validation", validation, "--epochs", 1,
        "--set", "titles.epochs=1", "--set", "encoder.members=2", "--set", "encoder.cells=8", "--set", "augment.misspell=0.2",
        "--set", "augment.drop=0.1", "--set", "clip_norm=5",
        "--set", "shared_towers=false",
    )  # fmt: skip
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Clicks with counts, and the model that a file of them gives."""
    table = [{**row, "count": 1 + number % 7} for number, row in enumerate(rows())]
    path = tmp_path_factory.mktemp("clicks") / "counted.tsv"
    lines = ["query\ttitle\tcount", *(f"{row['query']}\t{row['title']}\t{row['count']}" for row in table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return table, path, clickvec.train(path, progress=False, **SETTINGS).fingerprint


def test_every_source_gives_the_same_model(counted):
    table, _, expected = counted
    weights = [float(np.float32(np.log1p(row["count"]))) for row in table]
    pairs = [(row["query"], row["title"], weight) for row, weight in zip(table, weights, strict=True)]

    def fingerprint(clicks):
        return clickvec.train(clicks, progress=False, **SETTINGS).fingerprint

    assert fingerprint(pairs) == fingerprint(pair for pair in pairs) == expected
    pandas = pytest.importorskip("pandas")
    assert fingerprint(pandas.DataFrame(table)) == expected
    assert fingerprint(pandas.DataFrame(pairs, columns=["query", "title", "weight"])) == expected
    arrow = pytest.importorskip("pyarrow")
    columns = {"query": arrow.array([row["query"] for row in table]).dictionary_encode()}
    columns["title"] = arrow.array([row["title"] for row in table], arrow.large_string())
    columns["count"] = arrow.array([row["count"] for row in table], arrow.uint16())
    whole = arrow.table(columns)
    assert fingerprint(whole) == expected
    batches = arrow.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=97))
    assert fingerprint(batches) == expected


def test_binary_weights_mean_the_same_everywhere(counted):
    table, path, _ = counted
    settings = dict(SETTINGS, weighting="binary", progress=False)
    expected = clickvec.train(path, **settings).fingerprint
    pairs = [(row["query"], row["title"], float(row["count"])) for row in table]
    assert clickvec.train(pairs, **settings).fingerprint == expected
    arrow = pytest.importorskip("pyarrow")
    assert clickvec.train(arrow.Table.from_pylist(table), **settings).fingerprint == expected


def test_polars_and_duckdb(counted):
    table, path, expected = counted
    polars = pytest.importorskip("polars")
    assert clickvec.train(polars.DataFrame(table), progress=False, **SETTINGS).fingerprint == expected
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql(f"select query, title, count from read_csv('{path}', delim='\t', quote='')")
    assert clickvec.train(relation.arrow(), progress=False, **SETTINGS).fingerprint == expected


def test_titles_and_validation_from_memory(titles):
    settings = dict(epochs=1, settings={"titles.epochs": 1}, encoder={"kind": "lstm", "cells": 8}, progress=False)
    judged = []
    for line in (SHOP / "validation.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        judged.append(line.split("\t"))
    header = (SHOP / "validation.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    judged = {name: [row[place] for row in judged] for place, name in enumerate(header)}
    judged["grade"] = [int(grade) for grade in judged["grade"]]
    ours = clickvec.train(CLICKS, titles=titles, validation=judged, **settings)
    theirs = clickvec.train(CLICKS, titles=SHOP / "titles.tsv", validation=SHOP / "validation.tsv", **settings)
    assert ours.fingerprint == theirs.fingerprint
    alone = [title for _, title in titles]
    with pytest.raises(ValueError, match="epochs: expected clicks, on which it acts, found titles alone"):
        clickvec.train(titles=alone, **settings)
    del settings["epochs"]
    assert clickvec.train(titles=alone, **settings).dimension == 8


def test_a_teacher_and_a_start(model):
    texts = sorted({row["query"] for row in rows()} | {row["title"] for row in rows()})
    vectors = np.random.default_rng(1).normal(size=(len(texts), 5))
    taught = clickvec.train(CLICKS, teacher=(texts, vectors), init=model, progress=False, **SETTINGS)
    assert taught.training["init"] == model.fingerprint
    assert taught.training["teacher"]
    [event] = [event for event in taught.history if event["event"] == "teacher"]
    assert event["known_titles"] == event["titles"] > 0
    with pytest.raises(ValueError, match="expected a vector for each of the teacher's 2 texts, found 3"):
        clickvec.train(CLICKS, teacher=(["a", "b"], np.ones((3, 2))), progress=False)
    with pytest.raises(TypeError, match="expected a matrix of floats"):
        clickvec.train(CLICKS, teacher=(["a", "b"], np.ones((2, 2), dtype=int)), progress=False)
    with pytest.raises(clickvec.Error, match="finite"):
        clickvec.train(CLICKS, teacher=(texts[:2], np.full((2, 2), np.nan)), progress=False, **SETTINGS)


def test_what_a_start_cannot_have(model):
    for settings, words in (
        ({"init_range": 0.5}, "init_range: expected new weights"),
        ({"max_trigrams": 1}, "or more, which the initial model has"),
    ):
        with pytest.raises(clickvec.Error, match=words):
            clickvec.train(CLICKS, init=model, progress=False, **settings)


def test_events_reach_a_function():
    events = []
    model = clickvec.train(CLICKS, progress=events.append, **SETTINGS)
    kinds = [event["event"] for event in events if event["event"] not in ("reading", "minibatch")]
    assert kinds[:6] == ["log", "held_out", "epoch", "epoch", "judged", "all_clicks"]
    assert kinds == [event["event"] for event in model.history]
    judged, all_clicks = model.history[4:6]
    assert kinds[6:] == ["epoch"] * all_clicks["epochs"] != []
    assert [system["name"] for system in judged["systems"]][:2] == ["model", "BM25"]
    assert all(0 <= test["p"] <= 1 for test in judged["tests"])
    best = max(model.history[2:4], key=lambda epoch: epoch["held_out"]["ndcg@10"])
    assert all_clicks["epochs"] == best["epoch"] == model.training["epoch"]


def test_all_clicks_are_learnt_in_the_end(model, tmp_path):
    epochs = model.training["epoch"]
    whole = clickvec.train(CLICKS, progress=False, **{**SETTINGS, "epochs": epochs, "held_out": 0.0})
    vectors = [of.encode_query(["red shoes", "desk lamp"]) for of in (model, whole)]
    assert np.array_equal(*vectors)
    # In memory and in a file, from a path and from Python.
    in_memory = clickvec.train(CLICKS, progress=False, **SETTINGS)
    generated = clickvec.train(((row["query"], row["title"]) for row in rows()), progress=False, **SETTINGS)
    output = tmp_path / "model.safetensors"
    written = clickvec.train(((row["query"], row["title"]) for row in rows()), output, progress=False, **SETTINGS)
    assert in_memory == generated == written == model
    assert [path.name for path in tmp_path.iterdir()] == [output.name]
    # With fewer queries nothing is held out and there is one training.
    few = clickvec.train(rows_of_queries(900), progress=False, **SETTINGS)
    assert [event["event"] for event in few.history] == ["log", "held_out", "epoch", "epoch"]
    assert few.history[1]["queries"] == 0


def rows_of_queries(number):
    """The clicks of so many queries."""
    queries = list(dict.fromkeys(row["query"] for row in rows()))[:number]
    return [(row["query"], row["title"]) for row in rows() if row["query"] in set(queries)]


def test_a_function_that_raises_stops_the_training(tmp_path):
    output = tmp_path / "model.safetensors"
    output.write_bytes(b"before")

    class Stop(Exception):
        pass

    def stop(event):
        if event["event"] == "epoch":
            raise Stop

    with pytest.raises(Stop):
        clickvec.train(CLICKS, output, progress=stop, **SETTINGS)
    assert output.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir() if "partial" not in path.name] == ["model.safetensors"]


def test_a_generator_that_raises():
    class Broken(Exception):
        pass

    def pairs():
        for number in range(20_000):
            if number == 17_000:
                raise Broken("no more")
            yield "red shoes", f"shoes {number}"

    with pytest.raises(Broken, match="no more"):
        clickvec.train(pairs(), progress=False)

    def broken(first):
        yield first
        raise Broken("no more")

    with pytest.raises(Broken, match="no more"):
        clickvec.train(CLICKS, titles=broken("red shoes"), progress=False)
    with pytest.raises(Broken, match="no more"):
        clickvec.train(CLICKS, validation=broken(("a", "b", 1)), progress=False)
    with pytest.raises(Broken, match="no more"):
        clickvec.train(CLICKS, teacher=(broken("red shoes"), np.ones((1, 2))), progress=False)


@pytest.mark.parametrize(
    ("pairs", "error", "words"),
    [
        ([("a", None)], ValueError, r"^clicks: .*found none \(0 rows were broken, 1 had a side without words\)"),
        ([("a", "b"), (b"a", "b")], clickvec.Error, "^clicks, row 2: expected texts or numbers in column `query`, found bytes"),
        ([("a",)], ValueError, r"^clicks, row 1: expected \(query, title\) and perhaps weight, found 1 items"),
        ([("a", "b"), ("a", "b", 3, 4)], ValueError, r"^clicks, row 2: expected \(query, title\) and perhaps weight, found 4 items"),
        (["ab"], TypeError, r"^clicks, row 1: expected \(query, title\) and perhaps weight, found str"),
        ([("a", "b", float("nan"))], ValueError, "row 1: expected a finite number of 0 or more in column `weight`, found ``"),
        ([("a", "b", -1)], ValueError, "row 1: expected a finite number of 0 or more in column `weight`, found `-1`"),
        ([("a", "b", 1e300)], ValueError, "row 1: expected a weight of 0 or from 1e-12 to 1e12"),
        ([("a", "b", "c")], ValueError, "row 1: expected a finite number of 0 or more in column `weight`, found `c`"),
        ([("a", "\ud800")], ValueError, "^clicks, row 1: .*found a text with lone surrogates"),
        ([], ValueError, "^clicks: expected pairs of a query and a title, found none"),
        ([("?", "!")], ValueError, "1 had a side without words"),
        (17, TypeError, "^clicks: expected a path, a table or rows, found int"),
        ({"a": ["b"]}, ValueError, "^clicks: expected a column `query`, found `a`$"),
        ({"query": ["a"], "title": ["b", "c"]}, ValueError, "^clicks: expected columns of one length, found a shorter one"),
        ("no such file.tsv", FileNotFoundError, "no such file.tsv: cannot open"),
    ],
)
def test_bad_clicks(pairs, error, words):
    with pytest.raises(error, match=words) as raised:
        clickvec.train(pairs, progress=False)
    assert not isinstance(raised.value, clickvec.InternalError)


def test_bad_tables():
    arrow = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="^clicks: expected a column `title`, found `query`"):
        clickvec.train(arrow.table({"query": ["a"]}), progress=False)
    with pytest.raises(TypeError, match="^clicks: expected a table with the columns query, title, found an Arrow array of Utf8"):
        clickvec.train(arrow.chunked_array([["a"]]), progress=False)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"epochs": 0}, clickvec.Error, "epochs: expected 1 or more, found 0"),
        ({"epoch": 3}, TypeError, "unexpected keyword argument 'epoch'"),
        ({"settings": {"epoch": 3}}, clickvec.Error, "epoch: unknown field `epoch`"),
        ({"epochs": "many"}, clickvec.Error, "epochs: invalid type: string"),
        ({"encoder": "bert"}, clickvec.Error, "encoder.kind: unknown variant `bert`"),
        ({"learning_rate": float("nan")}, clickvec.Error, "expected finite numbers"),
        ({"learning_rate": -1.0}, clickvec.Error, "learning_rate: expected a number above 0, found -1"),
        ({"encoder": {"window": 3}}, clickvec.Error, "encoder.window: unknown field `window`"),
        ({"settings": {"titles.epochs": 3}}, clickvec.Error, "titles.epochs: expected titles to learn from"),
    ],
)
def test_bad_settings(settings, error, words):
    with pytest.raises(error, match=words):
        clickvec.train(CLICKS, progress=False, **settings)


def test_errors_have_the_words_of_the_program(program, tmp_path):
    bad = tmp_path / "bad.tsv"
    bad.write_text("query\tname\na\tb\n")
    with pytest.raises(clickvec.Error) as ours:
        clickvec.train(bad, progress=False)
    theirs = program("train", "--clicks", bad, "--output", tmp_path / "model", status=2)
    assert str(ours.value) in theirs.stderr
    assert isinstance(ours.value, ValueError)



def test_checkpoints_and_resuming(tmp_path):
    output = tmp_path / "model.safetensors"
    settings = dict(epochs=3, encoder={"cells": 16}, seed=7, checkpoint_every=5, progress=False)
    whole = clickvec.train(CLICKS, **{**settings, "checkpoint_every": None})

    def stop(event):
        if event["event"] == "epoch" and event["epoch"] == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        clickvec.train(CLICKS, output, **{**settings, "progress": stop})
    assert not output.exists()
    resumed = clickvec.train(CLICKS, output, resume=True, **settings)
    assert resumed.fingerprint == whole.fingerprint
    assert resumed.history[2]["event"] == "resumed"


def test_a_million_rows():
    def pairs():
        for number in range(1_000_000):
            yield "red shoes", "shoes 1" if number % 2 else "shoes 2"

    class Enough(Exception):
        pass

    def enough(event):
        if event["event"] == "log":
            assert event["pairs"] == 1_000_000
            raise Enough

    with pytest.raises(Enough):
        clickvec.train(pairs(), progress=enough, held_out=0)
    arrow = pytest.importorskip("pyarrow")
    titles = arrow.DictionaryArray.from_arrays(np.arange(1_000_000, dtype=np.int32) % 2, ["shoes 2", "shoes 1"])
    queries = arrow.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int8), ["red shoes"])
    table = arrow.table({"query": queries, "title": titles.cast(arrow.string())})
    with pytest.raises(Enough):
        clickvec.train(table, progress=enough, held_out=0)


SCRIPT = """
import sys, clickvec
clicks = [("red shoes", f"shoes {number % 1000}") for number in range(200_000)]
def show(event):
    if event["event"] == "minibatch": print("begun", flush=True)
try:
    clickvec.train(clicks, sys.argv[1], progress=show, epochs=10_000, held_out=0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_stops_it(tmp_path):
    output = tmp_path / "model.safetensors"
    output.write_bytes(b"before")
    command = [sys.executable, "-c", SCRIPT, str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout.readline() == "begun\n"
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
        assert time.monotonic() - begun < 20
    assert rest.endswith("interrupted\n") and process.returncode == 0
    assert output.read_bytes() == b"before"


def test_two_trainings_at_once(model):
    found = []

    def run():
        found.append(clickvec.train(CLICKS, progress=False, **SETTINGS).fingerprint)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [model.fingerprint] * 2


def test_keywords_are_the_settings_of_the_type():
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z_.]+)` ", page.split("\n### ")[0], re.MULTILINE)
    names = {name.split(".")[0] for name in named} - {"titles", "teacher"}
    arguments = inspect.signature(clickvec.train).parameters
    assert names | {"preset"} == set(arguments) - training._NO_SETTINGS
