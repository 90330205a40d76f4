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

QUERIES = ["lether couch", "desk lamp", "", "?!", "ж"]


def test_results_are_those_of_the_program(model, titles, program, tmp_path):
    searcher = clickvec.Searcher(model, titles)
    assert len(searcher) + searcher.left_out == len(titles)
    index = tmp_path / "shop.index"
    program("index", "--model", model.path, "--titles", SHOP / "titles.tsv", "--output", index)
    for more, of_mode in (([], {}), *((["--mode", mode], {"mode": mode}) for mode in ("vectors", "words", "fused"))):
        all_titles = ["--min-confidence", 0, "--as-typed"]
        theirs = json.loads(program("search", index, "-k", 5, "--json", *all_titles, *more, "grey sofa").stdout)["results"]
        found = searcher.search("grey sofa", k=5, **of_mode, min_confidence=0, as_typed=True)
        assert [of.rank for of in found] == [1, 2, 3, 4, 5]
        for field in ("rank", "id", "title"):
            assert [getattr(of, field) for of in found] == [of[field] for of in theirs]
        assert np.allclose([of.score for of in found], [of["score"] for of in theirs], atol=1e-6)
    likely = json.loads(program("search", index, "-k", 5, "--json", "lether couch").stdout)["results"]
    assert [of.id for of in searcher.search("lether couch", k=5)] == [of["id"] for of in likely]
    with pytest.raises(clickvec.Error, match="expected a min_confidence from 0 to 1, found 2"):
        searcher.search("lamp", min_confidence=2)
    found = searcher.search("lether couch", k=5, mode="vectors")
    scores = model.similarity(model.encode_query("lether couch"), model.encode_document([of.title for of in found]))
    assert np.allclose(scores[0], [of.score for of in found], atol=1e-6)
    with pytest.raises(clickvec.Error, match="mode: expected one of vectors, words, trigrams, teacher, fused, found `best`"):
        searcher.search("lamp", mode="best")


def test_an_index_answers_alike(model, titles, tmp_path):
    folder = tmp_path / "shop.index"
    built = clickvec.build_index(model, titles, folder)
    assert built["titles"] + built["left_out"] == len(titles) and built["model"] == model.fingerprint
    opened, memory = clickvec.Searcher(folder), clickvec.Searcher(model, SHOP / "titles.tsv")
    assert opened.search_batch(QUERIES, 7) == memory.search_batch(QUERIES, 7)
    assert pickle.loads(pickle.dumps(opened)).search("lamp") == opened.search("lamp")
    with pytest.raises(clickvec.Error, match="write it with build_index"):
        pickle.dumps(memory)
    # Only an index is replaced.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(clickvec.Error, match="name another output"):
        clickvec.build_index(model, titles, tmp_path / "other")
    assert (tmp_path / "other" / "file").read_text() == "mine"


def test_why_nothing_was_found(model, titles):
    searcher = clickvec.Searcher(model, titles)
    found = searcher.search_batch(QUERIES, min_confidence=0)
    assert [answer.reason for answer in found] == [None, None, "no words", "no words", "unknown words"]
    assert [len(answer) for answer in found] == [10, 10, 0, 0, 0]
    assert searcher.search("lamp", k=0) == [] and searcher.search("lamp", k=0).reason is None
    assert len(searcher.search("lamp", k=10**9, min_confidence=0)) == len(searcher)
    assert "<table>" in searcher.search("lamp")._repr_html_()


def test_titles_of_every_kind(model):
    texts = ["oak vanity", "garden hose"]
    expected = [of.title for of in clickvec.Searcher(model, texts).search("garden")]
    pairs = [("7", texts[0]), (8, texts[1])]
    assert [of.title for of in clickvec.Searcher(model, pairs).search("garden")] == expected
    columns = {"id": [7, 8], "title": texts}
    assert {of.id for of in clickvec.Searcher(model, columns).search("garden", min_confidence=0)} == {"7", "8"}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    assert {of.id for of in clickvec.Searcher(model, frame).search("garden", min_confidence=0)} == {"7", "8"}
    assert len(clickvec.Searcher(model, [])) == 0


@pytest.mark.parametrize(
    ("titles", "error", "words"),
    [
        ([("1", "a"), ("1", "b")], clickvec.Error, "expected a new id, found `1` again"),
        ([("1", None)], TypeError, "titles: row 0"),
        ([(float("nan"), "a")], TypeError, "titles: row 0: expected an id"),
        ([3], TypeError, "titles: row 0"),
        (5, TypeError, "expected a path, a table or titles, found int"),
        ({"id": [1]}, clickvec.Error, "expected a column `title`, found `id`"),
    ],
)
def test_bad_titles(model, titles, error, words):
    with pytest.raises(error, match=words):
        clickvec.Searcher(model, titles)


def test_titles_that_raise(model, tmp_path):
    def titles():
        yield "oak vanity"
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        clickvec.Searcher(model, titles())
    with pytest.raises(LookupError, match="no more"):
        clickvec.build_index(model, titles(), tmp_path / "index")
    assert not list(tmp_path.iterdir())


def test_bad_queries(model):
    searcher = clickvec.Searcher(model, ["a"])
    with pytest.raises(TypeError, match="search_batch takes many"):
        searcher.search(["a"])
    with pytest.raises(TypeError, match="search takes it"):
        searcher.search_batch("a")
    with pytest.raises(TypeError, match="text 1: expected a text, found None"):
        searcher.search_batch(["a", None])
    with pytest.raises(clickvec.Error, match="expected a k of 0 or more"):
        searcher.search("a", k=-1)
    with pytest.raises(FileNotFoundError):
        clickvec.Searcher("no such folder")
    with pytest.raises(TypeError, match="expected titles"):
        clickvec.Searcher(clickvec.load(FROZEN / "lstm.safetensors"))


def test_threads_search_alike(model, titles):
    searcher = clickvec.Searcher(model, titles)
    expected = searcher.search_batch(QUERIES)
    found = []
    threads = [threading.Thread(target=lambda: found.append(searcher.search_batch(QUERIES))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def answer(searcher, queue):
    queue.put(searcher.search_batch(QUERIES))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_process_searches_alike(model, titles):
    searcher = clickvec.Searcher(model, titles)
    expected = searcher.search_batch(QUERIES)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=answer, args=(searcher, queue))
    process.start()
    assert queue.get(timeout=60) == expected
    process.join(timeout=60)
    assert process.exitcode == 0
