"""Files: what they are, and indexes in the forms of other systems."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _clickvec, _progress
from ._errors import Error
from ._tables import Path, judged_table
from .index import Index, on_disk
from .model import Model

if TYPE_CHECKING:
    from ._types import Table

Form = Literal["pgvector", "qdrant", "opensearch", "elasticsearch", "svmrank", "parquet", "onnx"]


@dataclass(frozen=True)
class Inspected:
    """What a file is."""

    path: str
    #: Such as ``"clicks"``, ``"titles"``, ``"index"`` or ``"unknown"``.
    kind: str
    #: Whether it was recognised and nothing is wrong with it.
    is_well: bool
    #: What is in it, as in the JSON of ``clickvec inspect``: ``columns``, ``rows``, ``first_faults`` and more.
    facts: dict[str, Any]
    #: The command that comes next, if there is one.
    next: str | None
    _text: str

    def __str__(self) -> str:
        return self._text.rstrip()

    __repr__ = __str__


def inspect(*files: Path, progress: bool | Callable[[dict[str, Any]], object] | None = None) -> list[Inspected]:
    """Finds out what files are, what is in them and what is wrong with them, as ``clickvec inspect`` does.

    :param files: tables, logs, models, rankers and the folders of indexes, of which every byte is read.
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.

    >>> found = inspect("testdata/shop/titles.tsv")[0]
    >>> found.kind, found.is_well, found.facts["rows"]
    ('titles', True, 168)
    """
    with _progress.Watch(progress) as watch:
        found = _clickvec.inspect([os.fspath(file) for file in files], watch)
    one = []
    for facts, is_well, text in found:
        path, kind, following = facts.pop("file"), facts.pop("kind"), facts.pop("next")
        one.append(Inspected(path, kind, is_well, facts, following, text))
    return one


def export(
    source: Index | Model | Path,
    output: Path,
    to: Form | None = None,
    *,
    template: Path | None = None,
    name: str = "titles",
    judged: Table | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Writes an index in the form that another system loads, as ``clickvec export`` does; returns the figures.

    :param source: the index, on disk; with ``to="onnx"`` also a model on disk, whose encoders are written.
    :param output: the folder to write, or the file of ``"parquet"``.
    :param to: the form.
    :param template: a form of your own, instead.
    :param name: the name of the table or collection in the other system.
    :param judged: the judged titles to write features of, with ``to="svmrank"``.
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.
    """
    if (to is None) == (template is None):
        raise Error(f"expected a form or a template, found {'neither' if to is None else 'both'}")
    if isinstance(source, Model):
        if source.path is None:
            raise Error("expected a model on disk to export, found one in memory; save it first")
        source = source.path
    with ExitStack() as files, _progress.Watch(progress) as watch:
        table = None if judged is None else files.enter_context(judged_table(judged, "judged", "title"))
        own = None if template is None else os.fspath(template)
        return _clickvec.export(on_disk(source), os.fspath(output), to, own, name, table, watch)
