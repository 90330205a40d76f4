"""Uses every part of the interface; a type checker reads it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import clickvec
from clickvec import rankers

model: clickvec.Model = clickvec.train([("a", "b", 1.0)], epochs=3, encoder="lstm", augment={"misspell": 0.1})
vectors: NDArray[np.float32] = model.encode(["a"], show_progress_bar=False)
query: NDArray[np.float32] = model.encode_query("a")
searcher = clickvec.Searcher(model, ["a"])
first: clickvec.Found = searcher.search("a", k=1)[0]
text: str = first.title
ranker: rankers.Fitted = rankers.Bm25(k1=1.2).fit(["a"])
scores: NDArray[np.float64] = ranker.score("a", ["b"])
result: clickvec.Evaluation = clickvec.evaluate([model, "bm25", ranker], [("a", "b", 1)])
p: float = result.test("shop", "bm25").p
why: clickvec.Explanation = model.explain("a", "b")
share: float = why.query_words[0].without
clickvec.train(None, epoch=3)  # type: ignore[call-arg]
clickvec.train(None, encoder="bert")  # type: ignore[arg-type]
