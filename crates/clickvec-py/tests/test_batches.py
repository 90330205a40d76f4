"""Batches of Arrow with vectors, and the SQL that counts a raw log: in DuckDB, and as the program counts."""

import ast
import pickle
import re
import threading

import numpy as np
import pytest
from conftest import SHOP

import clickvec
from clickvec.batches import count_sql, encode_batch, encode_batches

PAGE = SHOP.parents[1] / "docs" / "how-to" / "spark.md"

arrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


def numbers(column, precision, dimension):
    """The matrix of a column of vectors."""
    if precision == "float32":
        return np.array(column.to_pylist(), np.float32).reshape(-1, dimension)
    kind = {"float16": "<f2", "int8": "i1"}[precision]
    return np.array([np.frombuffer(row, kind) for row in column.to_pylist()]).reshape(-1, dimension)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_batches_have_the_vectors_of_the_model(model, titles, precision):
    ids, texts = zip(*titles, strict=True)
    expected = model.encode_title(list(texts), precision=precision)
    table = arrow.table({"id": ids, "title": texts})
    batches = list(encode_batches(table.to_batches(max_chunksize=37), model.path, precision=precision))
    assert len(batches) > 1 and all(isinstance(batch, arrow.RecordBatch) for batch in batches)
    found = arrow.Table.from_batches(batches)
    assert found.schema.names == ["id", "title", "vector"] and found["id"].to_pylist() == list(ids)
    assert np.array_equal(numbers(found["vector"], precision, model.dimension), expected)
    for batch in batches:
        batch.validate(full=True)
    # A whole table, as Ray gives; one model for all threads; the other tower's name and another column.
    again = encode_batch(table.rename_columns(["id", "query"]), model, "query", tower="query", vector="v", precision=precision)
    expected = model.encode_query(list(texts), precision=precision)
    assert np.array_equal(numbers(again["v"], precision, model.dimension), expected)
    empty = encode_batch(table.slice(0, 0), model, precision=precision)
    assert empty.num_rows == 0 and empty.schema.equals(found.schema)


def test_what_batches_cannot_have(model):
    batch = arrow.record_batch({"title": ["a", None], "vector": [1, 2], "n": [1, 2]})
    with pytest.raises(clickvec.Error, match="expected a column `text`, found `title`, `vector`, `n`"):
        encode_batch(batch, model, "text")
    with pytest.raises(clickvec.Error, match="expected a new name for the vectors, found the column `vector`"):
        encode_batch(batch, model)
    with pytest.raises(TypeError, match="text 1: expected a text, found null"):
        encode_batch(batch, model, vector="v")
    with pytest.raises(TypeError, match="expected texts, found an Arrow array of Int64"):
        encode_batch(batch, model, "n", vector="v")
    with pytest.raises(FileNotFoundError):
        encode_batch(batch, "none.safetensors", vector="v")
    with pytest.raises(clickvec.Error, match="precision: expected one of"):
        encode_batch(batch, model, "title", vector="v", precision="float8")


def test_a_model_is_loaded_once_and_again_if_its_file_changes(model, tmp_path):
    from clickvec import batches

    path = tmp_path / "m.safetensors"
    path.write_bytes(model.to_bytes())
    batch = arrow.record_batch({"title": ["red shoes"]})
    before = batches._loaded.cache_info().misses
    threads = [threading.Thread(target=encode_batch, args=(batch, path)) for _ in range(4)]
    encode_batch(batch, path)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert batches._loaded.cache_info().misses == before + 1
    other = clickvec.train([("a", "b")] * 9, path, epochs=1, encoder={"cells": 4}, progress=False)
    assert len(encode_batch(batch, path)["vector"][0]) == other.dimension == 4
    # What Spark and Ray send to their workers.
    assert pickle.loads(pickle.dumps(encode_batch)) is encode_batch


def counted(program, folder, tables, *more):
    """The clicks that `prepare` writes."""
    output = folder / "clicks.tsv"
    program("prepare", *tables, "--columns", "item=item", "--titles", folder / "titles.tsv", "--output", output, *more)
    return output.read_bytes()


# As the SQL has no rule for personal data, `prepare` keeps them too in the comparison.
@pytest.mark.parametrize("users", [1, 2, 5])
def test_duckdb_counts_as_the_program_does(program, raw_log, users):
    duckdb = pytest.importorskip("duckdb")
    log, folder = raw_log
    expected = counted(program, folder, [log], "--min-users", users, "--keep=personal", "--columns", "user=who")
    database = duckdb.connect()
    columns = {"log": "query, item, position, clicked::int as clicked, who, time", "titles": "id"}
    for name, path in (("log", log), ("titles", folder / "titles.tsv")):
        file = f"read_csv('{path}', delim='\t', quote='', header=true, all_varchar=true)"
        database.execute(f"create view {name} as select {columns[name]} from {file}")
    table = folder / "counts.parquet"
    database.execute(f"copy ({count_sql(min_users=users)}) to '{table}' (format parquet)")
    assert counted(program, folder, [table], "--keep=personal") == expected
    assert expected.count(b"\n") > 100
    # The table has positions and what was shown, so clicks get the weights of a raw log with the queries of the table alone.
    # The whole log also has queries of too few users, which say something about positions too.
    clicked = {line.split("\t")[0] for line in expected.decode().splitlines()[1:]}
    header, *rows = log.read_text(encoding="utf-8").splitlines()
    of_them = folder / "of_them.tsv"
    rows = [row for row in rows if " ".join(row.split("\t")[0].lower().split()) in clicked]
    of_them.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    positions = ["--keep=personal", "--correct-position-bias"]
    weighted = counted(program, folder, [of_them], "--min-users", users, "--columns", "user=who", *positions)
    assert weighted.startswith(b"query\ttitle\tcount\tweight\n") and weighted.count(b"\n") == expected.count(b"\n")
    assert counted(program, folder, [table], *positions) == weighted


def test_duckdb_knows_every_name_of_nobody(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    names = []
    for file, constant in (("clickvec-logs/src/user.rs", "UNKNOWN"), ("clickvec-tables/src/text.rs", "NULLS")):
        source = (SHOP.parents[1] / "crates" / file).read_text(encoding="utf-8")
        names += ast.literal_eval(re.search(rf"const {constant}: \[&str; \d+\] = (\[.*?\]);", source, re.DOTALL)[1])
    assert len(names) > 40
    users = {f"nobody {number}": [name.upper(), "ann"] for number, name in enumerate([*names, "0.0", "[]", "{0-0}", "-7", "'guest'"])}
    users |= {"fraction": ["17", " 17.0"], "zeros": ["017", "17"], "quoted": ["\"ann\"", "ann"], "people": ["ann", "bob"], "no fraction": ["17.5", "17"]}
    database = duckdb.connect()
    database.execute("create table titles as select 'i' as id")
    database.execute("create table log (query text, item text, position int, clicked int, who text, time text)")
    for query, of_query in users.items():
        for who in of_query:
            database.execute("insert into log values (?, 'i', 1, 1, ?, '2026-01-01')", [query, who])
    counted = {row[0] for row in database.execute(count_sql()).fetchall()}
    assert counted == {"people", "no fraction"}


def test_counts_that_are_not_numbers():
    assert "having count(distinct who) >= 7\n" in count_sql(min_users=7)
    assert "where queries > 30\n" in count_sql(max_queries_per_day=30)
    for value in (0, -1, 1.5, True, "2; drop table log"):
        with pytest.raises(clickvec.Error, match="expected a whole number of 1 or more"):
            count_sql(min_users=value)


def examples():
    """The examples of the page."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("framework", ["ray", "daft"])
def test_the_examples_of_the_page(framework, model, titles, tmp_path):
    pytest.importorskip(framework)
    ids, texts = zip(*(20 * titles), strict=True)
    (tmp_path / "titles").mkdir()
    for part in range(3):
        table = arrow.table({"id": ids[part::3], "title": texts[part::3]})
        arrow.parquet.write_table(table, tmp_path / "titles" / f"{part}.parquet")
    [code] = [code for code in examples() if f"import {framework}\n" in code]
    code = code.replace("/shared/shop.safetensors", str(model.path)).replace("/shared", str(tmp_path))
    if framework == "ray":
        import ray

        with ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False):
            exec(code, {})
    else:
        exec(code, {})
    found = arrow.parquet.read_table(tmp_path / "vectors")
    assert sorted(zip(found["id"].to_pylist(), found["title"].to_pylist(), strict=True)) == sorted(zip(ids, texts, strict=True))
    expected = model.encode_title(found["title"].to_pylist(), precision="float16")
    assert np.array_equal(numbers(found["vector"], "float16", model.dimension), expected)
