"""A scikit-learn transformer from texts to vectors: for pipelines and grid search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    check_is_fitted,
)

from .model import Model
from .training import train


# Settings that titles have for themselves.
_OF_TITLES = ("epochs", "batch_size", "learning_rate")


class ClickvecVectorizer(TransformerMixin, BaseEstimator):
    """Learns vectors from queries and the titles clicked for them; turns texts into vectors.

    ``fit(queries, titles)`` trains with the settings of :func:`clickvec.train`; without titles each text is learnt from
    some of its own words. In a pipeline before a classifier, ``y`` has labels, which are not titles and are ignored:
    ``labels`` says whether it has. By default, numbers are labels, and so are texts that repeat if none has two words or
    only two are different, such as ``"sofas"`` and ``"not sofas"``. ``transform(texts)`` gives vectors of titles, or of
    queries with ``side="query"``. ``score(queries, titles)`` is the mean reciprocal rank of each query's title among all of
    them, for grid search.

    :param encoder: the kind of encoder, or a mapping: ``{"kind": "clsm", "hidden": [300]}``.
    :param settings: any other settings by name, dotted or nested: ``{"loss.gamma": 20}``.
    """

    def __init__(
        self,
        *,
        side: str = "document",
        labels: bool | None = None,
        encoder: str | Mapping[str, object] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        seed: int = 1,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.side = side
        self.labels = labels
        self.encoder = encoder
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.seed = seed
        self.settings = settings

    def fit(self, X: Iterable[str], y: Iterable[str] | None = None) -> ClickvecVectorizer:  # noqa: N803
        """Trains on the queries ``X`` and their titles ``y``; on the texts ``X`` alone if ``y`` has a classifier's labels."""
        queries = _texts(X)
        own = {name: getattr(self, name) for name in ("encoder", *_OF_TITLES, "seed")}
        y = None if y is None else list(y)
        if y is None or (_are_labels(y) if self.labels is None else self.labels):
            own = {f"titles.{name}" if name in _OF_TITLES else name: value for name, value in own.items()}
            self.model_ = train(titles=queries, progress=False, settings={**own, **(self.settings or {})})
        else:
            titles = _texts(y)
            if len(queries) != len(titles):
                raise ValueError(f"expected a title for each of {len(queries)} queries, found {len(titles)}")
            pairs = zip(queries, titles, strict=True)
            settings = {"held_out": 0.0, **own, **(self.settings or {})}
            self.model_ = train(pairs, progress=False, settings=settings)
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:  # noqa: N803
        """The vectors of texts, a row for each."""
        check_is_fitted(self, "model_")
        if self.side not in ("query", "document"):
            raise ValueError(f"side: expected query or document, found {self.side!r}")
        return self.model_.encode(_texts(X), prompt_name=self.side)

    def score(self, X: Iterable[str], y: Iterable[str]) -> float:  # noqa: N803
        """The mean reciprocal rank of each query's title among the distinct titles of ``y``."""
        check_is_fitted(self, "model_")
        titles, places = np.unique(_texts(y), return_inverse=True)
        scores = self.model_.encode_query(_texts(X)) @ self.model_.encode_document(titles).T
        own = scores[np.arange(len(places)), places]
        above = (scores > own[:, None]).sum(axis=1)
        tied = (scores == own[:, None]).sum(axis=1)
        # The mean place among ties.
        return float(np.mean(1.0 / (1.0 + above + (tied - 1) / 2.0)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the numbers."""
        check_is_fitted(self, "model_")
        return np.array([f"clickvec{number}" for number in range(self.model_.dimension)], dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__().copy()
        if isinstance(state.get("model_"), Model):
            # With the model itself: an estimator is one object, wherever it goes.
            state["model_"] = state["model_"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if isinstance(state.get("model_"), bytes):
            self.model_ = Model.from_bytes(state["model_"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags


def _are_labels(y: list[Any]) -> bool:
    """Whether they can hardly be titles."""
    if not y or not isinstance(y[0], str):
        return bool(y)
    texts = {one for one in y if isinstance(one, str)}
    return len(texts) < len(y) and (len(texts) <= 2 or not any(len(text.split()) > 1 for text in texts))


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
