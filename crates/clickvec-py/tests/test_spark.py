"""Spark with executors in processes of their own: the vectors of one machine, also when an executor is killed, and the counts
of the program."""

import datetime as dt
import os
import shutil
import signal
import sys

import numpy as np
import pytest
from test_batches import arrow, counted, examples, numbers

import clickvec
from clickvec.batches import encode_batches

pyspark = pytest.importorskip("pyspark")
count_clicks = pytest.importorskip("clickvec.spark").count_clicks
pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java")


@pytest.fixture(scope="module")
def spark(model):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # No query here runs long enough to gain from what Java's second compiler makes of it.
    quick = "-XX:TieredStopAtLevel=1"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-java-options {quick} pyspark-shell"
    session = (
        # Two executors of one core, each a process with 1,024 MiB.
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.extraJavaOptions", quick)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    # Sent to each executor once.
    session.sparkContext.addFile(model.path)
    yield session
    session.stop()


def kill_the_executor(mark):
    """Kills the executor of this task, unless that was done before."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    parent = os.getpid()
    while True:
        with open(f"/proc/{parent}/stat") as stat:
            name, rest = stat.read().rsplit(")", 1)
        if name.endswith("(java"):
            break
        parent = int(rest.split()[1])
    os.kill(parent, signal.SIGKILL)


@pytest.mark.parametrize(
    ("precision", "killed"), [("float32", False), ("float32", True), ("float16", False), ("int8", False)]
)
def test_vectors_are_those_of_one_machine(spark, model, titles, tmp_path, precision, killed):
    texts = [f"{text} {number}" for number in range(20) for _, text in titles]
    frame = spark.createDataFrame(list(enumerate(texts)), "id long, title string").repartition(6)
    file, mark = os.path.basename(model.path), str(tmp_path / "killed")

    def encode(batches):
        from pyspark import SparkFiles

        # Each executor has one core.
        clickvec.set_threads(1)
        for number, batch in enumerate(encode_batches(batches, SparkFiles.get(file), precision=precision)):
            if killed and number == 1:
                kill_the_executor(mark)
            yield batch

    kind = "array<float>" if precision == "float32" else "binary"
    frame.mapInArrow(encode, f"id long, title string, vector {kind}").write.parquet(str(tmp_path / "vectors"))
    assert os.path.exists(mark) == killed
    found = arrow.parquet.read_table(tmp_path / "vectors").sort_by("id")
    assert found["title"].to_pylist() == texts
    expected = model.encode_title(texts, precision=precision)
    assert np.array_equal(numbers(found["vector"], precision, model.dimension), expected)


def test_the_example_of_the_page(spark, model, titles, tmp_path):
    (tmp_path / "titles").mkdir()
    ids, texts = zip(*titles, strict=True)
    arrow.parquet.write_table(arrow.table({"id": ids, "title": texts}), tmp_path / "titles" / "0.parquet")
    [code] = [code for code in examples() if "mapInArrow" in code]
    # Java stays in the folder where it was started.
    for name, path in {
        'addFile("shop.safetensors")': f'addFile("{model.path}")',
        '"titles"': f'"{tmp_path / "titles"}"',
        '"vectors"': f'"{tmp_path / "vectors"}"',
    }.items():
        assert name in code
        code = code.replace(name, path)
    exec(code, {"spark": spark})
    found = arrow.parquet.read_table(tmp_path / "vectors")
    assert sorted(found["id"].to_pylist()) == sorted(ids)
    expected = model.encode_title(found["title"].to_pylist(), precision="float16")
    assert np.array_equal(numbers(found["vector"], "float16", model.dimension), expected)


def test_a_fault_of_a_batch_is_an_error(spark, model):
    frame = spark.createDataFrame([(1, "red shoes"), (2, None)], "id long, title string").coalesce(1)
    file = os.path.basename(model.path)

    def encode(batches):
        from pyspark import SparkFiles

        yield from encode_batches(batches, SparkFiles.get(file))

    with pytest.raises(Exception, match="text 1: expected a text, found null"):
        frame.mapInArrow(encode, "id long, title string, vector array<float>").collect()


def test_spark_counts_as_the_program_does(spark, program, raw_log):
    log, folder = raw_log
    expected = counted(program, folder, [log], "--min-users", 2, "--keep=personal", "--columns", "user=who")
    read = spark.read.option("sep", "\t").option("header", True).option("quote", "")
    # Spark takes an empty field for null.
    table = folder / "spark"
    counts = count_clicks(read.csv(str(log)), read.csv(str(folder / "titles.tsv")), columns={"user": "who"})
    counts.write.mode("overwrite").parquet(str(table))
    assert not [view.name for view in spark.catalog.listTables() if view.name.startswith("clickvec")]
    parts = sorted(part for part in table.glob("*.parquet") if arrow.parquet.read_metadata(part).num_rows)
    assert len(parts) >= 1
    assert counted(program, folder, parts, "--keep=personal") == expected


def test_days_are_those_of_utc_in_every_zone(spark, tmp_path):
    begun = dt.datetime(2026, 5, 1, 0, 30, tzinfo=dt.timezone.utc)
    # 300 queries of one visitor on one day of UTC, and half of them on another day in Los Angeles.
    rows = [
        (f"q{number}", "p1", 1, True, "robot", begun + dt.timedelta(hours=late, seconds=20 * number))
        for late in (0, 16)
        for number in range(150)
    ]
    rows += [(query, "p1", 1, True, who, begun) for query in ("couch", "q1") for who in ("anna", "bert")]
    rows.append(("q2", "p1", 1, True, "anna", begun))
    names = ["search", "sku", "rank", "clicked", "visitor", "at"]
    table = arrow.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    arrow.parquet.write_table(table.set_column(5, "at", table["at"].cast(arrow.timestamp("us", "UTC"))), tmp_path / "log.parquet")
    columns = {"query": "search", "item": "sku", "position": "rank", "user": "visitor", "time": "at"}
    titles = spark.createDataFrame([("p1", "leather sofa")], "id string, title string")
    for zone in ("UTC", "America/Los_Angeles", "Asia/Kathmandu"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        counts = count_clicks(spark.read.parquet(str(tmp_path / "log.parquet")), titles, columns=columns).collect()
        assert {(row["query"], row["count"]) for row in counts} == {("couch", 2), ("q1", 2)}, zone
    with pytest.raises(clickvec.Error, match="log: expected a column `sku`, found `id`, `title`; name it in columns"):
        count_clicks(titles.withColumnRenamed("title", "query").selectExpr("id", "query as title"), titles, columns={"item": "sku", "query": "title"})
