"""Search in memory and in an index."""

import json
import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest
from conftest import FROZEN, SHOP

import clickvec

def alike(found, expected):
    """The same arrays."""
    assert np.array_equal(found.ids, expected.ids) and np.array_equal(found.titles, expected.titles)
    assert np.array_equal(found.scores, expected.scores, equal_nan=True) and found.reasons == expected.reasons


QUERIES = ["lether couch", "desk lamp", "", "?!", "ж"]


def test_results_are_those_of_the_program(model, titles, program, tmp_path):
    index = clickvec.Index.encode(model, titles)
    assert (len(index), index.without_vector) == (len(titles), 0)
    folder = tmp_path / "shop.index"
    program("index", "--model", model.path, "--titles", SHOP / "titles.tsv", "--output", folder)
    for more, of_mode in (([], {}), *((["--mode", mode], {"mode": mode}) for mode in ("vectors", "words", "fused"))):
        all_titles = ["--min-confidence", 0, "--as-typed"]
        theirs = json.loads(program("search", folder, "-k", 5, "--json", *all_titles, *more, "grey sofa").stdout)["results"]
        found = index.search("grey sofa", k=5, **of_mode, min_confidence=0, as_typed=True)
        assert [of.rank for of in found] == [1, 2, 3, 4, 5]
        for field in ("rank", "id", "title"):
            assert [getattr(of, field) for of in found] == [of[field] for of in theirs]
        assert np.allclose([of.score for of in found], [of["score"] for of in theirs], atol=1e-6)
    likely = json.loads(program("search", folder, "-k", 5, "--json", "lether couch").stdout)["results"]
    assert [of.id for of in index.search("lether couch", k=5)] == [of["id"] for of in likely]
    with pytest.raises(clickvec.Error, match="^min_confidence: expected a number from 0 to 1, found 2"):
        index.search("lamp", min_confidence=2)
    found = index.search("lether couch", k=5, mode="vectors")
    scores = model.similarity(model.encode_query("lether couch"), model.encode_title([of.title for of in found]))
    assert np.allclose(scores[0], [of.score for of in found], atol=1e-6)
    with pytest.raises(clickvec.Error, match="expected a mode .*`fused`.*, found `best`"):
        index.search("lamp", mode="best")


def test_an_index_answers_alike(model, titles, tmp_path):
    folder = tmp_path / "shop.index"
    made = clickvec.Index.encode(model, titles, folder)
    assert (len(made), made.without_vector, made.path) == (len(titles), 0, str(folder)) and made.model == model
    opened, memory = clickvec.Index.open(folder), clickvec.Index.encode(model, SHOP / "titles.tsv")
    assert opened.fingerprint == made.fingerprint
    checked = opened.check()
    assert checked["damaged"] == [] and checked["files"] > 0
    alike(opened.search_batch(QUERIES, 7), memory.search_batch(QUERIES, 7))
    assert pickle.loads(pickle.dumps(opened)).search("lamp") == opened.search("lamp")
    with pytest.raises(clickvec.Error, match="found one in memory; encode it with an output"):
        pickle.dumps(memory)
    # Only an index is replaced.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(clickvec.Error, match="name another output"):
        clickvec.Index.encode(model, titles, tmp_path / "other")
    assert (tmp_path / "other" / "file").read_text() == "mine"


def test_why_nothing_was_found(model, titles):
    index = clickvec.Index.encode(model, titles)
    found = index.search_batch(QUERIES, min_confidence=0)
    assert found.reasons == [None, None, "no words", "no words", "unknown words"] and len(found) == 5
    assert [int(np.isfinite(scores).sum()) for scores in found.scores] == [10, 10, 0, 0, 0]
    assert index.search("?!").reason == "no words" and index.search_batch(QUERIES, 0).ids.shape == (5, 0)
    assert index.search("lamp", k=0) == [] and index.search("lamp", k=0).reason is None
    assert len(index.search("lamp", k=10**9, min_confidence=0)) == len(index)
    assert "<table>" in index.search("lamp")._repr_html_()


def test_titles_of_every_kind(model):
    texts = ["oak vanity", "garden hose"]
    expected = [of.title for of in clickvec.Index.encode(model, texts).search("garden")]
    pairs = [("7", texts[0]), (8, texts[1])]
    assert [of.title for of in clickvec.Index.encode(model, pairs).search("garden")] == expected
    columns = {"id": [7, 8], "title": texts}
    assert {of.id for of in clickvec.Index.encode(model, columns).search("garden", min_confidence=0)} == {"7", "8"}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    assert {of.id for of in clickvec.Index.encode(model, frame).search("garden", min_confidence=0)} == {"7", "8"}
    assert len(clickvec.Index.encode(model, [])) == 0


@pytest.mark.parametrize(
    ("titles", "error", "words"),
    [
        ([("1", "a"), ("1", "b")], clickvec.Error, "titles, row 2: expected a new id, found `1`, which row 1 has already"),
        ([3], TypeError, r"titles, row 1: expected a text or \(id, title\), found int"),
        ([("1", b"a")], clickvec.Error, "titles, row 1: expected texts or numbers in column `title`, found bytes"),
        (5, TypeError, "titles: expected a path, a table or rows, found int"),
        ({"id": [1]}, clickvec.Error, "expected a column `title`, found `id`"),
    ],
)
def test_bad_titles(model, titles, error, words):
    with pytest.raises(error, match=words):
        clickvec.Index.encode(model, titles)


def test_titles_that_raise(model, tmp_path):
    def titles():
        yield "oak vanity"
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        clickvec.Index.encode(model, titles())
    with pytest.raises(LookupError, match="no more"):
        clickvec.Index.encode(model, titles(), tmp_path / "index")
    assert not list(tmp_path.iterdir())


def test_bad_queries(model):
    index = clickvec.Index.encode(model, ["a"])
    with pytest.raises(TypeError, match="search_batch takes many"):
        index.search(["a"])
    with pytest.raises(TypeError, match="search takes it"):
        index.search_batch("a")
    with pytest.raises(TypeError, match="text 1: expected a text, found None"):
        index.search_batch(["a", None])
    with pytest.raises(clickvec.Error, match="^k: expected 0 or more, found -1"):
        index.search("a", k=-1)
    with pytest.raises(FileNotFoundError):
        clickvec.Index.open("no such folder")
    with pytest.raises(TypeError, match="Index.open opens a folder"):
        clickvec.Index("no such folder")
    with pytest.raises(clickvec.Error, match="^words: expected an output, found none; name the folder of the index$"):
        clickvec.Index.encode(clickvec.load(FROZEN / "lstm.safetensors"), ["a"], words="exact")


def test_threads_search_alike(model, titles):
    index = clickvec.Index.encode(model, titles)
    expected = index.search_batch(QUERIES)
    found = []
    threads = [threading.Thread(target=lambda: found.append(index.search_batch(QUERIES))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in found:
        alike(other, expected)
    assert len(found) == 8


def answer(index, queue):
    queue.put(index.search_batch(QUERIES))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_process_searches_alike(model, titles):
    index = clickvec.Index.encode(model, titles)
    expected = index.search_batch(QUERIES)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=answer, args=(index, queue))
    process.start()
    alike(queue.get(timeout=60), expected)
    process.join(timeout=60)
    assert process.exitcode == 0


def test_arrays_are_the_results(model, titles):
    index = clickvec.Index.encode(model, titles)
    found = index.search_batch(QUERIES, 5, mode="words")
    assert found.ids.shape == found.scores.shape == found.titles.shape == (5, 5) and found.scores.dtype == np.float32
    for query, ids, texts, scores in zip(QUERIES, found.ids, found.titles, found.scores, strict=True):
        expected = index.search(query, 5, mode="words")
        number = len(expected)
        assert [(of.id, of.title) for of in expected] == list(zip(ids[:number], texts[:number], strict=True))
        assert np.array_equal(np.float32([of.score for of in expected]), scores[:number])
        assert all(id is None for id in ids[number:]) and np.isnan(scores[number:]).all()
    # One object for each title: 200 rows take little more than their pointers.
    many = index.search_batch(["sofa"] * 200, 5)
    assert len({id(one) for one in many.ids.ravel()}) == len(set(many.ids[0]))


def test_stored_columns_filter_and_update(model, tmp_path):
    rows = {"id": [1, 2, 3], "title": ["red sofa", "grey sofa", "desk lamp"], "brand": ["acme", "zed", "acme"], "price": [10, 20, 30]}
    index = clickvec.Index.encode(model, rows, tmp_path / "i", store=["brand", "price"], vectors="f16", weights={"words": 0.02})
    every = dict(min_confidence=0, as_typed=True)
    first = index.search("red sofa", filter="brand:acme", **every)[0]
    assert (first.id, first.fields) == ("1", {"brand": "acme", "price": "10"}) and 0 <= first.confidence <= 1
    for conditions, expected in (
        (["brand:acme", "price:..15"], {"1"}),
        ({"brand": ["acme", "zed"], "price": (15, None)}, {"2", "3"}),
        ({"brand": "zed"}, {"2"}),
    ):
        assert {of.id for of in index.search("sofa lamp", filter=conditions, mode="vectors", **every)} == expected
    assert index.get("3") == ("desk lamp", {"brand": "acme", "price": "30"}) and "3" in index and "4" not in index
    with pytest.raises(clickvec.Error, match="expected a condition, as .*, found `brand`"):
        index.search("sofa", filter="brand")
    with pytest.raises(TypeError, match="filter: expected a text, a list of texts or a pair of numbers for `brand`, found 3"):
        index.search("sofa", filter={"brand": 3})
    figures = index.update([("4", "garden hose", "acme", "5"), ("1", "blue sofa", "acme", "9")], delete=["3"])
    assert [figures["updated"][name] for name in ("added", "replaced", "deleted", "titles")] == [1, 1, 1, 3]
    assert index.get("1")[0] == "blue sofa" and "3" not in index and "4" in index
    assert index.update(compact=True)["compacted"]["titles"] == 3
    with pytest.raises(clickvec.Error, match="expected an index on disk to update"):
        clickvec.Index.encode(model, ["a"]).update(["b"])
    clickvec.Index.encode(model, [("9", "oak table", "zed", "1")], tmp_path / "j", store=["brand", "price"], vectors="f16", weights={"words": 0.02})
    both = [tmp_path / "i", tmp_path / "j"]
    assert len(clickvec.Index.join(both, tmp_path / "both")) == 4
    assert len(clickvec.Index.join(both, tmp_path / "links", link=True)) == 4


def test_the_whole_recipe(tmp_path):
    events = []
    index = clickvec.Index.build(SHOP / "titles.tsv", tmp_path / "i", SHOP / "clicks.tsv", fast=True, progress=events.append,
                                 settings={"encoder.cells": 8, "epochs": 1, "titles.epochs": 1})
    assert len(index) == index.report["titles"] and index.search("sofa")
    steps = [event["step"] for event in events if event["event"] == "step"]
    assert steps[0] == "look" and "index" in steps
    with pytest.raises(clickvec.Error, match="expected each log once"):
        clickvec.Index.build(SHOP / "titles.tsv", tmp_path / "i", [SHOP / "clicks.tsv"] * 2)


def test_what_a_callback_raises_ends_a_batch(model, titles):
    index, told = clickvec.Index.encode(model, titles), []

    def stop(event):
        told.append(event["done"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.search_batch(["grey sofa"] * 20_000, k=10, progress=stop)
    assert len(told) == 1 and told[0] < 20_000
