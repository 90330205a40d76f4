#!/usr/bin/env python3
"""What Spark adds to encoding titles: python3 bench/spark.py --model MODEL --titles TITLES.tsv [--rounds 3]

Needs Java, `pip install pyspark pyarrow`, and the package clickvec. Encodes the same titles in turn with the program
(`clickvec embed`), with `clickvec.batches` in this process, and with Spark's `mapInArrow` on one core, on two, and on a cluster of two
executors. Prints a Markdown table of medians. A title costs the time of so many cores; `processor` is what the processes
were really given, so it says more on a machine that others use too. Of Spark there are four rows: only reading the titles; handing
them to Python and back; encoding them; and also writing the vectors as Parquet. Starting Spark and its first, cold job are told apart.

python3 bench/make_titles.py 1000000 titles.tsv REAL.tsv makes a million titles out of real ones.
"""
import argparse
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import needed

needed.packages("clickvec", "pyarrow", "pyspark")

import pyarrow
import pyarrow.csv
import pyarrow.parquet
from pyspark import SparkFiles
from pyspark.sql import SparkSession

import clickvec
from clickvec.batches import encode_batch, encode_batches
from speed import processor

MASTERS = {"local[1]": 1, "local[2]": 2, "local-cluster[2,1,1024]": 2}
FILES, BATCH = 16, 10_000


def processor_seconds():
    """The time that the processor gave to this process and all below it."""
    parents, seconds = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            pid = int(folder.name)
            parents[pid], seconds[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    of, before = {os.getpid()}, 0
    while len(of) > before:
        before = len(of)
        of |= {pid for pid, parent in parents.items() if parent in of}
    return sum(seconds.get(pid, 0) for pid in of) / os.sysconf("SC_CLK_TCK")


class Rows:
    """Times of what was run, by its name and the number of cores."""

    def __init__(self):
        self.times = {}

    def time(self, name, cores, work):
        before, begun = processor_seconds(), time.perf_counter()
        work()
        wall = time.perf_counter() - begun
        self.times.setdefault((name, cores), []).append((wall, processor_seconds() - before))
        print(f"{name}, {cores}: {wall:.2f} s, processor {self.times[name, cores][-1][1]:.2f} s", file=sys.stderr, flush=True)


def program(args, titles, threads, folder):
    command = [sys.executable, "-m", "clickvec", "embed", args.model, "--side", "title", "--format", "npy"]
    command += ["--threads", str(threads), "--output", folder / "vectors.npy", titles]
    subprocess.run(list(map(str, command)), check=True, stderr=subprocess.DEVNULL)


def wheel(args, table):
    """What a worker of Spark runs, without Spark."""
    model = clickvec.load(args.model)
    for batch in table.to_batches(max_chunksize=BATCH):
        encode_batch(batch, model, precision=args.precision)


def spark(args, master, parquet, folder):
    """Runs in a process of its own, and so with a new Java."""
    rows, cores = Rows(), MASTERS[master]
    file, precision = Path(args.model).name, args.precision

    def same(batches):
        yield from batches

    def encode(batches):
        clickvec.set_threads(1)
        yield from encode_batches(batches, SparkFiles.get(file), precision=precision)

    sessions = []

    def start():
        session = (
            SparkSession.builder.master(master).appName("bench").config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "2g")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH).getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        session.sparkContext.addFile(str(args.model))
        sessions.append(session)

    rows.time(f"{master}: start", cores, start)
    [session] = sessions
    titles = session.read.parquet(str(parquet))
    kind = "array<float>" if precision == "float32" else "binary"
    vectors = titles.mapInArrow(encode, f"id string, title string, vector {kind}")
    nowhere = lambda frame: frame.write.format("noop").mode("overwrite").save()
    rows.time(f"{master}: encode, the first job", cores, lambda: nowhere(vectors))
    jobs = {
        "read": lambda: nowhere(titles),
        "hand over": lambda: nowhere(titles.mapInArrow(same, "id string, title string")),
        "encode": lambda: nowhere(vectors),
        "encode and write": lambda: vectors.write.mode("overwrite").parquet(str(folder / "vectors")),
    }
    jobs["hand over"]()
    for name, job in jobs.items():
        rows.time(f"{master}: {name}", cores, job)
    if args.check:
        same_bytes(args, folder / "vectors", parquet)
    session.stop()
    return rows.times


def same_bytes(args, written, parquet):
    """Compares Spark's vectors with those of one machine."""
    ours = pyarrow.parquet.read_table(written).sort_by("id")
    expected = encode_batch(pyarrow.parquet.read_table(parquet).sort_by("id"), args.model, precision=args.precision)
    if not ours.equals(expected.cast(ours.schema)):
        sys.exit("error: expected the vectors of one machine from Spark, found others")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--titles", type=Path, required=True, help="a TSV table with the columns id and title")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", default="float16", choices=["float32", "float16", "int8"])
    args = parser.parse_args()
    if shutil.which("java") is None:
        sys.exit("error: spark.py needs Java, and there is no `java` on the path; install one")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    rows = Rows()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        form = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
        kinds = {"id": pyarrow.string(), "title": pyarrow.string()}
        kinds = pyarrow.csv.ConvertOptions(column_types=kinds, include_columns=list(kinds))
        table = pyarrow.csv.read_csv(args.titles, parse_options=form, convert_options=kinds)
        parquet = folder / "titles"
        parquet.mkdir()
        each = -(-len(table) // FILES)
        for number in range(FILES):
            pyarrow.parquet.write_table(table.slice(number * each, each), parquet / f"{number:02}.parquet")
        for number in range(args.rounds):
            args.check = number == 0
            for threads in (1, 2):
                rows.time("`clickvec embed`", threads, lambda: program(args, args.titles, threads, folder))
                clickvec.set_threads(threads)
                rows.time("`encode_batch`, without Spark", threads, lambda: wheel(args, table))
            for master in MASTERS:
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    for key, times in pool.apply(spark, (args, master, parquet, folder)).items():
                        rows.times.setdefault(key, []).extend(times)
    words = sum(len(title.split()) for title in table["title"].slice(0, 100_000).to_pylist()) / min(len(table), 100_000)
    numbers = clickvec.load(args.model).dimension
    print(f"{len(table):,} titles of {words:.1f} words, {numbers} numbers as {args.precision}, {processor()}\n")
    print("| | cores | seconds | titles/s for each core | processor, s for a million titles |\n| --- | ---: | ---: | ---: | ---: |")
    for (name, cores), times in rows.times.items():
        wall, work = (statistics.median(column) for column in zip(*times))
        titles = "" if name.endswith("start") else f"{len(table) / wall / cores:,.0f}"
        million = f"{work:.1f}" if name.endswith("start") else f"{work / len(table) * 1e6:.2f}"
        print(f"| {name} | {cores} | {wall:.1f} | {titles} | {million} |")


if __name__ == "__main__":
    main()
