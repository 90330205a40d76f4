"""Training a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _clickvec, _progress
from ._errors import Error
from ._settings import as_json
from ._tables import Path, Weighting, is_path, judged_table, opened, titles_table
from .index import Index, on_disk
from .model import Model

if TYPE_CHECKING:
    from ._types import Table, Titles

Event = dict[str, Any]


#: ``(texts, vectors)``, or the path of vectors or of a table of scores.
Teacher = Path | tuple[Iterable[str], ArrayLike]


def train(
    clicks: Table | None = None,
    output: Path | None = None,
    *,
    titles: Titles | Sequence[Path] | None = None,
    validation: Table | None = None,
    validation_topics: Path | None = None,
    validation_titles: Path | None = None,
    init: Model | Path | None = None,
    teacher: Teacher | list[Teacher] | None = None,
    progress: bool | Callable[[Event], object] | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
    scratch: Path | None = None,
    settings: Mapping[str, object] | None = None,
    preset: Literal["lstm-dssm", "clsm"] | None = None,
    encoder: Literal["dssm", "clsm", "rnn", "gru", "lstm", "stacked", "bilstm", "members"] | Mapping[str, object] | None = None,
    shared_towers: bool | None = None,
    batch_size: int | None = None,
    negatives: int | Literal["all"] | None = None,
    negative_source: Literal["minibatch", "uniform"] | None = None,
    loss: Literal["softmax", "nce"] | Mapping[str, object] | None = None,
    optimizer: Literal["nesterov", "momentum", "adam", "sgd"] | None = None,
    learning_rate: float | None = None,
    clip_norm: float | Literal["none"] | None = None,
    bptt: Mapping[str, object] | None = None,
    init_range: float | Literal["fan", "active-fan"] | None = None,
    forget_bias: float | None = None,
    field: str | None = None,
    weighting: Weighting | None = None,
    epochs: int | None = None,
    held_out: float | None = None,
    keep: Literal["best", "loss", "last"] | None = None,
    patience: int | Literal["none"] | None = None,
    max_words: int | None = None,
    tail: Literal["cut", "merge"] | None = None,
    text: Mapping[str, str] | None = None,
    max_trigrams: int | None = None,
    word_count: int | Literal["none"] | None = None,
    seed: int | None = None,
    augment: Mapping[str, float] | None = None,
) -> Model:
    """Learns a model from clicks, from titles, or from both.

    :param clicks: a click log: a path; any iterable of (query, title), (query, title, weight) or dicts; or a table with
        the columns ``query`` and ``title`` and perhaps ``weight``, ``count``, ``clicked`` and ``rare`` (a DataFrame, an
        Arrow table, anything with ``__arrow_c_stream__``). Dicts have the names of these columns. Iterables are read once;
        with ``output`` or ``scratch`` they are not held in memory.
    :param output: where to write the model. Without it, the model is only returned.
    :param titles: titles to learn from, clicked or not: a path, several paths in a list, strings, (id, title) pairs, or
        a table with the columns ``id`` and ``title``. Strings in a list are titles unless all of them name files.
    :param validation: judged titles that choose the best epoch: a path, (query, title, grade) rows or a table with
        these columns. Without them, queries of the log are held out to find how many epochs are best, if there are
        enough, and then all clicks are learnt, as the program does.
    :param init: a model to start from.
    :param teacher: vectors of the same texts from another model: ``(texts, vectors)``, the path of vectors or of a table
        of its scores, or a list of these.
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or
        nothing. By default a terminal and a notebook show one.
    :param checkpoint_every: minibatches between two checkpoints next to ``output``.
    :param resume: whether to continue from the checkpoint next to ``output``.
    :param scratch: a folder for temporary files, if not that of ``output``.
    :param settings: settings by name, dotted or nested: ``{"titles.epochs": 1, "loss": {"gamma": 20}}``.

    The other arguments are settings by name, which the page of settings describes; ``None`` is their default. A whole group is a
    mapping: ``encoder={"kind": "dssm", "layers": [300, 128]}``. The groups ``titles`` and ``teacher`` are passed in ``settings``.

    Ctrl-C stops it between two minibatches, with :class:`KeyboardInterrupt`. Whatever was at ``output`` stays.

    The same clicks, settings and seed give the same bytes as the program.

    >>> clicks = [("couch", "leather sofa"), ("lamp", "desk lamp")] * 50
    >>> model = train(clicks, epochs=1, encoder={"cells": 8}, seed=3, held_out=0, progress=False)
    >>> model.dimension, len(model.history)
    (8, 2)
    """
    arguments = dict(locals())
    by_name = {name: value for name, value in arguments.items() if name not in _NO_SETTINGS and value is not None}
    merged = {**(settings or {}), **by_name}
    if output is None and (resume or checkpoint_every is not None):
        name = "resume" if resume else "checkpoint_every"
        raise Error(f"{name}: expected an output, which checkpoints are next to, found none; name the file of the model")
    history: list[Event] = []
    show = _progress.for_people(progress)

    def tell(event: Event) -> None:
        if event["event"] not in ("reading", "minibatch"):
            history.append(event)
        if show is not None:
            show(event)

    with ExitStack() as files:
        title = str(merged.get("field", "title"))
        title_files = [files.enter_context(titles_table(of, title)) for of in _sources(titles)]
        of_validation = None
        if validation is not None:
            judged = files.enter_context(judged_table(validation, "validation", title))
            of_validation = (judged, _fspath(validation_topics), _fspath(validation_titles))
        start = init if init is None or isinstance(init, Model) else Model.load(init)
        native = _clickvec.train(
            os.fspath(clicks) if is_path(clicks) else clicks,
            title_files,
            None if start is None else start._native,
            [_teacher(one) for one in _teachers(teacher)],
            _fspath(output),
            of_validation,
            as_json(merged),
            checkpoint_every,
            resume,
            _fspath(scratch),
            tell,
        )
    return Model(native, path=None if output is None else os.path.abspath(output), history=history)


def update(
    target: Index | Path,
    clicks: Path | Sequence[Table],
    titles: Titles,
    *,
    judged: Table | None = None,
    max_churn: float = 1.0,
    trust_clicks: bool = False,
    settings: Mapping[str, object] | None = None,
    progress: bool | Callable[[Event], object] | None = None,
) -> dict[str, Any]:
    """Learns new clicks and takes the new model once it is shown to be better, as ``clickvec update`` does; returns the report.

    The titles of an index become those of ``titles`` at once. :meth:`Index.update` changes some titles without learning. Ctrl-C
    stops it, and the old model stays.

    :param target: the index on disk, or the path of a model.
    :param clicks: click logs in a list, one for each day, oldest first; or the path of a single one.
    :param titles: all titles to search.
    :param judged: judged titles of other queries. The new model must not be worse on these.
    :param max_churn: take no model that changes more than this share of the first ten titles of frequent queries.
    :param trust_clicks: learn from the newest clicks even if they do not look as if they came from users.
    :param settings: settings of the update by name: ``half_life``, ``held_out``, ``epochs``, ``fresh``, ``position_bias``,
        ``error_rate``, ``drift``.
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.
    """
    if not 0 <= max_churn <= 1:
        raise Error(f"max_churn: expected a share from 0 to 1, found {max_churn}")
    days = [clicks] if is_path(clicks) else clicks
    if not isinstance(days, list | tuple):
        raise TypeError(f"clicks: expected a list of logs, one for each day, found {type(clicks).__name__}")
    with ExitStack() as files, _progress.Watch(progress) as watch:
        return _clickvec.update(
            on_disk(target),
            [files.enter_context(opened(day, "clicks", ["query", "title"], ["weight"])) for day in days],
            files.enter_context(titles_table(titles)),
            None if judged is None else files.enter_context(judged_table(judged, "judged", "title")),
            max_churn,
            trust_clicks,
            as_json(settings or {}),
            watch,
        )


#: The arguments of :func:`train` that are no settings.
_NO_SETTINGS = {
    *("clicks", "output", "titles", "validation", "validation_topics", "validation_titles", "init", "teacher"),
    *("progress", "checkpoint_every", "resume", "scratch", "settings"),
}


def _fspath(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _sources(titles: object) -> list[object]:
    """Each file or table of titles."""
    if titles is None:
        return []
    if is_path(titles):
        return [titles]
    if isinstance(titles, list | tuple) and titles and all(map(is_path, titles)):
        # A title is hardly ever the name of a file, so what is meant is mistaken only if a file is missing.
        other = [one for one in titles if isinstance(one, str) and not os.path.isfile(one)]
        if not other:
            return list(titles)
        if len(other) < len(titles):
            raise Error(
                f"titles: expected titles or files, found both: {other[0]!r:.80} is no file, others are; give paths as "
                "pathlib.Path, or titles as (id, title)"
            )
        if all(_names_a_table(one) for one in other):
            raise Error(f"titles: expected files that are there, found none called {other[0]!r:.80}; or titles as (id, title)")
    return [titles]


def _names_a_table(text: str) -> bool:
    """Whether a text looks like the name of a table: a word with its ending."""
    packed = text.removesuffix(".gz").removesuffix(".zst")
    return " " not in text and packed.endswith((".tsv", ".csv", ".jsonl", ".parquet"))


def _teachers(teacher: object) -> list[object]:
    if teacher is None:
        return []
    return teacher if isinstance(teacher, list) else [teacher]


def _teacher(teacher: object) -> str | tuple[Sequence[str], Any]:
    if is_path(teacher):
        return os.fspath(teacher)
    if not (isinstance(teacher, tuple) and len(teacher) == 2):
        raise TypeError(f"teacher: expected (texts, vectors) or a path, found {type(teacher).__name__}")
    texts, vectors = teacher
    array = np.asarray(vectors)
    if array.ndim != 2 or array.dtype.kind != "f":
        raise TypeError(f"teacher: expected a matrix of floats, found {array.ndim} dimensions of {array.dtype}")
    return list(texts), np.ascontiguousarray(array, dtype=np.float32)
