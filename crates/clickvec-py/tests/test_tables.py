"""Tables: the same rows, counts and words from a file and from memory."""

import json

import pytest

import clickvec

pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
arrow, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
parquet = pytest.importorskip("pyarrow.parquet")

QUICK = {"encoder": {"cells": 4}, "epochs": 1, "held_out": 0, "progress": False}


def files(columns, folder):
    """Returns the same table in every form of a file."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    frame = pandas.DataFrame(columns)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(arrow.table(columns), folder / "t.parquet")
    return [folder / f"t.{form}" for form in ("tsv", "csv", "jsonl", "parquet")]


def tables(columns):
    """Returns the same table in every form of memory; some can be read once."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    table = arrow.table(columns)
    one, other = duckdb.connect(), duckdb.connect()
    one.register("t", table)
    other.register("t", table)
    return {
        "dict": columns,
        "rows": rows,
        "generator": (row for row in rows),
        "pandas": pandas.DataFrame(columns),
        "objects": pandas.DataFrame(columns).astype(object),
        "polars": polars.DataFrame(columns),
        "lazy": polars.LazyFrame(columns),
        "arrow": table,
        "reader": table.to_reader(max_chunksize=7),
        "relation": one.table("t"),
        "result": other.execute("select * from t"),
    }


def test_clicked_rows_are_counted_alike(tmp_path):
    clicks = {
        "query": ["couch", "lamp", "desk lamp", "sofa"] * 20,
        "title": ["leather sofa", "desk lamp", "lamp for a desk", "grey sofa"] * 20,
        "clicked": [1, 0, 1, 0] * 20,
        "count": [3, 1, 2, 1] * 20,
    }

    def learnt(table):
        model = clickvec.train(table, **QUICK)
        [log] = [event for event in model.history if event["event"] == "log"]
        return model.fingerprint, log

    expected = learnt(files(clicks, tmp_path)[0])
    assert (expected[1]["pairs"], expected[1]["not_clicked"]) == (40, 40)
    for path in files(clicks, tmp_path)[1:]:
        assert learnt(path) == expected, path
    for name, table in tables(clicks).items():
        assert learnt(table) == expected, name
    held_out = {**QUICK, "held_out": 0.1}
    many = {name: column * 500 for name, column in clicks.items()}
    many["query"] = [f"{query} {number // 4}" for number, query in enumerate(many["query"])]
    [path, *_] = files(many, tmp_path)
    model = clickvec.train(path, **held_out)
    for name in ("generator", "reader"):
        assert clickvec.train(tables(many)[name], **held_out) == model, name


def test_broken_rows_are_left_out_alike(tmp_path):
    clicks = {
        "query": ["couch", "lamp", None, "sofa", "sofa"] * 9,
        "title": ["leather sofa", "desk lamp", "a lamp", "grey sofa", ""] * 9,
        "weight": [3.5, None, 2.0, 1.0, 1.0] * 9,
        "rare": ["no", "0", "f", "maybe", "1"] * 9,
    }

    def row(text):
        """Returns the number of a row, which is in the line after it, and why it is left out."""
        place, why = text.removeprefix("row ").split(": ", 1)
        return int(place), why

    [path, *_] = files(clicks, tmp_path)
    expected = clickvec.train(path, **QUICK)
    assert (expected.history[0]["skipped"], expected.history[0]["without_words"]) == (18, 18)
    for name, table in tables(clicks).items():
        model = clickvec.train(table, **QUICK)
        log = {**model.history[0], "broken": [f"line {n + 1}: {why}" for n, why in map(row, model.history[0]["broken"])]}
        assert (model, log) == (expected, expected.history[0]), name
    with pytest.raises(clickvec.Error) as raised:
        clickvec.train(pandas.DataFrame(clicks)[1:2], **QUICK)
    words = "clicks: expected pairs of a query and a title, found none (1 row was broken, 0 had a side without words; row 1: expected"
    assert str(raised.value).startswith(words)


def test_titles_are_read_alike(model, tmp_path):
    titles = {"id": [7, 8, 9], "title": ["leather sofa", "desk lamp", "lamp\tfor a\ndesk"], "price": [1.5, 2.0, None]}
    expected = [("9", "lamp for a desk"), ("8", "desk lamp")]

    def found(index):
        assert len(index) == 3
        return [(of.id, of.title) for of in index.search("lamp for desks", k=2, min_confidence=0)]

    of_files = {path.suffix: path for path in files(titles, tmp_path) if path.suffix != ".tsv"}
    for name, table in {**of_files, **tables(titles)}.items():
        assert found(clickvec.Index.encode(model, table)) == expected, name
    for name, table in {**of_files, **tables(titles)}.items():
        clickvec.Index.encode(model, table, tmp_path / "index")
        assert found(clickvec.Index.open(tmp_path / "index")) == expected, name
    texts = ["leather sofa", "desk lamp", "lamp for a desk"]
    for column in (texts, iter(texts), pandas.Series(texts), polars.Series(texts), arrow.array(texts), arrow.chunked_array([texts])):
        assert found(clickvec.Index.encode(model, column)) == [("2", "lamp for a desk"), ("1", "desk lamp")]


def test_nothing_is_an_answer_too(model):
    for nothing in ([], {"id": [], "title": []}, pandas.Series([], dtype=object), polars.Series([]), arrow.nulls(0)):
        assert len(clickvec.Index.encode(model, nothing)) == 0
        if not isinstance(nothing, dict):
            assert model.encode(nothing).shape == (0, model.dimension)
    nulls = clickvec.Index.encode(model, arrow.nulls(3))
    assert nulls.search("lamp", min_confidence=0) == []
    with pytest.raises(TypeError, match="text 0: expected a text, found null"):
        model.encode(arrow.nulls(3))


def test_judged_titles_are_read_alike(tmp_path):
    judged = {
        "query": ["couch", "couch", "lamp", "lamp"],
        "title": ["leather sofa", "desk lamp", "desk lamp", "sofa bed"],
        "grade": [4, 0, 3, 1],
    }
    expected = clickvec.evaluate(["bm25", "trigram"], files(judged, tmp_path)[0]).means
    for path in files(judged, tmp_path):
        assert clickvec.evaluate(["bm25", "trigram"], path).means == expected
    for name, table in tables(judged).items():
        assert clickvec.evaluate(["bm25", "trigram"], table).means == expected, name


def test_messages_count_rows(model):
    titles = pandas.DataFrame({"id": ["a", "b", "a"], "title": ["sofa", "lamp", "oak"]})
    with pytest.raises(clickvec.Error) as raised:
        clickvec.Index.encode(model, titles)
    assert str(raised.value) == "titles, row 3: expected a new id, found `a`, which row 1 has already; ids must be unique"
    with pytest.raises(clickvec.Error) as raised:
        clickvec.train(titles=titles.rename(columns={"id": "sku"}), progress=False)
    assert str(raised.value) == "titles: expected a column `id`, found `sku`, `title`"
    judged = {"query": ["a", "b", "a"], "title": ["b", "b", "b"], "grade": [1, 2, 3]}
    with pytest.raises(clickvec.Error) as raised:
        clickvec.evaluate("bm25", judged)
    words = "judged, row 3: expected grade 1 as in row 1 for the same query and title, found 3; keep one"
    assert str(raised.value) == words
    with pytest.warns(UserWarning) as warned:
        clickvec.Index.encode(model, {"id": ["a", None], "title": ["sofa", "lamp"]})
    assert [str(of.message) for of in warned] == ["titles: skipped 1 broken row:\n  titles, row 2: expected an id, found nothing"]
    with pytest.raises(clickvec.Error, match="^clicks, row 1: expected texts or numbers in column `title`, found Arrow's LargeList"):
        clickvec.train(polars.DataFrame({"query": ["a"], "title": [["b", "c"]]}), **QUICK)


def test_a_row_without_a_weight_has_the_usual_one():
    rows = [("couch", "leather sofa", 3.0), ("lamp", "desk lamp", 1.0)] * 20
    expected = clickvec.train(rows, **QUICK)
    assert clickvec.train([row[:2] if row[2] == 1 else row for row in rows], **QUICK) == expected
    assert clickvec.train([row[:2] if row[2] == 1 else row for row in reversed(rows)], **QUICK) == clickvec.train(rows[::-1], **QUICK)
