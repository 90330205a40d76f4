"""Simulated logs, and tables of many systems."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _clickvec, _progress
from ._errors import Error
from ._settings import as_json
from ._tables import Path, Weighting, paths, titles_table

if TYPE_CHECKING:
    from ._types import Titles


def simulate(
    output: Path,
    *,
    titles: Titles | None = None,
    settings: Mapping[str, object] | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Writes a click log whose truth is known to a folder, as ``clickvec lab simulate`` does; returns its figures.

    :param titles: let users look for these titles instead of an invented web.
    :param settings: settings by name: ``pairs``, ``titles``, ``judged``, ``validation``, ``misspelt``, ``position_bias``,
        ``engine_bias``, ``click_noise``, ``seed``, ``impressions``.
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     simulate(f"{folder}/world", settings={"pairs": 1000, "titles": 500, "judged": 5, "validation": 5})["pairs"]
    1000
    """
    settings_json = as_json(settings or {})
    with _progress.Watch(progress) as watch:
        if titles is None:
            return _clickvec.simulate(os.fspath(output), None, settings_json, watch)
        with titles_table(titles) as path:
            return _clickvec.simulate(os.fspath(output), path, settings_json, watch)


def table(
    spec: Path | None = None,
    *,
    rankers: str | Sequence[str] = (),
    judged: Path | None = None,
    topics: Path | None = None,
    clicks: Path | None = None,
    titles: Path | None = None,
    weighting: Weighting | None = None,
    field: str | None = None,
    cache: Path | None = None,
    against: str | None = None,
    uncorrected: bool = False,
    output: Path | Sequence[Path] | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Trains and compares many systems, as ``clickvec lab table`` does; returns the table.

    Ctrl-C stops it. What is finished is kept in ``cache``, and the same call continues from there.

    :param spec: a file that names the systems.
    :param rankers: instead of a spec: descriptions of rankers, such as ``"plsa:topics=50"``.
    :param judged: judged titles, instead of the spec's, as are ``topics``, ``clicks``, ``titles``, ``weighting`` and ``field``.
    :param cache: the folder for finished work [default: next to the spec].
    :param against: the system that all others are compared with [default: the first].
    :param uncorrected: whether to mark differences that are significant in a single test, without Holm's correction.
    :param output: files to write the table to: as Markdown (``.md``) or as a page (``.html``).
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.
    """
    rankers = [rankers] if isinstance(rankers, str) else list(rankers)
    if (spec is None) == (not rankers):
        raise Error(f"expected a spec or rankers, found {'neither' if spec is None else 'both'}")
    judged, topics, clicks, titles, cache, spec = (
        None if path is None else os.fspath(path) for path in (judged, topics, clicks, titles, cache, spec)
    )
    with _progress.Watch(progress) as watch:
        return _clickvec.table(
            spec,
            rankers,
            (judged, topics, clicks, titles),
            (field, weighting),
            cache,
            against,
            uncorrected,
            paths(output),
            _clickvec.__file__,
            watch,
        )
