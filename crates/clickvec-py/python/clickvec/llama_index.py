"""Embeddings for LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from ._tables import Path
from .model import Model


class ClickvecEmbedding(BaseEmbedding):
    """A model's vectors: queries by the query tower, texts by the other. They have unit length."""

    _model: Model = PrivateAttr()

    def __init__(self, model: Model | Path, **arguments: Any) -> None:
        loaded = model if isinstance(model, Model) else Model.load(model)
        super().__init__(model_name=f"clickvec {loaded.fingerprint}", **arguments)
        self._model = loaded

    @classmethod
    def class_name(cls) -> str:
        """The name in LlamaIndex's settings."""
        return "ClickvecEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.encode_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._model.encode_document(text).tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._model.encode_document(texts).tolist()
