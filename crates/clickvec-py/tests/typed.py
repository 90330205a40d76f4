"""Uses every part of the interface; a type checker reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import clickvec
from clickvec import rankers
from clickvec.batches import encode_batch

model: clickvec.Model = clickvec.train([("a", "b", 1.0)], epochs=3, encoder="lstm", augment={"misspell": 0.1})
vectors: NDArray[np.float32] = model.encode(["a"], show_progress_bar=False)
query: NDArray[np.float32] = model.encode_query("a")
index: clickvec.Index = clickvec.Index.encode(model, ["a"])
first: clickvec.Result = index.search("a", k=1)[0]
text: str = first.title
batch_scores: NDArray[np.float32] = index.search_batch(["a"], filter={"price": (1, None)}).scores
ranker: rankers.Fitted = rankers.Bm25(k1=1.2).fit(["a"])
scores: NDArray[np.float64] = ranker.score("a", ["b"])
result: clickvec.Evaluation = clickvec.evaluate([model, "bm25", ranker], [("a", "b", 1)])
p: float = result.t_test("shop", "bm25").p
why: clickvec.Explanation = model.explain("a", "b")
share: float = why.query_words[0].without
halves: NDArray[np.float16] = model.encode(["a"], precision="float16")
bytes_: NDArray[np.int8] = model.encode_title(np.array(["a"]), precision="int8")
cosines: NDArray[np.float32] = model.similarity(vectors, halves)
clickvec.train({"query": ["a"], "title": ["b"], "count": [1]}, "m.safetensors", titles=["a", "b"], held_out=0.1)
clickvec.train([["a", "b"]], titles=[Path("a.tsv"), Path("b.csv")], teacher=(["a"], vectors))
clickvec.train(({"query": "a", "title": "b"} for _ in range(3)))
clickvec.Index.encode(model, {"id": [1], "title": ["b"]})
clickvec.Index.encode(model, Path("titles.parquet"))
clickvec.evaluate({"mine": lambda query, titles: [0.0 for _ in titles], "bm25": "bm25"}, Path("judged.csv"), clicks=[("a", "b", 2)])
clickvec.prepare("log.csv", "clicks.tsv", columns={"item": "sku"}, titles=Path("titles.tsv"), min_users=3)
found: clickvec.Verdict = clickvec.judge(index, "bm25", {"query": ["a"]}, page=False, write={"quepid": Path("ratings.csv")})
grade: int | None = found.rows[0].grade
clickvec.evaluate([index, Path("bm25.run")], "judged.tsv", full=100, measures=["recall@100"], output="runs")
clickvec.update("shop.index", ["monday.tsv", [("a", "b")]], [("1", "b")], settings={"half_life": 14})
clickvec.export(model, Path("onnx"), "onnx")
kind: str = clickvec.inspect("a.tsv", Path("b.tsv"))[0].kind

# What cannot work is refused.
clickvec.train(None, epoch=3)  # type: ignore[call-arg]
clickvec.train(None, encoder="bert")  # type: ignore[arg-type]
clickvec.train(3)  # type: ignore[arg-type]
model.encode(3)  # type: ignore[call-overload]
model.encode(["a"], btach_size=3)  # type: ignore[call-overload]
model.encode(["a"], precision="int9")  # type: ignore[call-overload]
model.similarity("a", None)  # type: ignore[arg-type]
clickvec.evaluate(3, 4)  # type: ignore[arg-type]
clickvec.Index.encode(model, 3)  # type: ignore[arg-type]
index.search("a", mode="best")  # type: ignore[arg-type]
clickvec.Index.open(model)  # type: ignore[arg-type]
clickvec.prepare("a", "b", foo=3)  # type: ignore[call-arg]
encode_batch(3, model)  # type: ignore[arg-type]
rankers.Bm25(k2=1.2)  # type: ignore[call-arg]
clickvec.export(index, "o", "solr")  # type: ignore[arg-type]
clickvec.judge(index, "bm25", "clicks.tsv", write={"excel": "a"})  # type: ignore[dict-item]
