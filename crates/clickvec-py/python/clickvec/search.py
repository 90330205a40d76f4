"""Search: text in, titles out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, cast

from . import _clickvec
from ._errors import Error
from ._tables import Path, is_path, named_columns, numbered
from .model import Model


#: What finds titles: one part of the index, or all that its fusion weighs.
Mode = Literal["vectors", "words", "trigrams", "teacher", "fused"]


class Found(NamedTuple):
    """A title that was found."""

    rank: int
    id: str
    title: str
    score: float


class Results(list[Found]):
    """What was found, best first."""

    #: Why nothing was looked for: the query has no words, or the model knows none of them; ``None`` otherwise.
    reason: Literal["no words", "unknown words"] | None

    def __init__(self, found: Iterable[Found], reason: str | None = None) -> None:
        super().__init__(found)
        self.reason = cast(Any, reason)

    def _repr_html_(self) -> str:
        import html

        rows = "".join(
            f"<tr><td>{found.rank}</td><td>{found.score:.3f}</td><td>{html.escape(found.id)}</td>"
            f"<td style='text-align:left'>{html.escape(found.title)}</td></tr>"
            for found in self
        )
        head = "<tr><th>rank</th><th>score</th><th>id</th><th style='text-align:left'>title</th></tr>"
        return f"<table>{head}{rows}</table>" if self else f"<i>nothing: {self.reason or 'no titles'}</i>"


class Searcher:
    """Finds titles for queries, as ``clickvec search`` does.

    By default, the titles that vectors and words find are fused into one list. ``mode="vectors"`` finds by the model's vectors
    alone, with cosines as scores; ``mode="words"`` by BM25.

    ``Searcher(folder)`` opens an index that :func:`build_index` or ``clickvec index`` wrote. ``Searcher(model, titles)``
    encodes titles in memory: strings (their ids are their places), (id, title) pairs, a table with the columns ``id`` and
    ``title``, or a file of these.

    >>> searcher = Searcher(Model.load("testdata/frozen/format-1/lstm.safetensors"), ["oak vanity", "garden hose"])
    >>> [found.id for found in searcher.search("hose for a garden", k=1)]
    ['1']
    """

    def __init__(self, source: Model | Path, titles: object = None) -> None:
        self._index: str | None = None
        if isinstance(source, Model):
            if titles is None:
                raise TypeError("expected titles for the model to search, found none")
            self._native = _clickvec.Searcher.encode(source._native, list(_titles(titles)))
        elif titles is None:
            self._index = os.path.abspath(source)
            self._native = _clickvec.Searcher.open(os.fspath(source))
        else:
            raise TypeError(f"expected a model for these titles, found {type(source).__name__}; load it first")

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        mode: Mode = "fused",
        min_confidence: float | None = None,
        as_typed: bool = False,
    ) -> Results:
        """Returns the best ``k`` titles for a query.

        :param min_confidence: with ``mode="fused"``, leave out titles that are less likely than this to be a good match, from 0 to 1
            [default: 0.02].
        :param as_typed: with ``mode="fused"``, do not correct words that no title has.
        """
        if not isinstance(query, str):
            raise TypeError(f"expected a text, found {type(query).__name__}; search_batch takes many")
        return self.search_batch([query], k, mode=mode, min_confidence=min_confidence, as_typed=as_typed)[0]

    def search_batch(
        self,
        queries: object,
        k: int = 10,
        *,
        mode: Mode = "fused",
        min_confidence: float | None = None,
        as_typed: bool = False,
    ) -> list[Results]:
        """:meth:`search` for many queries, faster for each."""
        if isinstance(queries, str):
            raise TypeError("expected queries, found one text; search takes it")
        if k < 0:
            raise Error(f"expected a k of 0 or more, found {k}")
        if min_confidence is not None and not 0 <= min_confidence <= 1:
            raise Error(f"expected a min_confidence from 0 to 1, found {min_confidence}")
        answers = self._native.search(queries, k, mode, min_confidence, as_typed)
        return [Results(map(Found._make, found), reason) for found, reason in answers]

    @property
    def left_out(self) -> int:
        """The number of titles that were left out because the model knows none of their words."""
        return self._native.left_out

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"Searcher({len(self):,} titles, model {self._native.fingerprint})"

    def __reduce__(self) -> tuple[type[Searcher], tuple[str]]:
        if self._index is None:
            raise Error("expected a searcher of an index to pickle, found one in memory; write it with build_index")
        return (Searcher, (self._index,))


def build_index(model: Model | Path, titles: object, output: Path) -> dict[str, Any]:
    """Writes an index of titles to a folder, for :class:`Searcher` and ``clickvec search``; returns its figures.

    :param model: a model, or the path of one.
    """
    if not isinstance(model, Model):
        if not is_path(model):
            raise TypeError(f"expected a model or its path, found {type(model).__name__}")
        model = Model.load(model)
    return _clickvec.build_index(model._native, _titles(titles), os.fspath(output))


def _titles(titles: object) -> Iterator[tuple[str, str]]:
    """Each title with its id."""
    if is_path(titles):
        # A file is read by the library, so that every form works.
        yield from _clickvec.read_titles(os.fspath(titles), "title")
        return
    columns = named_columns(titles)
    if columns is not None:
        for name in ("id", "title"):
            if name not in columns:
                raise Error(f"titles: expected a column `{name}`, found `{'`, `'.join(columns)}`")
        rows: Iterable[Any] = zip(columns["id"], columns["title"], strict=True)
    else:
        if not isinstance(titles, Iterable):
            raise TypeError(f"titles: expected a path, a table or titles, found {type(titles).__name__}")
        rows = cast(Iterable[Any], numbered(titles))
    seen: set[str] = set()
    for number, row in enumerate(rows):
        if not (isinstance(row, tuple | list) and len(row) == 2 and isinstance(row[1], str)):
            raise TypeError(f"titles: row {number}: expected a text or (id, text), found {row!r:.80}")
        if row[0] is None or row[0] != row[0] or isinstance(row[0], float | bytes):
            raise TypeError(f"titles: row {number}: expected an id, found {row[0]!r:.80}")
        id = str(row[0])
        if id in seen:
            raise Error(f"titles: row {number}: expected a new id, found `{id}` again; ids must be unique")
        seen.add(id)
        yield id, row[1].replace("\t", " ").replace("\n", " ").replace("\r", " ")
