"""Embedders for Haystack pipelines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from ._errors import Error
from ._tables import Path
from .model import Model


class _Embedder:
    """A model by its file, which a pipeline in YAML names."""

    def __init__(self, model: Model | Path) -> None:
        self._model = model if isinstance(model, Model) else Model.load(model)

    def to_dict(self) -> dict[str, Any]:
        """The component for a pipeline's file."""
        if self._model.path is None:
            raise Error("expected a model with a file to serialise, found one in memory; save it first")
        return default_to_dict(self, model=self._model.path)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The component of a pipeline's file."""
        return default_from_dict(cls, data)


@component
class ClickvecTextEmbedder(_Embedder):
    """The vector of a query."""

    def __init__(self, model: Model | Path) -> None:
        _Embedder.__init__(self, model)

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """``embedding``: the vector of the query ``text``."""
        if not isinstance(text, str):
            raise TypeError(f"expected a text, found {type(text).__name__}; documents go to ClickvecDocumentEmbedder")
        return {"embedding": self._model.encode_query(text).tolist()}


@component
class ClickvecDocumentEmbedder(_Embedder):
    """The vectors of documents: of their ``content``, or of what ``text_of`` names in their ``meta``."""

    def __init__(self, model: Model | Path, text_of: str | None = None) -> None:
        _Embedder.__init__(self, model)
        self.text_of = text_of

    def to_dict(self) -> dict[str, Any]:
        """The component for a pipeline's file."""
        data = _Embedder.to_dict(self)
        data["init_parameters"]["text_of"] = self.text_of
        return data

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """``documents``: copies with their vectors."""
        if not isinstance(documents, list) or not all(isinstance(document, Document) for document in documents):
            raise TypeError("expected a list of documents; a query goes to ClickvecTextEmbedder")
        texts = [
            (document.content if self.text_of is None else document.meta.get(self.text_of)) or ""
            for document in documents
        ]
        vectors = self._model.encode_title(texts).tolist()
        return {"documents": [replace(of, embedding=vector) for of, vector in zip(documents, vectors, strict=True)]}
