"""Writes the two rows that crates/clickvec-tables/tests/parquet.rs expects: python3 bench/make_parquet.py FILE (pyarrow)."""

import sys

import needed

needed.packages("pyarrow")

import pyarrow
import pyarrow.parquet

table = pyarrow.table({
    "query": ["red shoes", "sofa"],
    "title": ["Shoes, red", None],
    "time": pyarrow.array([1_715_934_600_000, 0], pyarrow.timestamp("ms", "UTC")),
    "count": pyarrow.array([3, 1], pyarrow.int64()),
    "other": [7, 7],
})
pyarrow.parquet.write_table(table, sys.argv[1], compression="zstd")
