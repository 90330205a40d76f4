"""Tables in memory as files that the library reads, so that they mean the same as on disk."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from ._errors import Error, called

if TYPE_CHECKING:
    from ._types import Files

Path = str | os.PathLike[str]
Weighting = Literal["log", "linear", "none", "binary"]
# The columns that have numbers.
_NUMBERS = {"grade", "weight", "count", "clicked", "rare"}


def is_path(value: object) -> TypeGuard[Path]:
    """Whether it names a file."""
    return isinstance(value, (str, os.PathLike))


@contextmanager
def as_file(table: object, name: str, columns: Sequence[str], optional: Sequence[str] = ()) -> Iterator[str]:
    """The path of a table: itself if it is one, otherwise that of a file with its rows, which then goes away.

    A table in memory is anything with columns (a DataFrame, an Arrow table, a mapping of names to columns), or rows:
    tuples in the order of ``columns`` and then ``optional``, or mappings. A column ``title+brand`` is two, unless it is there.
    """
    if is_path(table):
        yield os.fspath(table)
        return
    with tempfile.TemporaryDirectory(prefix="clickvec-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for row in _lines(table, name, columns, optional):
                file.write("\t".join(row))
                file.write("\n")
        with called(path, name):
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
    """What rankers learn from, as files that are there until ``stack`` closes."""

    def file(table: object, name: str, columns: list[str], optional: tuple[str, ...] = ()) -> str | None:
        return None if table is None else stack.enter_context(as_file(table, name, columns, optional))

    return {
        "titles": file(None if titles is None else numbered(titles), "titles", ["id", field]),
        "clicks": file(clicks, "clicks", ["query", field], ("weight", "count", "clicked", "rare")),
        "field": field,
        "weighting": weighting,
        "load": None if load is None else os.fspath(load),
        "vectors": paths(vectors),
    }


def numbered(titles: object) -> object:
    """Titles with ids: those of a list of strings are their places."""
    titles = _whole(titles)
    if is_path(titles) or named_columns(titles) is not None or not isinstance(titles, Iterable):
        return titles
    return ((str(number), title) if isinstance(title, str) else title for number, title in enumerate(titles))


def texts_of(columns: Iterable[str], known: Iterable[object] = ()) -> list[str]:
    """Columns, with those of ``title+brand`` one by one unless it is the name of one."""
    given = set(known)
    return [part.strip() for of in columns for part in ([of] if of in given else of.split("+"))]


def _lines(table: object, name: str, columns: Sequence[str], optional: Sequence[str]) -> Iterator[list[str]]:
    named = named_columns(table)
    if named is not None:
        columns = texts_of(columns, named)
        missing = [column for column in columns if column not in named]
        if missing:
            raise Error(f"{name}: expected a column `{missing[0]}`, found `{'`, `'.join(map(str, named))}`")
        header = [column for column in [*columns, *optional] if column in named]
        yield header
        for number, row in enumerate(zip(*(named[column] for column in header), strict=True)):
            yield _cells(row, header, name, number)
        return
    if not isinstance(table, Iterable):
        raise TypeError(f"{name}: expected a path, a table or rows, found {type(table).__name__}")
    header = []
    for number, row in enumerate(table):
        if not header:
            columns = texts_of(columns, row if isinstance(row, Mapping) else ())
            every = [*columns, *optional]
        if isinstance(row, str) and len(columns) == 1:
            row = (row,)
        if isinstance(row, Mapping):
            if not header:
                header = [column for column in every if column in row]
                yield header
            missing = [column for column in columns if column not in row]
            if missing:
                raise Error(f"{name}: row {number}: expected `{missing[0]}`, found `{'`, `'.join(map(str, row))}`")
            yield _cells([row.get(column, "") for column in header], header, name, number)
            continue
        if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            wanted = ", ".join(columns)
            raise TypeError(f"{name}: row {number}: expected ({wanted}), found {type(row).__name__}")
        cells = list(row)
        if not header:
            if not len(columns) <= len(cells) <= len(every):
                raise Error(f"{name}: row {number}: expected ({', '.join(columns)}), found {len(cells)} items")
            header = every[: len(cells)]
            yield header
        if len(cells) != len(header):
            raise Error(f"{name}: row {number}: expected {len(header)} items as in the first row, found {len(cells)}")
        yield _cells(cells, header, name, number)
    if not header:
        yield texts_of(columns)


def _cells(row: Iterable[object], header: Sequence[str], name: str, number: int) -> list[str]:
    return [_cell(cell, column, name, number) for cell, column in zip(row, header, strict=True)]


def _cell(cell: object, column: str, name: str, number: int) -> str:
    if isinstance(cell, str):
        # No word crosses a tab or a line end, so a space means the same to everything that reads the text.
        return cell.replace("\t", " ").replace("\n", " ").replace("\r", " ")
    if cell is None or isinstance(cell, bool | bytes):
        raise TypeError(f"{name}: row {number}: expected a text or a number, found {type(cell).__name__}")
    item = getattr(cell, "item", None)
    value = item() if callable(item) else cell
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise TypeError(f"{name}: row {number}: expected a text or a number, found {type(cell).__name__}")
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            # In a table, NaN stands for a missing text.
            kind: type[Exception] = Error if column in _NUMBERS else TypeError
            raise kind(f"{name}: row {number}: expected a text or a number, found {value}")
        return str(int(value)) if value == int(value) else str(value)
    return str(value)


def named_columns(table: object) -> dict[str, Any] | None:
    """The columns of a table by name, each something to iterate over; ``None`` if it has rows."""
    if isinstance(table, Mapping):
        return {str(name): table[name] for name in table}
    table = _whole(table)
    names: Any = getattr(table, "column_names", None)  # Arrow
    if names is None:
        names = getattr(table, "columns", None)  # pandas, polars
    if names is None or callable(names) or isinstance(table, type):
        return None
    columns: dict[str, Any] = {}
    for name in names:
        if str(name) in columns:
            raise Error(f"expected each column once, found `{name}` again")
        column: Any = table[name]  # type: ignore[index]
        to_list = getattr(column, "to_pylist", None)
        columns[str(name)] = to_list() if callable(to_list) else column
    return columns


def _whole(table: Any) -> object:
    """A query's result as a table: that of DuckDB and Arrow's readers have no columns to iterate over."""
    whole = getattr(table, "read_all", None) or getattr(table, "to_arrow_table", None)
    return whole() if callable(whole) and hasattr(table, "__arrow_c_stream__") else table


class Stream:
    """A stream of Arrow that was asked for: some can be had only once."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def arrow_stream(table: object) -> Stream | None:
    """The Arrow of a table or a column; ``None`` if it cannot be had, as of pandas without pyarrow."""
    if isinstance(table, str) or not hasattr(table, "__arrow_c_stream__"):
        return None
    try:
        return Stream(table.__arrow_c_stream__())
    except (ImportError, TypeError, ValueError):
        return None


def paths(given: Path | Sequence[Path] | None) -> list[str]:
    """One path or several."""
    if given is None:
        return []
    if isinstance(given, str | os.PathLike):
        return [os.fspath(given)]
    return [os.fspath(path) for path in given]
