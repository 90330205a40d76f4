"""A scikit-learn transformer from texts to vectors: for pipelines and grid search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    check_is_fitted,
)

from ._tables import Path
from .model import Model, Tower
from .training import train


# Settings that titles have for themselves.
_OF_TITLES = ("epochs", "batch_size", "learning_rate")


class ClickvecVectorizer(TransformerMixin, BaseEstimator):
    """Learns vectors of texts, from the texts alone or from queries and the titles clicked for them.

    ``fit(texts)`` learns each text from some of its own words. It ignores ``y``, which in a pipeline has a classifier's
    labels, unless ``titles=True`` says that it has titles: then ``fit(queries, titles)`` learns from the pairs, with the
    settings of :func:`clickvec.train`. With a trained ``model`` nothing is learnt. ``transform(texts)`` gives the vectors.
    ``score(queries, titles)`` is the mean reciprocal rank of each query's title among all of them, for grid search.

    :param model: a trained model, or its path.
    :param titles: whether ``y`` has a title clicked for each query of ``X``.
    :param tower: ``"title"``, or ``"query"`` for vectors of queries.
    :param encoder: the kind of encoder, or a mapping: ``{"kind": "clsm", "hidden": [300]}``.
    :param settings: any other settings by name, dotted or nested: ``{"loss.gamma": 20}``.
    """

    def __init__(
        self,
        model: Model | Path | None = None,
        *,
        titles: bool = False,
        tower: Tower = "title",
        encoder: str | Mapping[str, object] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        seed: int = 1,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.model = model
        self.titles = titles
        self.tower = tower
        self.encoder = encoder
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.seed = seed
        self.settings = settings

    def fit(self, X: Iterable[str], y: Iterable[object] | None = None) -> ClickvecVectorizer:  # noqa: N803
        """Learns from the texts ``X``, or from the queries ``X`` and their titles ``y``."""
        texts = _texts(X)
        own = {name: getattr(self, name) for name in ("encoder", *_OF_TITLES, "seed")}
        if self.model is not None:
            self.model_ = self.model if isinstance(self.model, Model) else Model.load(self.model)
        elif not self.titles:
            own = {f"titles.{name}" if name in _OF_TITLES else name: value for name, value in own.items()}
            self.model_ = train(titles=texts, progress=False, settings={**own, **(self.settings or {})})
        elif y is None:
            raise ValueError("expected the titles clicked for the queries as y, found None")
        else:
            titles = _texts(cast("Iterable[str]", y))
            if len(texts) != len(titles):
                raise ValueError(f"expected a title for each of {len(texts)} queries, found {len(titles)}")
            settings = {"held_out": 0.0, **own, **(self.settings or {})}
            self.model_ = train(zip(texts, titles, strict=True), progress=False, settings=settings)
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:  # noqa: N803
        """The vectors of texts, a row for each."""
        check_is_fitted(self, "model_")
        return self.model_.encode(_texts(X), self.tower)

    def score(self, X: Iterable[str], y: Iterable[str]) -> float:  # noqa: N803
        """The mean reciprocal rank of each query's title among the distinct titles of ``y``."""
        check_is_fitted(self, "model_")
        titles, places = np.unique(_texts(y), return_inverse=True)
        scores = self.model_.encode_query(_texts(X)) @ self.model_.encode_title(titles).T
        own = scores[np.arange(len(places)), places]
        above = (scores > own[:, None]).sum(axis=1)
        tied = (scores == own[:, None]).sum(axis=1)
        # The mean place among ties.
        return float(np.mean(1.0 / (1.0 + above + (tied - 1) / 2.0)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the numbers."""
        check_is_fitted(self, "model_")
        return np.array([f"clickvec{number}" for number in range(self.model_.dimension)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags


def _texts(texts: Iterable[str]) -> list[str]:
    if hasattr(texts, "columns"):
        # Iterating over it would give the names of its columns.
        raise TypeError(f"expected texts, found a table ({type(texts).__name__}); name one of its columns")
    if isinstance(texts, str):
        raise ValueError("expected texts, found one text; give a list of them")
    found = list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"text {number}: expected a text, found {type(text).__name__}")
    return found
