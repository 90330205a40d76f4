"""A model, and the search of an index made with it, in the tasks of MTEB 2.

>>> import mteb  # doctest: +SKIP
>>> from clickvec.mteb import ClickvecSearch  # doctest: +SKIP
>>> mteb.evaluate(ClickvecSearch("shop.safetensors"), mteb.get_tasks(["NFCorpus"]))  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.types import PromptType

from ._tables import Path
from .index import Index, Mode
from .model import Model


class ClickvecEncoder(AbsEncoder):
    """The model: documents by its title tower, everything else by its query tower.

    :param model_name: a model, or its path.
    """

    def __init__(self, model_name: Model | Path, revision: str | None = None, *, device: str | None = None, **kwargs: Any) -> None:
        self.model = model_name if isinstance(model_name, Model) else Model.load(model_name)
        self.mteb_model_meta = _meta(self.model, "encoder")

    def encode(self, inputs: Any, *, prompt_type: PromptType | None = None, **kwargs: Any) -> np.ndarray[Any, Any]:
        """The vectors of the texts in MTEB's batches."""
        texts = [text for batch in inputs for text in batch["text"]]
        return self.model.encode(texts, tower="title" if prompt_type == PromptType.document else "query")


class ClickvecSearch:
    """The search of an index that is made of each task's documents: words and vectors, fused.

    :param model: a model, or its path.
    :param mode: what finds documents, as in :meth:`clickvec.Index.search`.
    """

    def __init__(self, model: Model | Path, *, mode: Mode = "fused") -> None:
        self.model = model if isinstance(model, Model) else Model.load(model)
        self.mode: Mode = mode
        self.mteb_model_meta = _meta(self.model, mode)

    def index(self, corpus: Any, **kwargs: Any) -> None:
        """Indexes the documents of a task, each by its title and text as MTEB joins them."""
        texts = [f"{row.get('title') or ''} {row['text']}".strip() for row in corpus]
        self._index = Index.encode(self.model, {"id": list(corpus["id"]), "title": texts}, progress=False)

    def search(
        self, queries: Any, *, top_k: int, top_ranked: dict[str, list[str]] | None = None, **kwargs: Any
    ) -> dict[str, dict[str, float]]:
        """The scores of the best documents of each query, or of those in ``top_ranked``."""
        ids, k = list(queries["id"]), top_k if top_ranked is None else len(self._index)
        found = self._index.search_batch(list(queries["text"]), k, mode=self.mode, min_confidence=0, progress=False)
        results = {}
        for query, documents, scores in zip(ids, found.ids, found.scores.tolist(), strict=True):
            wanted = None if top_ranked is None else set(top_ranked[query])
            pairs = zip(documents, scores, strict=True)
            results[query] = {id: score for id, score in pairs if id is not None and (wanted is None or id in wanted)}
        return results


def _meta(model: Model, how: str) -> ModelMeta:
    return ModelMeta(
        loader=None,
        name=f"clickvec/{model.fingerprint}-{how}",
        revision=model.fingerprint,
        release_date=None,
        languages=None,
        n_parameters=model._native.parameters,
        memory_usage_mb=None,
        max_tokens=None,
        embed_dim=model.dimension,
        license=None,
        open_weights=False,
        public_training_code=None,
        public_training_data=None,
        framework=["NumPy"],
        similarity_fn_name=ScoringFunction.COSINE,
        use_instructions=False,
        training_datasets=None,
    )
