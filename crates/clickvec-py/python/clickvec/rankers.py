"""Every system of the papers' tables except encoders: by name and parameters, trained by :meth:`System.fit`.

>>> ranker = Bm25(k1=1.2).fit(["red oak table", "blue sofa"])
>>> scores = ranker.score("sofa", ["blue sofa", "red oak table"])
>>> bool(scores[0] > scores[1])
True
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import _clickvec, _progress
from ._errors import Error, check_text
from ._tables import Path, Weighting, learnt_files

if TYPE_CHECKING:
    from ._types import Table, Titles


class Fitted:
    """A ranker that is ready to score. Any number of threads may use it."""

    def __init__(self, native: _clickvec.Ranker, name: str) -> None:
        self._native = native
        self._name = name

    def score(self, query: str, titles: Sequence[str]) -> NDArray[np.float64]:
        """A score for each title; larger is better. Only the order within a query matters."""
        check_text("query", query)
        return self._native.score(query, titles)

    def save(self, path: Path) -> None:
        """Writes the ranker to a file, which :func:`load` and ``clickvec evaluate`` read."""
        self._native.save(os.fspath(path))

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<fitted {self._name}>"


@dataclass(repr=False, eq=False)
class System:
    """A ranker before it is trained: its name and its parameters."""

    name: ClassVar[str]

    @property
    def _parameters(self) -> dict[str, float]:
        """The parameters that differ from the defaults, by their names in the program."""
        names = _parameter_names()[self.name]
        values = ((names[field.name], getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if value is not None}

    def __str__(self) -> str:
        shown = ",".join(f"{name}={_shown(value)}" for name, value in self._parameters.items())
        return f"{self.name}:{shown}" if shown else self.name

    def __repr__(self) -> str:
        shown = ", ".join(f"{_python(name)}={_shown(value)}" for name, value in self._parameters.items())
        return f"{type(self).__name__}({shown})"

    def fit(
        self,
        titles: Titles | None = None,
        clicks: Table | None = None,
        *,
        field: str = "title",
        weighting: Weighting = "log",
        load: Path | None = None,
        vectors: Path | Sequence[Path] | None = None,
        progress: bool | Callable[[dict[str, Any]], object] | None = None,
    ) -> Fitted:
        """Trains the ranker.

        :param titles: the collection: a path, strings, (id, title) pairs, or a table with these columns.
        :param clicks: a click log, for rankers that learn from clicks: a path, (query, title) or (query, title, weight)
            rows, or a table. Without titles, its titles are also the collection.
        :param weighting: how the column ``count`` of the clicks becomes a weight, as in :func:`clickvec.train`.
        :param load: a trained Skip-Thought encoder in its original form.
        :param vectors: vectors that another program trained, for the ranker vectors: one file, or queries' and titles'.
        :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.
        """
        with ExitStack() as stack:
            files = learnt_files(stack, titles, clicks, field, weighting, load, vectors)
            with _progress.Watch(progress) as watch:
                return Fitted(_clickvec.train_ranker(str(self), files, watch), str(self))


def load(path: Path) -> Fitted:
    """The ranker in a file: a model or a trained ranker."""
    native, _ = _clickvec.load_ranker(os.fspath(path))
    return Fitted(native, os.path.splitext(os.path.basename(os.fspath(path)))[0])


def named(spec: str) -> System:
    """The system of a description, such as ``bm25:k1=1.2,b=0.4``."""
    name, _, parameters = spec.partition(":")
    for system in SYSTEMS:
        if system.name == name.strip():
            pairs = (pair.partition("=") for pair in parameters.split(",") if pair)
            return system(**{_known(system, parameter.strip()): _value(spec, value) for parameter, _, value in pairs})
    raise Error(f"expected one of {', '.join(system.name for system in SYSTEMS)}, found `{name}`")


def _known(system: type[System], parameter: str) -> str:
    """A parameter of the system as an argument."""
    known = _parameter_names()[system.name]
    if _python(parameter) not in known:
        raise Error(f"{system.name}: expected one of {', '.join(known.values())}, found `{parameter}`")
    return _python(parameter)


def _value(spec: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise Error(f"{spec}: expected NAME=NUMBER, with commas between them, found `{value}` as a number") from None


def _shown(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


@cache
def _parameter_names() -> dict[str, dict[str, str]]:
    """For each system, the program's names of its parameters by their names as arguments."""
    return {of["name"]: {_python(each["name"]): each["name"] for each in of["parameters"]} for of in _clickvec.systems()}


def _python(name: str) -> str:
    """A parameter's name as an argument."""
    name = name.replace("-", "_")
    return name + "_" if name in ("lambda", "self") else name


@dataclass(repr=False, eq=False)
class Bm25(System):
    """Okapi BM25 (Robertson, Zaragoza 2009).

    :param k1: how slowly repetitions of a word saturate; 0 counts each word once (0 to 1000) [default: 0.9].
    :param b: how much the title's length counts, from 0 (not at all) to 1 (in full) (0 to 1) [default: 0.4].
    :param stem: 1 compares English plurals and singulars as one word (0 to 1) [default: 0].
    :param split: 1 separates numbers from letters: `12in` is `12` and `in` (0 to 1) [default: 0].
    :param fold: 1 takes accents off: `café` is `cafe` (0 to 1) [default: 0].
    """

    name = "bm25"
    k1: float | None = None
    b: float | None = None
    stem: int | None = None
    split: int | None = None
    fold: int | None = None


@dataclass(repr=False, eq=False)
class Ulm(System):
    """Unigram language model with Dirichlet smoothing (Zhai, Lafferty 2004).

    :param mu: how many words of the collection each title is smoothed with (0.001 to 1000000) [default: 20].
    """

    name = "ulm"
    mu: float | None = None


@dataclass(repr=False, eq=False)
class Lsa(System):
    """Latent semantic analysis (Deerwester et al. 1990).

    :param dimensions: singular values that are kept (1 to 10000) [default: 300].
    :param weighting: 0 counts words, 1 is log-entropy, 2 tf-idf (0 to 2) [default: 2].
    :param whitening: 1 folds in by the inverse singular values, 0 without them (0 to 1) [default: 1].
    """

    name = "lsa"
    dimensions: int | None = None
    weighting: int | None = None
    whitening: int | None = None


@dataclass(repr=False, eq=False)
class Plsa(System):
    """Probabilistic latent semantic analysis of titles, by EM with priors (Hofmann 1999).

    :param topics: topics (1 to 10000) [default: 100].
    :param clicked: 1: learn from the clicked titles, weighted by their clicks, instead of the collection (0 to 1) [default: 0].
    :param iterations: iterations of EM (1 to 100000) [default: 100].
    :param alpha: words that the prior adds to a title, over all topics together (0 to 1000000) [default: 1].
    :param beta: how often the prior adds each word to each topic (0 to 1000000) [default: 0.01].
    :param seed: the seed of what is random in training (0 to 4294967295) [default: 1].
    :param lambda_: the weight of the unigram language model; the topics get the rest (0 to 1) [default: 0.7].
    :param mu: how many words of the collection each title is smoothed with (0.001 to 1000000) [default: 20].
    """

    name = "plsa"
    topics: int | None = None
    clicked: int | None = None
    iterations: int | None = None
    alpha: float | None = None
    beta: float | None = None
    seed: int | None = None
    lambda_: float | None = None
    mu: float | None = None


@dataclass(repr=False, eq=False)
class Lda(System):
    """Latent Dirichlet allocation of titles, by Gibbs sampling (Wei, Croft 2006).

    :param topics: topics (1 to 10000) [default: 100].
    :param clicked: 1: learn from the clicked titles, weighted by their clicks, instead of the collection (0 to 1) [default: 0].
    :param sweeps: how often each word's topic is drawn again (1 to 1000000) [default: 300].
    :param samples: sweeps that the topics are averaged over: every fifth of the last half, at most this many (1 to 10000)
        [default: 20].
    :param alpha: words that the prior adds to a title, over all topics together (0.000001 to 1000000) [default: 1].
    :param beta: how often the prior adds each word to each topic (0.000001 to 1000000) [default: 0.01].
    :param seed: the seed of what is random in training (0 to 4294967295) [default: 1].
    :param lambda_: the weight of the unigram language model; the topics get the rest (0 to 1) [default: 0.7].
    :param mu: how many words of the collection each title is smoothed with (0.001 to 1000000) [default: 20].
    """

    name = "lda"
    topics: int | None = None
    clicked: int | None = None
    sweeps: int | None = None
    samples: int | None = None
    alpha: float | None = None
    beta: float | None = None
    seed: int | None = None
    lambda_: float | None = None
    mu: float | None = None


@dataclass(repr=False, eq=False)
class Bltm(System):
    """Bilingual topic model of clicked pairs, by EM with priors (Gao, Toutanova, Yih 2011).

    :param topics: topics (1 to 10000) [default: 100].
    :param iterations: iterations of EM (1 to 100000) [default: 100].
    :param alpha: words that the prior adds to a title, over all topics together (0 to 1000000) [default: 1].
    :param beta: how often the prior adds each word to each topic (0 to 1000000) [default: 0.01].
    :param seed: the seed of what is random in training (0 to 4294967295) [default: 1].
    :param lambda_: the weight of the unigram language model; the topics get the rest (0 to 1) [default: 0.7].
    :param mu: how many words of the collection each title is smoothed with (0.001 to 1000000) [default: 20].
    """

    name = "bltm"
    topics: int | None = None
    iterations: int | None = None
    alpha: float | None = None
    beta: float | None = None
    seed: int | None = None
    lambda_: float | None = None
    mu: float | None = None


@dataclass(repr=False, eq=False)
class Wtm(System):
    """Word translation model: IBM model 1 from titles to queries (Gao, He, Nie 2010).

    :param iterations: iterations of EM (1 to 1000) [default: 10].
    :param prior: how often each word counts as already seen as its own translation; 0 is plain model 1 (0 to 1000000)
        [default: 10].
    :param prune: translations less probable than this are dropped (0 to 1) [default: 0.001].
    :param alpha: the weight of the collection (0.000001 to 1) [default: 0.2].
    :param self_: of the title's part, the weight of its own words rather than their translations (0 to 1) [default: 0.3].
    """

    name = "wtm"
    iterations: int | None = None
    prior: float | None = None
    prune: float | None = None
    alpha: float | None = None
    self_: float | None = None


@dataclass(repr=False, eq=False)
class Ptm(System):
    """Phrase translation model: aligned phrases of clicked pairs (Gao, He, Nie 2010).

    :param iterations: iterations of EM (1 to 1000) [default: 10].
    :param prior: how often each word counts as already seen as its own translation; 0 is plain model 1 (0 to 1000000)
        [default: 10].
    :param prune: translations less probable than this are dropped (0 to 1) [default: 0.001].
    :param words: words of the longest phrase (1 to 3) [default: 3].
    :param discount: how often each title phrase counts as already seen without a translation (0 to 1000000) [default: 1].
    :param alpha: the weight of the collection (0.000001 to 1) [default: 0.2].
    :param self_: of the title's part, the weight of its own words rather than their translations (0 to 1) [default: 0.3].
    :param phrases: the weight of phrases rather than of their words (0 to 0.99) [default: 0.5].
    """

    name = "ptm"
    iterations: int | None = None
    prior: float | None = None
    prune: float | None = None
    words: int | None = None
    discount: float | None = None
    alpha: float | None = None
    self_: float | None = None
    phrases: float | None = None


@dataclass(repr=False, eq=False)
class Mrf(System):
    """Markov random field with sequential dependence (Metzler, Croft 2005).

    :param mu: how many words of the collection each title is smoothed with (0.001 to 1000000) [default: 20].
    :param lambda_t: the weight of single words (0 to 1) [default: 0.85].
    :param lambda_o: the weight of neighbouring query words that are neighbours in the title (0 to 1) [default: 0.1].
    :param lambda_u: the weight of neighbouring query words within 8 words of the title (0 to 1) [default: 0.05].
    """

    name = "mrf"
    mu: float | None = None
    lambda_t: float | None = None
    lambda_o: float | None = None
    lambda_u: float | None = None


@dataclass(repr=False, eq=False)
class Lce(System):
    """Latent concept expansion on top of mrf (Metzler, Croft 2007).

    :param mu: how many words of the collection each title is smoothed with (0.001 to 1000000) [default: 20].
    :param lambda_t: the weight of single words (0 to 1) [default: 0.85].
    :param lambda_o: the weight of neighbouring query words that are neighbours in the title (0 to 1) [default: 0.1].
    :param lambda_u: the weight of neighbouring query words within 8 words of the title (0 to 1) [default: 0.05].
    :param feedback: titles of the collection that the expansion is taken from (0 to 1000) [default: 20].
    :param concepts: words that are added to the query (0 to 1000) [default: 10].
    :param expansion: the weight of the expansion, from 0 (none) to 1 (it alone) (0 to 1) [default: 0.2].
    :param rarity: how much words that are frequent in the collection are held back (0 to 1) [default: 0].
    """

    name = "lce"
    mu: float | None = None
    lambda_t: float | None = None
    lambda_o: float | None = None
    lambda_u: float | None = None
    feedback: int | None = None
    concepts: int | None = None
    expansion: float | None = None
    rarity: float | None = None


@dataclass(repr=False, eq=False)
class Doc2Vec(System):
    """Paragraph vectors, DM and DBOW (Le, Mikolov 2014).

    :param dm: 1: distributed memory, the mean of text and context; 0: bag of words (0 to 1) [default: 1].
    :param size: numbers in a vector (1 to 10000) [default: 100].
    :param window: words of context on each side, at most (1 to 1000) [default: 5].
    :param min_count: words rarer than this are left out (1 to 4294967295) [default: 1].
    :param sample: words more frequent than this are dropped at random; 0 drops none (0 to 1) [default: 0.0001].
    :param negative: negative samples for each prediction (1 to 1000) [default: 5].
    :param epochs: passes over the texts (1 to 100000) [default: 30].
    :param alpha: the learning rate at the start; it falls linearly to 1e-4 (0.000001 to 1) [default: 0.025].
    :param dbow_words: 1: with dm=0, word vectors are learnt too (skip-gram) (0 to 1) [default: 0].
    :param seed: the seed of what is random in training (0 to 4294967295) [default: 1].
    """

    name = "doc2vec"
    dm: int | None = None
    size: int | None = None
    window: int | None = None
    min_count: int | None = None
    sample: float | None = None
    negative: int | None = None
    epochs: int | None = None
    alpha: float | None = None
    dbow_words: int | None = None
    seed: int | None = None


@dataclass(repr=False, eq=False)
class SkipThought(System):
    """Skip-Thought vectors, whose weights another program trained (Kiros et al. 2015).

    :param uni: 1 takes the encoder that reads forward only; 0 leaves it out (0 to 1) [default: 1].
    :param bi: 1 takes the two that read forward and backward; 0 leaves them out (0 to 1) [default: 1].
    """

    name = "skip-thought"
    uni: int | None = None
    bi: int | None = None


@dataclass(repr=False, eq=False)
class Trigram(System):
    """Cosine of letter trigrams with tf-idf (Salton, Buckley 1988, on the papers' word hashing).

    :param tf_power: the power of a trigram's count; 0 counts each once (0 to 4) [default: 1].
    :param idf_power: the power of its idf; 0 weighs all trigrams alike (0 to 4) [default: 1].
    :param fold: 1 takes accents off: `café` is `cafe` (0 to 1) [default: 0].
    """

    name = "trigram"
    tf_power: float | None = None
    idf_power: float | None = None
    fold: int | None = None


@dataclass(repr=False, eq=False)
class WordVectors(System):
    """Vectors of words, averaged, or of texts, from word2vec, fastText, GloVe or NumPy.

    :param idf: the power of a word's idf in the mean; 0 weighs all words alike (0 to 4) [default: 0].
    """

    name = "vectors"
    idf: float | None = None


#: Every system, in the order of the papers' tables.
SYSTEMS: tuple[type[System], ...] = (
    Bm25,
    Ulm,
    Lsa,
    Plsa,
    Lda,
    Bltm,
    Wtm,
    Ptm,
    Mrf,
    Lce,
    Doc2Vec,
    SkipThought,
    Trigram,
    WordVectors,
)
