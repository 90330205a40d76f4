"""Embeddings for LangChain."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from ._tables import Path
from .model import Model


class ClickvecEmbeddings(Embeddings):
    """A model's vectors: queries by the query tower, documents by the other. They have unit length."""

    def __init__(self, model: Model | Path) -> None:
        self.model = model if isinstance(model, Model) else Model.load(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of documents."""
        return self.model.encode_title(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.model.encode_query(text).tolist()
