"""From raw logs to counted clicks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from . import _clickvec, _progress
from ._settings import texts
from ._tables import Path, paths

Preset = Literal["ubi", "ga4", "snowplow", "orcas", "msmarco-passage", "msmarco-document", "aol", "tripclick"]


def prepare(
    log: Path | Sequence[Path],
    output: Path,
    *,
    format: Literal["tsv", "csv", "json", "parquet"] | str | None = None,
    preset: Preset | str | None = None,
    columns: str | Mapping[str, str] | None = None,
    time_format: str | None = None,
    max_bad: str | None = None,
    memory: str | None = None,
    report: Path | None = None,
    titles: Path | None = None,
    queries: Path | None = None,
    item_as_title: bool = False,
    keep: Literal["case", "personal"] | Sequence[Literal["case", "personal"]] | None = None,
    min_users: int | None = None,
    private: bool = False,
    max_queries: int | str | None = None,
    correct_position_bias: bool | str | Mapping[Literal["clip", "trust"], float] = False,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Turns raw logs into a table of clicked pairs, which :func:`train` reads; returns the report.

    What the log lacks, or loses, is a warning. Ctrl-C stops it, and whatever was at ``output`` stays.

    :param log: the log, or several: TSV, CSV, JSON lines or Parquet, plain or compressed.
    :param output: where to write the pairs.
    :param format: the format of the logs, if it is not to be recognised; ``"csv:;"`` names the separator.
    :param preset: the source of the log; ``"ubi:add_to_cart=3"`` counts other actions of UBI.
    :param columns: columns with other names than usual: ``{"query": "search_term", "item": "sku"}``.
    :param time_format: the form of times, as ``strftime`` has it.
    :param max_bad: the largest share of broken rows [default: ``"1%"``].
    :param memory: the memory to use [default: ``"400M"``].
    :param report: where to write the report as a page.
    :param titles: a table with the title of each item.
    :param queries: a table with the text of each query id.
    :param item_as_title: whether items are their own titles.
    :param keep: what stays in queries: their case, or what is personal.
    :param min_users: leave out queries for which fewer users clicked [default: 2, with ``private`` 5].
    :param private: whether to keep the queries of fewer users, marked as rare.
    :param max_queries: leave out users with more queries: ``"200/day,5000"``; 0 sets no limit.
    :param correct_position_bias: whether to weight clicks by how rarely their position is looked at: ``{"clip": 10}``.
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.

    >>> import tempfile, warnings
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = prepare("testdata/shop/log.csv", f"{folder}/clicks.tsv", columns="item=sku",
    ...                     titles="testdata/shop/titles.tsv")
    >>> found["training"]["pairs"]
    1031
    """
    options = texts(
        {
            "format": format,
            "preset": preset,
            "columns": columns,
            "time_format": time_format,
            "max_bad": max_bad,
            "memory": memory,
            "titles": titles,
            "queries": queries,
            "item_as_title": item_as_title,
            "keep": keep,
            "min_users": min_users,
            "private": private,
            "max_queries": max_queries,
            "correct_position_bias": correct_position_bias,
        }
    )
    page = None if report is None else os.fspath(report)
    with _progress.Watch(progress) as watch:
        return _clickvec.prepare(paths(log), os.fspath(output), page, options, watch)
