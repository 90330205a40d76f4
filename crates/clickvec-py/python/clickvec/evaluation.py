"""Is one system better than another, on queries that people judged?"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _clickvec, _progress
from ._errors import Error
from ._figures import probability
from ._tables import Path, Weighting, is_path, judged_table, learnt_files
from .index import Index, on_disk
from .model import Model
from .rankers import SYSTEMS, Fitted, System

if TYPE_CHECKING:
    import pandas

    from ._types import How, Table, Titles

#: What is judged: a model, a ranker, its description or path, a run, an index, or a function of a query and titles that returns scores.
Judged = Model | Index | Fitted | System | Path | Callable[[str, list[str]], Any]
Systems = Judged | Iterable[Judged] | Mapping[str, Judged]


@dataclass(frozen=True)
class TTest:
    """The paired t-test of the difference a − b over all queries, as in the program's JSON."""

    a: str
    b: str
    metric: str
    difference: float
    t: float | None
    p: float
    #: p, corrected for all pairs of systems by Holm's method.
    holm: float


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well systems rank judged titles, with tests between all of them."""

    #: The mean of each metric, by system.
    means: dict[str, dict[str, float]]
    #: Every pair of systems, by each metric.
    tests: list[TTest]
    queries: list[str]
    query_ids: list[str]
    #: The number of queries without a relevant title, which score 0.
    queries_without_relevant: int
    #: The systems that could not be judged, and why.
    left_out: list[str]
    #: The names of the metrics.
    metrics: list[str]
    _values: dict[str, dict[str, Any]]

    @property
    def systems(self) -> list[str]:
        """The names of the systems."""
        return list(self.means)

    def columns(self) -> dict[str, list[Any]]:
        """A row for each system and query, as columns: system, query_id, query, and each metric."""
        columns: dict[str, list[Any]] = {"system": [], "query_id": [], "query": []}
        for name, values in self._values.items():
            columns["system"] += [name] * len(self.queries)
            columns["query_id"] += self.query_ids
            columns["query"] += self.queries
            for metric, of_queries in values.items():
                columns.setdefault(metric, []).extend(of_queries.tolist())
        return columns

    def per_query(self) -> pandas.DataFrame:
        """:meth:`columns` as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.columns())

    def t_test(self, a: str, b: str, metric: str = "ndcg@10") -> TTest:
        """The test of a − b."""
        for test in self.tests:
            if test.metric != metric:
                continue
            if (test.a, test.b) == (a, b):
                return test
            if (test.a, test.b) == (b, a):
                t = None if test.t is None else -test.t
                return TTest(a, b, metric, -test.difference, t, test.p, test.holm)
        raise Error(f"expected two of the systems {', '.join(self.systems)} and a metric, found {a}, {b}, {metric}")

    def __str__(self) -> str:
        names = self.metrics[:5]
        width = max((len(name) for name in self.means), default=6)
        lines = [f"{'system':{width}}  " + "  ".join(f"{name:>7}" for name in names)]
        for name, mean in self.means.items():
            lines.append(f"{name:{width}}  " + "  ".join(f"{mean[metric]:{max(7, len(metric))}.3f}" for metric in names))
        for test in self.tests:
            if test.metric == "ndcg@10":
                lines.append(f"{test.b} − {test.a}: NDCG@10 {-test.difference:+.3f}, p {probability(test.p)}")
        return "\n".join([*lines, *self.left_out])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names = self.metrics[:6]
        head = "".join(f"<th>{name}</th>" for name in names)
        rows = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td>"
            + "".join(f"<td>{mean[metric]:.3f}</td>" for metric in names)
            + "</tr>"
            for name, mean in self.means.items()
        )
        tests = "".join(
            f"<tr><td style='text-align:left'>{html.escape(test.b)} − {html.escape(test.a)}</td>"
            f"<td>{-test.difference:+.3f}</td>"
            + "".join(f"<td>{html.escape(probability(p))}</td>" for p in (test.p, test.holm))
            + "</tr>"
            for test in self.tests
            if test.metric == "ndcg@10"
        )
        first = "<table><tr><th style='text-align:left'>"
        between = f"{first}NDCG@10</th><th></th><th>p</th><th>Holm</th></tr>{tests}</table>" if tests else ""
        return f"{first}system</th>{head}</tr>{rows}</table>{between}<p>{len(self.queries):,} queries</p>"


def evaluate(
    systems: Systems,
    judged: Table,
    *,
    titles: Titles | None = None,
    clicks: Table | None = None,
    topics: Path | None = None,
    field: str = "title",
    weighting: Weighting = "log",
    ties: Literal["expected", "trec"] = "expected",
    gain: Literal["exponential", "linear"] = "exponential",
    relevant_from: int = 1,
    full: bool | int = False,
    measures: Sequence[str] = (),
    others: Sequence[Table] = (),
    output: Path | None = None,
    load: Path | None = None,
    vectors: Path | Sequence[Path] | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> Evaluation:
    """Judges systems, with the same figures and p-values as ``clickvec evaluate``.

    :param systems: a list, or a dict that names them. A system is a model; a ranker of :mod:`clickvec.rankers`, trained
        or not; its description, such as ``"bm25:k1=1.2"``; the path of a model or ranker (text that begins with the name of
        a ranker is a description); or a function of a query and a
        list of titles that returns a score for each; a TREC run of another program, by its path; or, with ``full``, an index. Functions are called on this thread, once for each judged
        query in the order of ``judged``. What one raises ends the evaluation.
    :param judged: judged titles: a path of any form that the program reads, (query, title, grade) rows, or a table with
        these columns.
    :param titles: the collection that rankers learn from; without it, the judged and clicked titles.
    :param clicks: a click log, for rankers that learn from clicks.
    :param weighting: how the column ``count`` of ``clicks`` becomes a weight, as in :func:`clickvec.train`.
    :param full: search the whole collection for so many titles, ``True`` for 1000, instead of ranking only the judged ones. The
        collection is ``titles`` or, without them, the titles of the first index.
    :param measures: metrics such as ``"recall@100"`` [default: those of the program].
    :param others: titles that other judges graded, which count where ``judged`` has no grade.
    :param output: a folder to write the judgments, each ranking as a TREC run, and the figures of every query to.
    :param progress: a function that is called with every event, a dict; ``True`` or ``False`` to show a line or nothing.

    Judged queries that are also in ``clicks`` give a warning: what learns from them may know the answers.

    >>> judged = [("sofa", "grey sofa", 4), ("sofa", "lamp", 0), ("lamp", "desk lamp", 4), ("lamp", "sofa bed", 1)]
    >>> result = evaluate(["bm25", "trigram"], judged)
    >>> result.means["bm25"]["ndcg@1"]
    1.0
    >>> round(result.t_test("bm25", "trigram").p, 2)
    1.0
    """
    with ExitStack() as stack:
        files = learnt_files(stack, titles, clicks, field, weighting, load, vectors)
        if judged is None:
            raise TypeError("judged: expected judged titles, found None")
        if relevant_from not in range(11):
            raise Error(f"relevant_from: expected a grade, 0 to 10, found {relevant_from!r}")
        how: How = {
            "judged": [stack.enter_context(judged_table(table, "judged", field)) for table in (judged, *others)],
            "topics": None if topics is None else os.fspath(topics),
            "full": 1000 if full is True else (full or None),
            "measures": [measures] if isinstance(measures, str) else list(measures),
            "output": None if output is None else os.fspath(output),
            "ties": ties,
            "gain": gain,
            "relevant_from": int(relevant_from),
        }
        with _progress.Watch(progress) as watch:
            found = _clickvec.evaluate([_system(name, system) for name, system in _named(systems)], files, how, watch)
    return Evaluation(
        means={system["name"]: system["mean"] for system in found["systems"]},
        tests=[TTest(**test) for test in found["tests"]],
        queries=found["queries"],
        query_ids=found["query_ids"],
        queries_without_relevant=found["queries_without_relevant"],
        left_out=found["left_out"],
        metrics=found["metrics"],
        _values={system["name"]: system["values"] for system in found["systems"]},
    )


def _named(systems: object) -> list[tuple[str | None, object]]:
    if isinstance(systems, Mapping):
        return [(str(name), system) for name, system in systems.items()]
    if isinstance(systems, str | os.PathLike | Model | Index | Fitted | System) or callable(systems):
        return [(None, systems)]
    if not isinstance(systems, Iterable):
        raise TypeError(f"systems: expected a list or a dict of systems, found {type(systems).__name__}")
    return [(None, system) for system in systems]


def _system(name: str | None, system: object) -> tuple[str | None, object]:
    """What the native module takes."""
    if isinstance(system, Model):
        own = "model" if system.path is None else os.path.splitext(os.path.basename(system.path))[0]
        return name or own, system._native
    if isinstance(system, Index):
        return name, ("file", on_disk(system))
    if isinstance(system, Fitted):
        return name or str(system), system._native
    if isinstance(system, System):
        return name, ("spec", str(system))
    if is_path(system):
        text = os.fspath(system)
        is_spec = isinstance(system, str) and text.partition(":")[0].strip() in {of.name for of in SYSTEMS}
        is_file = not isinstance(system, str) or text.endswith(".safetensors") or (not is_spec and os.path.exists(text))
        return name, ("file" if is_file else "spec", text)
    if isinstance(system, type):
        ways = f"{system.__name__}() is a ranker" if issubclass(system, System) else "give one of its objects"
        raise TypeError(f"expected a model, a ranker, a path or a function, found the class {system.__name__}; {ways}")
    if callable(system):
        return name or getattr(system, "__name__", "function"), system
    raise TypeError(f"expected a model, a ranker, a path or a function, found {type(system).__name__}")
