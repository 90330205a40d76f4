"""An index as a transformer of PyTerrier: queries in, ranked titles out.

>>> from clickvec.pyterrier import ClickvecRetriever  # doctest: +SKIP
>>> pipeline = ClickvecRetriever("shop.index", num_results=100) % 10  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import pandas
import pyterrier

from ._tables import Path
from .index import Filter, Index, Mode


class ClickvecRetriever(pyterrier.Transformer):
    """Finds titles of an index for the column ``query`` of a frame.

    :param index: an index, or its folder.
    :param num_results: the number of titles for each query.
    :param mode: what finds titles, as in :meth:`clickvec.Index.search`.
    :param filter: conditions that titles must meet.
    :param min_confidence: leave out titles that are less likely to be good matches; by default a run has all of them.
    """

    def __init__(
        self,
        index: Index | Path,
        *,
        num_results: int = 1000,
        mode: Mode = "fused",
        filter: Filter | None = None,
        min_confidence: float = 0.0,
    ) -> None:
        self.index = index if isinstance(index, Index) else Index.open(index)
        self.num_results = num_results
        self.options: dict[str, Any] = {"mode": mode, "filter": filter, "min_confidence": min_confidence}

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """The frame with a row for each title that is found: ``docno``, ``title``, ``score`` and ``rank``."""
        pyterrier.validate.query_frame(inp, extra_columns=["query"])
        found = self.index.search_batch(inp["query"], self.num_results, **self.options)
        rows, places = (~pandas.isna(found.scores)).nonzero()
        result = inp.iloc[rows].drop(columns=["docno", "title", "score", "rank"], errors="ignore").reset_index(drop=True)
        return result.assign(
            docno=found.ids[rows, places],
            title=found.titles[rows, places],
            score=found.scores[rows, places].astype(float),
            rank=places,
        )
