"""What arguments are, and what the native module takes as dicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict


class ArrowStream(Protocol):
    """Tables and columns of pandas, polars, pyarrow, DuckDB and the like."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ArrowArray(Protocol):
    """Arrays and batches of pyarrow and the like."""

    def __arrow_c_array__(self, requested_schema: object = None) -> Any: ...


class LazyFrame(Protocol):
    """A query of polars that was not run yet."""

    def collect_schema(self) -> Any: ...


class QueryResult(Protocol):
    """A query that a database has run."""

    def fetchall(self) -> Any: ...


class DataFrame(Protocol):
    """A table of pandas."""

    @property
    def columns(self) -> Any: ...


Texts = str | Iterable[str] | ArrowStream | ArrowArray
Row = Sequence[object] | Mapping[str, object]
#: A path, a table, or rows.
Table = (
    str
    | os.PathLike[str]
    | ArrowStream
    | ArrowArray
    | LazyFrame
    | QueryResult
    | DataFrame
    | Mapping[str, Iterable[object]]
    | Iterable[Row]
)
#: Also single texts.
Titles = Table | Iterable[str]


class Files(TypedDict):
    """The files that rankers learn from."""

    titles: str | None
    clicks: str | None
    field: str
    weighting: str
    load: str | None
    vectors: list[str]


class SearchHow(TypedDict):
    """How an index is searched."""

    k: int
    mode: str
    filters: list[str]
    boosts: list[str]
    min_confidence: float | None
    as_typed: bool
    offset: int
    exact: bool


class How(TypedDict):
    """How systems are judged."""

    judged: list[str]
    topics: str | None
    full: int | None
    measures: list[str]
    output: str | None
    ties: str
    gain: str
    relevant_from: int
