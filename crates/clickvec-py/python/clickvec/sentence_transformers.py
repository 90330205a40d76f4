"""A model as a module of sentence-transformers: its evaluators, its search and its folders work with it.

>>> from clickvec.sentence_transformers import load  # doctest: +SKIP
>>> model = load("shop.safetensors")  # doctest: +SKIP
>>> model.encode_query("lether couch")  # doctest: +SKIP
"""

from __future__ import annotations

import os
from typing import Any, cast

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules.input_module import InputModule

from ._errors import Error
from ._tables import Path
from .model import Model, Tower

_FILE = "clickvec.safetensors"


class ClickvecModule(InputModule):
    """Texts in, vectors out: queries by the query tower, everything else by the other. It is not trained further."""

    forward_kwargs = {"task"}

    def __init__(self, model: Model | Path) -> None:
        super().__init__()
        self.model = model if isinstance(model, Model) else Model.load(model)
        # So that the framework finds the device and the type of what it has.
        self.register_buffer("_place", torch.zeros(0), persistent=False)

    @property
    def max_seq_length(self) -> int | None:
        """The number of words of a text that are read."""
        words = self.model.training["config"].get("max_words")
        return int(words) if words is not None else None

    def preprocess(self, inputs: Any, prompt: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Texts as they are. A prompt goes in front of each, as in other models."""
        for number, text in enumerate(inputs):
            if not isinstance(text, str):
                raise TypeError(f"text {number}: expected a text, found {type(text).__name__}")
        return {"texts": self._prepend_prompt(inputs, prompt) if prompt else list(inputs)}

    def forward(self, features: dict[str, Any], task: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Adds the vectors of the texts."""
        if task not in (None, "query", "document"):
            raise Error(f'task: expected "query" or "document", found {task!r}')
        vectors = self.model.encode(features["texts"], tower=cast(Tower | None, "title" if task == "document" else task))
        place: torch.Tensor = self._place
        features["sentence_embedding"] = torch.from_numpy(vectors).to(place)
        return features

    def get_embedding_dimension(self) -> int:
        """The size of a vector."""
        return self.model.dimension

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Writes the model to a folder."""
        native = self.model._native
        native.save(os.path.join(output_path, _FILE))

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> ClickvecModule:
        """The model of a folder that ``save`` wrote."""
        of_hub = {name: kwargs[name] for name in ("token", "cache_folder", "revision", "local_files_only") if name in kwargs}
        path = cls.load_file_path(model_name_or_path, filename=_FILE, subfolder=subfolder, **of_hub)
        if path is None:
            raise Error(f"{model_name_or_path}: expected the file {_FILE}, found none")
        return cls(path)


def load(model: Model | Path) -> SentenceTransformer:
    """A ``SentenceTransformer`` of a model, a model's file, or a folder that ``save_pretrained`` wrote.

    ``SentenceTransformer(folder, trust_remote_code=True)`` opens such a folder too; without that argument it refuses
    every module that is not its own.
    """
    if not isinstance(model, Model) and os.path.isdir(model):
        return SentenceTransformer(os.fspath(model), trust_remote_code=True, device="cpu")
    return SentenceTransformer(modules=[ClickvecModule(model)], device="cpu", similarity_fn_name="dot")
