"""Indexes: text in, titles out."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from . import _clickvec, _progress
from ._errors import Error
from ._settings import as_json, texts
from ._tables import Path, is_path, judged_table, paths, titles_table
from .model import Model

if TYPE_CHECKING:
    from ._types import SearchHow, Table, Texts, Titles

#: What finds titles: one part of the index, or all that its fusion weighs.
Mode = Literal["vectors", "words", "trigrams", "teacher", "fused"]
#: Conditions on stored columns: ``"brand:acme"``, ``"price:10..20"``, several of these, or ``{"brand": ["acme", "zed"],
#: "price": (10, None)}``, where a pair is a range of numbers.
Filter = str | Sequence[str] | Mapping[str, str | list[str] | tuple[float | None, float | None]]
Progress = bool | Callable[[dict[str, Any]], object] | None


class Result(NamedTuple):
    """A title that was found."""

    rank: int
    id: str
    title: str
    score: float
    #: How likely it is a good match, from 0 to 1, in a fused search.
    confidence: float | None
    #: The stored columns.
    fields: dict[str, str]


class Results(list[Result]):
    """What was found, best first."""

    #: Why nothing was looked for: the query has no words, or the model knows none of them; ``None`` otherwise.
    reason: Literal["no words", "unknown words"] | None
    #: What was searched for, if words were corrected.
    corrected: str | None
    #: Whether no title is likely to be a good match.
    weak: bool

    def __init__(
        self, found: Iterable[Result], reason: str | None = None, corrected: str | None = None, weak: bool = False
    ) -> None:
        super().__init__(found)
        self.reason = cast(Any, reason)
        self.corrected = corrected
        self.weak = weak

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{found.rank}</td><td>{found.score:.3f}</td><td>{html.escape(found.id)}</td>"
            f"<td style='text-align:left'>{html.escape(found.title)}</td></tr>"
            for found in self
        )
        head = "<tr><th>rank</th><th>score</th><th>id</th><th style='text-align:left'>title</th></tr>"
        return f"<table>{head}{rows}</table>" if self else f"<i>nothing: {self.reason or 'no titles'}</i>"


@dataclass(frozen=True, eq=False)
class BatchResults:
    """What was found for many queries: arrays with a row for each query, best first."""

    #: Ids, [queries, k]; ``None`` after the last title that was found.
    ids: NDArray[np.object_]
    #: Titles, [queries, k].
    titles: NDArray[np.object_]
    #: Scores, [queries, k]; NaN after the last title that was found.
    scores: NDArray[np.float32]
    #: Why nothing was looked for, as :attr:`Results.reason`, for each query.
    reasons: list[Literal["no words", "unknown words"] | None]

    def __len__(self) -> int:
        return len(self.ids)


class Index:
    """Titles with their vectors and words, which it finds for queries as ``clickvec search`` does.

    By default, the titles that vectors and words find are fused into one list. ``mode="vectors"`` finds by the model's vectors
    alone, with cosines as scores; ``mode="words"`` by BM25.

    :meth:`open` opens an index on disk, :meth:`encode` makes one of a model and titles, and :meth:`build` makes one of a log
    and titles, with a model of their own.

    >>> index = Index.encode(Model.load("testdata/frozen/format-1/lstm.safetensors"), ["oak vanity", "garden hose"])
    >>> [found.id for found in index.search("hose for a garden", k=1)]
    ['1']
    """

    def __init__(self, native: _clickvec.Index, *, path: str | None = None, report: dict[str, Any] | None = None) -> None:
        if not isinstance(native, _clickvec.Index):
            raise TypeError(f"expected an index that was made, found {type(native).__name__}; Index.open opens a folder")
        self._native = native
        self._path = path
        #: What :meth:`build` reports: above all ``tested``, the comparison with BM25; empty otherwise.
        self.report = report or {}

    @classmethod
    def open(cls, path: Path) -> Index:
        """Opens the index in a folder that this package or the program wrote."""
        return cls(_clickvec.Index.open(os.fspath(path)), path=os.path.abspath(path))

    @classmethod
    def encode(
        cls,
        model: Model | Path,
        titles: Titles,
        output: Path | None = None,
        *,
        store: Sequence[str] = (),
        field: str | None = None,
        weights: Mapping[Literal["vectors", "words", "trigrams"], float] | None = None,
        words: str | None = None,
        vectors: Literal["f32", "f16", "int8"] | None = None,
        progress: Progress = None,
    ) -> Index:
        """Makes an index of a model and titles, as ``clickvec index`` does.

        Ctrl-C stops it, and whatever was at ``output`` stays.

        :param model: a model, or its path.
        :param titles: strings (their ids are their places), (id, title) pairs, a table with the columns ``id`` and ``title``, or
            a file of these.
        :param output: a folder to write; without it, the index is in memory only. The other arguments need it.
        :param store: columns to store with the titles, which results show and ``filter`` can ask for.
        :param field: the column to search [default: the one that the model learnt from].
        :param weights: the weight of each part in the score of a title.
        :param words: how words are changed before they are compared: ``"stem,split"`` by default, ``"exact"`` for not at all.
        :param vectors: the format of the numbers of vectors.
        :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.
        """
        if not isinstance(model, Model):
            if not is_path(model):
                raise TypeError(f"expected a model or its path, found {type(model).__name__}")
            model = Model.load(model)
        options = texts({"weights": weights, "words": words, "vectors": vectors})
        if output is None and (store or options):
            name = "store" if store else next(iter(options))
            raise Error(f"{name}: expected an output, found none; name the folder of the index")
        folder = None if output is None else os.fspath(output)
        with titles_table(titles, "+".join([field or "title", *store])) as path, _progress.Watch(progress) as watch:
            native = _clickvec.Index.encode(model._native, path, folder, list(store), field, options, watch)
        return cls(native, path=None if folder is None else os.path.abspath(folder))

    @classmethod
    def build(
        cls,
        titles: Titles,
        output: Path,
        logs: Path | Sequence[Path] = (),
        *,
        columns: str | Mapping[str, str] | None = None,
        judged: Table | None = None,
        teacher: Path | Sequence[Path] | None = None,
        store: Sequence[str] = (),
        fast: bool = False,
        settings: Mapping[str, object] | None = None,
        progress: Progress = None,
    ) -> Index:
        """Makes an index of logs and titles, as ``clickvec build`` does: it counts clicks, learns, tests and indexes.

        Ctrl-C stops it. What is done by then is kept beside the output, and the same call resumes from there.

        :param titles: all titles to search.
        :param output: the folder to write. An existing index is replaced when the new one is complete.
        :param logs: raw logs or counted clicks. Without any, the model learns from the titles alone.
        :param columns: columns of logs with other names than usual, as in :func:`clickvec.prepare`.
        :param judged: judged titles, to compare with BM25 by. Without them, held-out clicks compare.
        :param teacher: the folder of a sentence transformer, or files of vectors or scores.
        :param store: columns to store with the titles.
        :param fast: whether to take about a quarter of the time, for a smaller model.
        :param settings: settings of the training by name, as in :func:`clickvec.train`.
        :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show lines or nothing.
        """
        named = texts({"columns": columns}).get("columns")
        folder = os.fspath(output)
        judged_file = nullcontext(None) if judged is None else judged_table(judged, "judged", "title")
        with titles_table(titles) as path, judged_file as judged_path, _progress.Watch(progress) as watch:
            report = _clickvec.build(
                paths(logs), path, folder, named, judged_path, paths(teacher), list(store), fast, as_json(settings or {}), watch
            )
        return cls(_clickvec.Index.open(folder), path=os.path.abspath(folder), report=report)

    @classmethod
    def join(cls, indexes: Sequence[Path], output: Path, *, link: bool = False) -> Index:
        """Joins indexes of one model into one, in this order.

        :param link: whether to search them as one where they are, instead of copying their titles.
        """
        _clickvec.join_indexes(paths(indexes), os.fspath(output), link)
        return cls.open(output)

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        mode: Mode = "fused",
        filter: Filter | None = None,
        boost: Mapping[str, float] | None = None,
        min_confidence: float | None = None,
        as_typed: bool = False,
        offset: int = 0,
        exact: bool = False,
    ) -> Results:
        """Returns the best ``k`` titles for a query.

        :param mode: what finds them.
        :param filter: conditions that titles must meet.
        :param boost: stored columns with numbers that add to scores, each with its weight.
        :param min_confidence: with ``mode="fused"``, leave out titles that are less likely than this to be a good match, from 0 to 1
            [default: 0.02].
        :param as_typed: with ``mode="fused"``, do not correct words that no title has.
        :param offset: leave out this many of the best titles.
        :param exact: compare every vector, where a large index otherwise looks at some.
        """
        if not isinstance(query, str):
            raise TypeError(f"expected a text, found {type(query).__name__}; search_batch takes many")
        how = _how(k, mode, filter, boost, min_confidence, as_typed, offset, exact)
        if k == 0:
            return Results([])
        found = self._native.search(query, how)
        return Results(map(Result._make, found["hits"]), found["reason"], found["corrected"], found["weak"])

    def search_batch(
        self,
        queries: Texts,
        k: int = 10,
        *,
        mode: Mode = "fused",
        filter: Filter | None = None,
        boost: Mapping[str, float] | None = None,
        min_confidence: float | None = None,
        as_typed: bool = False,
        offset: int = 0,
        exact: bool = False,
        progress: Progress = None,
    ) -> BatchResults:
        """:meth:`search` for many queries, faster for each, with arrays as results."""
        if isinstance(queries, str):
            raise TypeError("expected queries, found one text; search takes it")
        how = _how(k, mode, filter, boost, min_confidence, as_typed, offset, exact)
        with _progress.Watch(progress) as watch:
            return BatchResults(*self._native.search_batch(queries, how, watch))

    def get(self, id: str) -> tuple[str, dict[str, str]] | None:
        """Returns a title by its id, with its stored columns; ``None`` if it is not there."""
        found = self._native.get(id)
        return None if found is None else (found[0], found[1])

    def update(
        self, add: Titles | None = None, *, delete: Iterable[str] = (), compact: bool = False, progress: Progress = None
    ) -> dict[str, Any]:
        """Adds titles, replaces those with the same ids, and deletes others, as ``clickvec update`` does; returns the figures.

        Searches of this object find the new titles when it returns.

        :param add: titles with the columns that the index has.
        :param delete: ids of titles.
        :param compact: whether to clear away what earlier updates left behind.
        """
        if self._path is None:
            raise Error("expected an index on disk to update, found one in memory; encode it with an output")
        if isinstance(delete, str):
            raise TypeError("delete: expected ids, found one text; give a list")
        columns = "+".join([self._native.field, *self._native.stored_fields])
        table = nullcontext(None) if add is None else titles_table(add, columns)
        with table as path, _progress.Watch(progress) as watch:
            figures = _clickvec.update_index(self._path, path, [str(id) for id in delete], compact, watch)
        self._native = _clickvec.Index.open(self._path)
        return figures

    def check(self) -> dict[str, Any]:
        """Reads every byte of the index on disk: ``files``, ``bytes``, ``queries`` that were answered as at first, and what is ``damaged``."""
        if self._path is None:
            raise Error("expected an index on disk to check, found one in memory")
        return _clickvec.check_index(self._path)

    @property
    def path(self) -> str | None:
        """The folder; ``None`` if the index is in memory."""
        return self._path

    @property
    def model(self) -> Model:
        """The model that encodes queries."""
        return Model(self._native.model())

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the index: its parts, stored columns, model and fusion."""
        return self._native.facts()

    @property
    def without_vector(self) -> int:
        """The number of titles without a vector, because the model knows none of their words; words find them."""
        return int(self.facts["without_vector"])

    @property
    def fingerprint(self) -> str:
        """A fingerprint of the titles, the model and the settings."""
        return str(self.facts["fingerprint"])

    def __len__(self) -> int:
        return len(self._native)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._native.get(id) is not None

    def __repr__(self) -> str:
        return f"Index({len(self):,} titles, model {self.facts['model']['fingerprint']})"

    def __reduce__(self) -> tuple[Callable[[str], Index], tuple[str]]:
        if self._path is None:
            raise Error("expected an index on disk to pickle, found one in memory; encode it with an output")
        return (Index.open, (self._path,))


def on_disk(index: Index | Path) -> str:
    """The path of an index, or the path itself."""
    if not isinstance(index, Index):
        return os.fspath(index)
    if index.path is None:
        raise Error("expected an index on disk, found one in memory; encode it with an output")
    return index.path


def _how(
    k: int,
    mode: str,
    filter: Filter | None,
    boost: Mapping[str, float] | None,
    min_confidence: float | None,
    as_typed: bool,
    offset: int,
    exact: bool,
) -> SearchHow:
    """How to search, as the native module takes it."""
    for name, number in (("k", k), ("offset", offset)):
        if number < 0:
            raise Error(f"{name}: expected 0 or more, found {number}")
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        raise Error(f"min_confidence: expected a number from 0 to 1, found {min_confidence}")
    if isinstance(filter, Mapping):
        filters = [json.dumps({"field": name, "condition": _condition(name, value)}) for name, value in filter.items()]
    else:
        filters = [filter] if isinstance(filter, str) else list(filter or ())
    return {
        "k": k,
        "mode": mode,
        "filters": filters,
        "boosts": [f"{name}:{weight}" for name, weight in (boost or {}).items()],
        "min_confidence": min_confidence,
        "as_typed": as_typed,
        "offset": offset,
        "exact": exact,
    }


def _condition(name: str, value: object) -> dict[str, object]:
    match value:
        case str():
            return {"is": value}
        case list() if all(isinstance(one, str) for one in value):
            return {"in": value}
        case (from_, to):
            return {"range": {"from": from_, "to": to}}
    raise TypeError(f"filter: expected a text, a list of texts or a pair of numbers for `{name}`, found {value!r:.80}")
