"""What the native module takes as dicts."""

from __future__ import annotations

from typing import TypedDict


class Files(TypedDict):
    """The files that rankers learn from."""

    titles: str | None
    clicks: str | None
    field: str
    weighting: str
    load: str | None
    vectors: list[str]


class How(TypedDict):
    """How systems are judged."""

    judged: str
    topics: str | None
    ties: str
    gain: str
    relevant_from: int
    fusion: list[str]
    fusion_weights: list[float] | None
    fusion_judged: str | None
