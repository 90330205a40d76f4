"""Embeddings for LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, PrivateAttr

from ._errors import Error
from ._tables import Path
from .model import Model


class ClickvecEmbedding(BaseEmbedding):
    """A model's vectors: queries by the query tower, texts by the other. They have unit length."""

    path: str | None = Field(default=None, description="The file of the model.")
    _model: Model = PrivateAttr()

    def __init__(self, model: Model | Path | None = None, *, path: Path | None = None, **arguments: Any) -> None:
        source = path if model is None else model
        if source is None:
            raise Error("expected a model or its path, found none")
        loaded = source if isinstance(source, Model) else Model.load(source)
        arguments["model_name"] = f"clickvec {loaded.fingerprint}"
        arguments |= {"path": loaded.path}
        super().__init__(**arguments)
        self._model = loaded

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """The embedding for a file of settings, which names the file of the model."""
        if self.path is None:
            raise Error("expected a model with a file to serialise, found one in memory; save it first")
        return super().to_dict(**options)

    @classmethod
    def class_name(cls) -> str:
        """The name in LlamaIndex's settings."""
        return "ClickvecEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.encode_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._model.encode_title(text).tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._model.encode_title(texts).tolist()
