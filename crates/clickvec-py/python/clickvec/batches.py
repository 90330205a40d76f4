"""Titles to vectors, a batch of Arrow at a time: for Spark, Ray, Daft, and whatever else works on such batches.

>>> import pyarrow
>>> batch = pyarrow.record_batch({"id": ["a", "b"], "title": ["oak vanity", "garden hose"]})
>>> encoded = encode_batch(batch, "testdata/frozen/format-1/lstm.safetensors", precision="int8")
>>> encoded.schema.names, encoded.schema.field("vector").type
(['id', 'title', 'vector'], DataType(binary))
"""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from ._errors import Error
from ._tables import Path
from .model import Model, Precision, Tower

if TYPE_CHECKING:
    import pyarrow


class Batch(Protocol):
    """A record batch or a table of pyarrow."""

    @property
    def schema(self) -> Any: ...
    def append_column(self, field_: Any, column: Any) -> Any: ...
    def __getitem__(self, key: Any) -> Any: ...


def encode_batches(
    batches: Iterable[Batch],
    model: Model | Path,
    column: str = "title",
    *,
    vector: str = "vector",
    tower: Tower = "title",
    precision: Precision = "float32",
) -> Iterator[Any]:
    """:func:`encode_batch` for each of many batches: what Spark's ``mapInArrow`` takes."""
    for batch in batches:
        yield encode_batch(batch, model, column, vector=vector, tower=tower, precision=precision)


def encode_batch(
    batch: Batch,
    model: Model | Path,
    column: str = "title",
    *,
    vector: str = "vector",
    tower: Tower = "title",
    precision: Precision = "float32",
) -> Any:
    """A record batch or table with one more column, the vectors of the texts in ``column``.

    Vectors in ``"float32"`` are lists of floats. Those in ``"float16"`` (``numpy.frombuffer(row, "<f2")``) and ``"int8"``
    (127 times the number, rounded) are bytes, since neither Spark nor Parquet keeps them compactly as lists. No Python
    object is made for a row. The vector of a text is the same in every batch, bit for bit.

    :param model: a model, or the path of one, which each process loads once.
    :param vector: the name of the new column.
    """
    if column not in batch.schema.names:
        raise Error(f"expected a column `{column}`, found `{'`, `'.join(batch.schema.names)}`")
    if vector in batch.schema.names:
        raise Error(f"expected a new name for the vectors, found the column `{vector}`; name another one")
    if not isinstance(model, Model):
        model = _loaded(*_file(model))
    encode = model.encode_query if tower == "query" else model.encode_title
    if tower not in ("query", "title"):
        raise Error(f'tower: expected "query" or "title", found {tower!r}')
    return batch.append_column(vector, _column(np.ascontiguousarray(encode(batch[column], precision=precision))))


def count_sql(min_users: int = 2, max_queries_per_day: int = 200) -> str:
    """The SQL that counts a raw log in Spark or DuckDB; ``clickvec prepare`` reads the table that it gives.

    It reads the views ``log`` (``query``, ``item``, ``position``, ``clicked``, ``who``, ``time``) and ``titles``
    (``id``). docs/how-to/spark.md says what they are.

    >>> print(count_sql(min_users=5).splitlines()[-1])
    group by people.query, people.item, people.position, people.clicked
    """
    for name, value in (("min_users", min_users), ("max_queries_per_day", max_queries_per_day)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise Error(f"{name}: expected a whole number of 1 or more, found {value!r}")
    text = pathlib.Path(__file__).with_name("count.sql").read_text(encoding="utf-8").rstrip()
    least, most = "having count(distinct who) >= 2", "where queries > 200"
    # As in `prepare`, 1 keeps also what nobody known clicked for.
    return text.replace(least, f"{least[:-1]}{min_users if min_users > 1 else 0}").replace(most, f"{most[:-3]}{max_queries_per_day}")


def _file(path: Path) -> tuple[str, int, int]:
    """A file, and by what one that replaces it is told from it."""
    path = os.path.realpath(path)
    found = os.stat(path) if os.path.exists(path) else None
    return path, found.st_mtime_ns if found else 0, found.st_size if found else 0


@functools.lru_cache(maxsize=4)
def _loaded(path: str, _changed: int, _size: int) -> Model:
    return Model.load(path)


def _column(vectors: np.ndarray[Any, Any]) -> pyarrow.Array:
    """Rows as lists of floats or as bytes, without a copy of the numbers."""
    import pyarrow

    rows, numbers = vectors.shape
    width = numbers if vectors.dtype == np.float32 else numbers * vectors.itemsize
    if rows * width > np.iinfo(np.int32).max:
        raise Error(f"expected a batch of at most {np.iinfo(np.int32).max // width:,} rows, found {rows:,}")
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    if vectors.dtype == np.float32:
        return cast(Any, pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(vectors.reshape(-1))))
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(vectors)]
    return cast(Any, pyarrow.Array.from_buffers(pyarrow.binary(), rows, buffers))
