"""A trained model, with the names that users of sentence-transformers know."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _clickvec
from ._errors import Error, check_text
from ._tables import Path
from .explanation import Explanation

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Unpack

    from ._types import Texts

Vectors = NDArray[np.float32]
Halves = NDArray[np.float16]
Bytes = NDArray[np.int8]
Precision = Literal["float32", "float16", "int8"]
#: Which tower encodes.
Tower = Literal["query", "title"]
_PRECISIONS = ("float32", "float16", "int8")


class TensorOptions(TypedDict, total=False):
    """The arguments of :meth:`Model.encode` that do not change what it returns."""

    batch_size: int | None
    show_progress_bar: bool | None
    device: object
    normalize_embeddings: bool
    output_value: Literal["sentence_embedding"]
    truncate_dim: int | None


class EncodeOptions(TensorOptions, total=False):
    """Also those of arrays."""

    convert_to_numpy: bool
    convert_to_tensor: Literal[False]


class Model:
    """A trained model. It never changes, and any number of threads may use it.

    >>> model = Model.load("testdata/frozen/format-1/lstm.safetensors")
    >>> query = model.encode_query("oak vanity")
    >>> titles = model.encode_title(["oak vanity with sink", "garden hose"])
    >>> scores = model.similarity(query, titles)
    >>> scores.shape, bool(scores[0, 0] > scores[0, 1])
    ((1, 2), True)
    """

    __slots__ = ("__weakref__", "_native", "_path", "history")

    def __init__(
        self, native: _clickvec.Model, *, path: str | None = None, history: list[dict[str, Any]] | None = None
    ) -> None:
        if not isinstance(native, _clickvec.Model):
            raise TypeError(f"expected a model that was learnt, found {type(native).__name__}; Model.load opens a file")
        self._native = native
        self._path = path
        #: The events of the training that made it, without the progress within epochs; empty if it was loaded.
        self.history = history or []

    @classmethod
    def load(cls, path: Path) -> Model:
        """The model in a file that ``train`` wrote, here or in the program. As long as it is in use, loading it once more is free."""
        native, loaded = None, os.path.abspath(path)
        try:
            found = os.stat(path)
        except OSError:
            key = None
        else:
            key = (os.path.realpath(path), found.st_ino, found.st_mtime_ns, found.st_size)
            native = _LOADED.get(key)
        model = cls(_clickvec.Model.load(os.fspath(path)) if native is None else native._native, path=loaded)
        if key is not None:
            _LOADED[key] = model
        return model

    def save(self, path: Path) -> None:
        """Writes the model to a file."""
        self._native.save(os.fspath(path))
        self._path = os.path.abspath(path)

    def to_bytes(self) -> bytes:
        """The bytes of the model's file."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The model whose file has these bytes."""
        return cls(_clickvec.Model.from_bytes(data))

    @property
    def fingerprint(self) -> str:
        """A fingerprint of dictionary, weights and settings. Models with equal fingerprints encode alike."""
        return self._native.fingerprint

    @property
    def dimension(self) -> int:
        """The size of a vector."""
        return self._native.dimension

    def get_embedding_dimension(self) -> int:
        """:attr:`dimension`, by sentence-transformers' name."""
        return self.dimension

    get_sentence_embedding_dimension = get_embedding_dimension

    @property
    def path(self) -> str | None:
        """The file it was loaded from or saved to."""
        return self._path

    @property
    def shared_towers(self) -> bool:
        """Whether queries and titles share their weights."""
        return self._native.shared_towers

    @property
    def training(self) -> dict[str, Any]:
        """What the model records of its training: settings, the log's figures, the epoch."""
        return self._native.training()

    @overload
    def encode_query(self, inputs: Texts, *, precision: Literal["float32"] = ..., **options: Unpack[EncodeOptions]) -> Vectors: ...
    @overload
    def encode_query(self, inputs: Texts, *, precision: Literal["float16"], **options: Unpack[EncodeOptions]) -> Halves: ...
    @overload
    def encode_query(self, inputs: Texts, *, precision: Literal["int8"], **options: Unpack[EncodeOptions]) -> Bytes: ...
    @overload
    def encode_query(self, inputs: Texts, *, convert_to_tensor: Literal[True], **options: Unpack[TensorOptions]) -> Tensor: ...
    def encode_query(self, inputs: Texts, **options: Any) -> Any:
        """The vectors of queries; see :meth:`encode`."""
        return self.encode(inputs, "query", **options)

    @overload
    def encode_title(self, inputs: Texts, *, precision: Literal["float32"] = ..., **options: Unpack[EncodeOptions]) -> Vectors: ...
    @overload
    def encode_title(self, inputs: Texts, *, precision: Literal["float16"], **options: Unpack[EncodeOptions]) -> Halves: ...
    @overload
    def encode_title(self, inputs: Texts, *, precision: Literal["int8"], **options: Unpack[EncodeOptions]) -> Bytes: ...
    @overload
    def encode_title(self, inputs: Texts, *, convert_to_tensor: Literal[True], **options: Unpack[TensorOptions]) -> Tensor: ...
    def encode_title(self, inputs: Texts, **options: Any) -> Any:
        """The vectors of titles; see :meth:`encode`."""
        return self.encode(inputs, "title", **options)

    @overload
    def encode(
        self, inputs: Texts, tower: Tower | None = None, *, precision: Literal["float32"] = ..., **options: Unpack[EncodeOptions]
    ) -> Vectors: ...
    @overload
    def encode(
        self, inputs: Texts, tower: Tower | None = None, *, precision: Literal["float16"], **options: Unpack[EncodeOptions]
    ) -> Halves: ...
    @overload
    def encode(
        self, inputs: Texts, tower: Tower | None = None, *, precision: Literal["int8"], **options: Unpack[EncodeOptions]
    ) -> Bytes: ...
    @overload
    def encode(
        self, inputs: Texts, tower: Tower | None = None, *, convert_to_tensor: Literal[True], **options: Unpack[TensorOptions]
    ) -> Tensor: ...
    def encode(
        self,
        inputs: Texts,
        tower: Tower | None = None,
        *,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        precision: Precision = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: object = None,
        normalize_embeddings: bool = True,
        output_value: str = "sentence_embedding",
        truncate_dim: int | None = None,
        **refused: object,
    ) -> Any:
        """The vectors of texts, which have unit length: a dot product is the score of a search.

        A text without a word gives zeros. ``inputs`` are a string, which gives one vector, or any iterable of strings or
        column of Arrow, which gives a matrix with a row for each. ``tower`` is ``"query"`` or ``"title"``;
        without it texts are encoded as titles, which makes a difference only in a model with two towers.

        Of the other arguments of sentence-transformers, these mean something: ``precision`` (``"float32"``,
        ``"float16"``, or ``"int8"``, which is 127 times the number, rounded), ``show_progress_bar``,
        ``convert_to_tensor``. ``batch_size``, ``device="cpu"`` and ``normalize_embeddings=True`` change nothing.
        Anything else is refused.
        """
        if tower not in (None, "query", "title"):
            raise Error(f'tower: expected "query" or "title", found {tower!r}')
        side = tower or "title"
        del batch_size  # every size gives the same vectors
        _refuse("device", str(device) if device is not None else "cpu", "cpu")
        _refuse("normalize_embeddings", normalize_embeddings, True)
        _refuse("output_value", output_value, "sentence_embedding")
        _refuse("convert_to_numpy", convert_to_numpy or convert_to_tensor, True)
        _refuse("truncate_dim", truncate_dim or self.dimension, self.dimension)
        for name, value in refused.items():
            if value is not None:
                raise TypeError(f"encode() does not take the argument '{name}'")
        if precision not in _PRECISIONS:
            raise Error(f"precision: expected one of {', '.join(_PRECISIONS)}, found {precision!r}")
        if hasattr(inputs, "columns") and not hasattr(inputs, "to_pylist"):
            raise TypeError(f"expected a text or texts, found a table ({type(inputs).__name__}); name one of its columns")
        vectors = None
        if show_progress_bar and not hasattr(inputs, "__arrow_c_stream__"):
            vectors = _with_bar(inputs, lambda part: self._native.encode(part, side))
        if vectors is None:
            vectors = self._native.encode(inputs, side)
        rounded = _rounded(vectors, precision)
        if convert_to_tensor:
            import torch

            return torch.from_numpy(rounded)
        return rounded

    def similarity(self, a: ArrayLike, b: ArrayLike) -> Vectors:
        """The cosines of vectors of any length: a row for each of ``a``, a column for each of ``b``; 0 for zeros.

        Vectors of a model have length 1, but not those of a smaller ``precision``, means, and the like.
        """
        return _unit(a) @ _unit(b).T

    def similarity_pairwise(self, a: ArrayLike, b: ArrayLike) -> Vectors:
        """The cosine of each vector of ``a`` with the one of ``b`` at the same place."""
        return cast(Vectors, np.einsum("ij,ij->i", _unit(a), _unit(b)))

    def explain(self, query: str, title: str) -> Explanation:
        """Why a title has its score for a query: what each word adds. A notebook shows it in colours.

        >>> model = Model.load("testdata/frozen/format-1/lstm.safetensors")
        >>> why = model.explain("oak vanity", "vanity of oak")
        >>> [word.word for word in why.query_words]
        ['oak', 'vanity']
        """
        check_text("query", query)
        check_text("title", title)
        return Explanation._of(self._native.explain(query, title))

    def __repr__(self) -> str:
        return f"Model({self._native.encoder}, {self.dimension} numbers, fingerprint {self.fingerprint})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: object) -> Model:
        return self

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[object, ...]]:
        return (_unpickled, (self.fingerprint, self.to_bytes(), self._path))


def load(path: Path) -> Model:
    """:meth:`Model.load`."""
    return Model.load(path)


#: The models in use that were read from files, by file, and that were unpickled, by fingerprint.
_LOADED: WeakValueDictionary[tuple[str, int, int, int], Model] = WeakValueDictionary()
_UNPICKLED: WeakValueDictionary[str, Model] = WeakValueDictionary()


def _unpickled(fingerprint: str, data: bytes, path: str | None) -> Model:
    known = _UNPICKLED.get(fingerprint)
    model = Model(_clickvec.Model.from_bytes(data) if known is None else known._native, path=path)
    _UNPICKLED[fingerprint] = model
    return model


def _refuse(name: str, value: object, only: object) -> None:
    if value != only:
        raise Error(f"{name}: expected {only!r}, found {value!r}")


def _rounded(vectors: Vectors, precision: str) -> Vectors | Halves | Bytes:
    if precision == "float16":
        return cast(Halves, vectors.astype(np.float16))
    if precision == "int8":
        return cast(Bytes, np.rint(vectors * np.float32(127.0)).astype(np.int8))
    return vectors


def _with_bar(texts: object, encode: Callable[[object], Vectors]) -> Vectors | None:
    """Encodes a part at a time and shows how far it is; ``None`` if that is not possible here."""
    if isinstance(texts, str):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    items = list(cast(Iterable[str], texts))
    size = 1 << 17
    parts = range(0, len(items), size)
    return np.concatenate([encode(items[start : start + size]) for start in tqdm(parts, desc="encoding")]) if parts else None


def _unit(vectors: ArrayLike) -> Vectors:
    """Rows of length 1, or of zeros."""
    array = np.atleast_2d(np.asarray(vectors)).astype(np.float32, copy=False)
    lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    return cast(Vectors, array / np.where(lengths > 0, lengths, np.float32(1)))
