"""Collections of ir_datasets as clicks, titles and judged titles.

>>> from clickvec.ir_datasets import read  # doctest: +SKIP
>>> data = read("beir/scifact/test")  # doctest: +SKIP
>>> clickvec.evaluate("bm25", data.judged, titles=data.titles)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import ir_datasets

from ._errors import Error

#: The fields that may have the title of a document, in the order in which they are looked for.
_TITLES = ("title", "text", "body")


class Collection(NamedTuple):
    """What :func:`clickvec.train`, :func:`clickvec.evaluate` and :class:`clickvec.Index` take."""

    #: (query, title, weight) for each title that was clicked, or judged relevant, for a query.
    clicks: list[tuple[str, str, float]]
    #: (id, title) for each document.
    titles: list[tuple[str, str]]
    #: (query, title, grade, query_id, title_id) for each judgment. Titles that are not relevant have the grade 0.
    judged: list[tuple[str, str, int, str, str]]


def read(dataset: Any, field: str | None = None) -> Collection:
    """Reads a dataset of ir_datasets: its documents, queries and qrels, and the clicks of a log if it has one.

    Learn from ``clicks`` of one part, such as ``beir/scifact/train``, and judge by another: without a log, ``clicks`` are the
    relevant titles of ``judged``.

    :param dataset: a dataset, or its name.
    :param field: the field of a document that is its title [default: the first of title, text and body].
    """
    data = ir_datasets.load(dataset) if isinstance(dataset, str) else dataset
    name = data.dataset_id() if hasattr(data, "dataset_id") else "the dataset"
    if not data.has_docs():
        raise Error(f"{name}: expected a dataset with documents, found none; name a part that has them")
    fields = data.docs_cls()._fields
    title = field or next((one for one in _TITLES if one in fields), None)
    if title is None or title not in fields:
        wanted = f"`{field}`" if field else "title, text or body"
        raise Error(f"{name}: expected a field {wanted}, found {', '.join(fields)}; name one as `field`")
    titles = [(document.doc_id, " ".join(str(getattr(document, title)).split())) for document in data.docs_iter()]
    by_id = dict(titles)
    queries = {query.query_id: _text(query) for query in data.queries_iter()} if data.has_queries() else {}
    judged = [
        (queries[one.query_id], by_id[one.doc_id], min(one.relevance, 10), one.query_id, one.doc_id)
        for one in (data.qrels_iter() if data.has_qrels() else ())
        # As in trec_eval, a negative relevance means that the document was not judged.
        if one.relevance >= 0 and one.query_id in queries and one.doc_id in by_id
    ]
    clicks = list(_clicks(data, queries, by_id)) or [(query, text, float(grade)) for query, text, grade, *_ in judged if grade > 0]
    return Collection(clicks, titles, judged)


def _text(query: Any) -> str:
    return " ".join(str(getattr(query, "text", None) or getattr(query, "title", "")).split())


def _clicks(data: Any, queries: dict[str, str], titles: dict[str, str]) -> Iterator[tuple[str, str, float]]:
    """The clicks of a log, if the dataset has one."""
    for row in data.qlogs_iter() if data.has_qlogs() else ():
        query = getattr(row, "query", None) or queries.get(getattr(row, "query_id", ""))
        for item in getattr(row, "items", ()):
            if query and item.clicked and item.doc_id in titles:
                yield query, titles[item.doc_id], 1.0
