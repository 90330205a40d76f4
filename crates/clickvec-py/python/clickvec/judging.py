"""Which of two systems finds better titles? A person grades what both find."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _clickvec, _progress
from ._tables import Path, judged_table, opened
from .index import Index, on_disk

if TYPE_CHECKING:
    from ._types import Table


class Graded(NamedTuple):
    """A title that a system finds for a query, with its grade from 0 to 4 if it has one."""

    query: str
    id: str
    title: str
    grade: int | None


@dataclass(frozen=True)
class Verdict:
    """What the grades show."""

    #: The names of both systems, each with its mean NDCG@10.
    systems: dict[str, float]
    #: The mean difference in NDCG@10, the index minus the other.
    difference: float
    #: Its 95 % interval, which holds however often one looks.
    interval: tuple[float, float]
    #: The number of queries whose titles all have a grade.
    queries: int
    #: The number of searches drawn that have one of these queries.
    searches: int
    finding: Literal["better", "worse", "alike", "open"]
    #: How far each of the other judges agrees with the sheet.
    agreements: list[dict[str, Any]]
    #: All titles to grade, with their grades.
    rows: list[Graded]
    #: The file with the grades.
    sheet: str
    _text: str

    def __str__(self) -> str:
        return self._text.rstrip()

    __repr__ = __str__


def judge(
    index: Index | Path,
    against: Index | Path,
    queries: Table,
    *,
    sheet: Path | None = None,
    judged: Sequence[Table] = (),
    write: Mapping[Literal["opensearch", "quepid", "quepid-book"], Path] | None = None,
    page: bool = True,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> Verdict:
    """Lets a person grade what two systems find, as ``clickvec judge`` does, and returns what the grades show.

    It serves a page on this machine, whose address it prints, until there are enough grades or Ctrl-C is pressed. The same call
    goes on where it was stopped.

    :param index: the index, on disk.
    :param against: the other system: an index, the path of a model, ranker or run, or a description such as ``"bm25"``.
    :param queries: where searches are drawn from: a table with the column ``query`` and perhaps ``count``, or a file of lines.
    :param sheet: the file for the grades [default: beside the index].
    :param judged: titles that others judged, which count where the sheet has no grade.
    :param write: files to write the grades to, by the form of another program.
    :param page: whether to serve the page. Without it, the call returns at once; ``rows`` are what is to be graded.
    :param progress: a function that is called with every event, a dict, the address of the page among them; ``True`` or ``False``
        to show a line or nothing.
    """
    with ExitStack() as files, _progress.Watch(progress) as watch:

        def tell(event: dict[str, Any]) -> None:
            if event["event"] == "page" and not callable(progress):
                print(f"open {event['address']} in a browser to grade; Ctrl-C ends", flush=True)
            else:
                watch(event)

        found = _clickvec.judge(
            on_disk(index),
            on_disk(against),
            files.enter_context(opened(queries, "queries", ["query"], ["count", "query_id"])),
            None if sheet is None else os.fspath(sheet),
            [files.enter_context(judged_table(table, "judged", "title")) for table in judged],
            [(form, os.fspath(path)) for form, path in (write or {}).items()],
            page,
            tell,
        )
    return Verdict(
        systems={system["name"]: system["ndcg@10"] for system in found["systems"]},
        difference=found["difference"],
        interval=(found["interval"][0], found["interval"][1]),
        queries=found["queries"],
        searches=found["searches"],
        finding=found["finding"],
        agreements=found.get("agreements", []),
        rows=[Graded(*row) for row in found["rows"]],
        sheet=found["sheet"],
        _text=found["text"],
    )
