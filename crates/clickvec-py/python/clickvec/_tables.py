"""Tables: paths, which the library reads, and whatever has rows, which it reads alike."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal, TypeGuard

from . import _clickvec

if TYPE_CHECKING:
    from ._types import Files

Path = str | os.PathLike[str]
Weighting = Literal["log", "linear", "none", "binary"]


def is_path(value: object) -> TypeGuard[Path]:
    """Whether it names a file."""
    return isinstance(value, (str, os.PathLike))


@contextmanager
def opened(table: object, name: str, columns: Sequence[str], optional: Sequence[str] = (), numbered: bool = False) -> Iterator[str]:
    """The path by which the library reads a table: itself if it is one.

    A table in memory is anything with columns (a DataFrame, an Arrow table, a mapping of names to columns), or rows: mappings, or
    tuples in the order of ``columns`` and then ``optional``. Where ``numbered``, a row may be one text, whose id is its place.
    """
    if is_path(table):
        yield os.fspath(table)
    else:
        native = _clickvec.Table(table, name, columns, optional, numbered)
        yield native.path
        del native


@contextmanager
def titles_table(titles: object, field: str = "title") -> Iterator[str]:
    """The path by which the library reads titles."""
    with opened(titles, "titles", ["id", *parts(field)], numbered=True) as path:
        yield path


@contextmanager
def judged_table(judged: object, name: str, field: str) -> Iterator[str]:
    """The path by which the library reads judged titles."""
    with opened(judged, name, ["query", *parts(field), "grade"], ["query_id", "title_id"]) as path:
        yield path


def learnt_files(
    stack: ExitStack,
    titles: object,
    clicks: object,
    field: str,
    weighting: str,
    load: Path | None,
    vectors: Path | Sequence[Path] | None,
) -> Files:
    """What rankers learn from, which the library can read until ``stack`` closes."""
    of_clicks = ["query", *parts(field)]
    return {
        "titles": None if titles is None else stack.enter_context(titles_table(titles, field)),
        "clicks": None if clicks is None else stack.enter_context(opened(clicks, "clicks", of_clicks, ["weight"])),
        "field": field,
        "weighting": weighting,
        "load": None if load is None else os.fspath(load),
        "vectors": paths(vectors),
    }


def parts(field: str) -> list[str]:
    """The columns of ``title+brand``."""
    return [part.strip() for part in field.split("+")]


def paths(names: Path | Sequence[Path] | None) -> list[str]:
    """One path or several."""
    if names is None:
        return []
    if isinstance(names, str | os.PathLike):
        return [os.fspath(names)]
    return [os.fspath(path) for path in names]
