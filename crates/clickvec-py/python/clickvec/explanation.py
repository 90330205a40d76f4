"""Explanations of scores."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Word:
    """A word of a query or a title, and what it adds to the score by two definitions."""

    word: str
    #: Whether the model knows any of its letter trigrams.
    known: bool
    #: How much the score falls without the word.
    without: float
    #: How far the vector moves towards the other text while the word is read. These sum to the score.
    along: float


@dataclass(frozen=True)
class Pair:
    """A word of the query and one of the title that the same units moved for."""

    query: str
    title: str
    share: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a title has its score for a query."""

    query: str
    title: str
    score: float
    query_words: list[Word]
    title_words: list[Word]
    #: The pairs of words through which the texts match, largest share first; empty unless the encoder is recurrent.
    pairs: list[Pair]
    #: The units of the vectors that add most.
    units: list[dict[str, Any]]

    @classmethod
    def _of(cls, found: dict[str, Any]) -> Explanation:
        return cls(
            query=found["query"],
            title=found["title"],
            score=found["score"],
            query_words=[Word(**word) for word in found["query_words"]],
            title_words=[Word(**word) for word in found["title_words"]],
            pairs=[Pair(**pair) for pair in found["pairs"]],
            units=found["units"],
        )

    def __str__(self) -> str:
        def side(name: str, words: list[Word]) -> str:
            return f"{name}  " + "  ".join(f"{word.word} {word.without:+.2f}" for word in words)

        through = ", ".join(f"{pair.query} ↔ {pair.title} {pair.share:+.2f}" for pair in self.pairs[:3])
        lines = [f"score  {self.score:.3f}", side("query", self.query_words), side("title", self.title_words)]
        return "\n".join(lines + ([f"through  {through}"] if through else []))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def words(of: list[Word]) -> str:
            most = max((abs(word.without) for word in of), default=0.0) or 1.0
            return " ".join(
                f'<span title="without it the score falls by {word.without:+.3f}" '
                f'style="background:rgba({"30,120,220" if word.without >= 0 else "220,80,40"},'
                f'{0.6 * abs(word.without) / most:.2f});padding:1px 4px;border-radius:3px">'
                f"{html.escape(word.word)}&nbsp;<small>{word.without:+.2f}</small></span>"
                for word in of
            )

        pairs = "".join(
            f"<tr><td>{html.escape(pair.query)}</td><td>{html.escape(pair.title)}</td><td>{pair.share:+.3f}</td></tr>"
            for pair in self.pairs[:5]
        )
        table = f"<table><tr><th>query</th><th>title</th><th>share</th></tr>{pairs}</table>" if pairs else ""
        return (
            f"<div><b>score {self.score:.3f}</b><br>query: {words(self.query_words)}"
            f"<br>title: {words(self.title_words)}{table}</div>"
        )
