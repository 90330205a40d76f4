"""Bridges to packages of information retrieval, each tested against the package itself, without a download."""

import pytest
from conftest import SHOP

import clickvec


@pytest.fixture(scope="module")
def index(model, titles, tmp_path_factory):
    """The shop's titles."""
    return clickvec.Index.encode(model, titles, tmp_path_factory.mktemp("terrier") / "i")


def test_pyterrier(index, titles):
    pandas = pytest.importorskip("pandas")
    pyterrier = pytest.importorskip("pyterrier")
    from clickvec.pyterrier import ClickvecRetriever

    queries = pandas.DataFrame([("q1", "lether couch"), ("q2", "?!"), ("q3", "desk lamp")], columns=["qid", "query"])
    retriever = ClickvecRetriever(index.path, num_results=5)
    found = retriever(queries)
    assert list(found.columns) == ["qid", "query", "docno", "title", "score", "rank"]
    assert found["qid"].tolist() == ["q1"] * 5 + ["q3"] * 5 and found["rank"].tolist() == [*range(5)] * 2
    assert found["docno"].tolist()[:5] == [of.id for of in index.search("lether couch", 5, min_confidence=0)]
    # A pipeline: cut, searched with words besides, and fused.
    assert len((retriever % 2)(queries)) == 4
    both = retriever + ClickvecRetriever(index, mode="words", num_results=5)
    assert set(both(queries)["qid"]) == {"q1", "q3"}
    with pytest.raises(Exception, match="does not match required columns"):
        retriever(queries.drop(columns="query"))


def test_ir_datasets(titles):
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets import Dataset
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericDoc, GenericQuery, TrecQrel

    from clickvec.ir_datasets import read

    rows = [line.split("\t") for line in (SHOP / "judged.tsv").read_text(encoding="utf-8").splitlines()]
    place = {name: rows[0].index(name) for name in ("query", "title", "grade")}
    ids = {title: id for id, title in titles}
    texts = sorted({row[place["query"]] for row in rows[1:]})

    class Docs(BaseDocs):
        def docs_iter(self):
            return (GenericDoc(id, f"{title}\n") for id, title in titles)

        def docs_cls(self):
            return GenericDoc

    class Queries(BaseQueries):
        def queries_iter(self):
            return (GenericQuery(str(number), text) for number, text in enumerate(texts))

    class Qrels(BaseQrels):
        def qrels_iter(self):
            for row in rows[1:]:
                query, title, grade = (row[place[name]] for name in ("query", "title", "grade"))
                yield TrecQrel(str(texts.index(query)), ids[title], int(grade), "0")
            # Not judged.
            known = {row[place["title"]] for row in rows if row[place["query"]] == texts[0]}
            yield TrecQrel("0", next(id for id, title in titles if title not in known), -2, "0")

    data = read(Dataset(Docs(), Queries(), Qrels()))
    assert data.titles == titles and len(data.judged) == len(rows) - 1
    assert all(weight > 0 for *_, weight in data.clicks)
    ours = clickvec.evaluate("bm25", data.judged, titles=data.titles)
    assert ours.means["bm25"] == clickvec.evaluate("bm25", SHOP / "judged.tsv", titles=titles).means["bm25"]
    assert clickvec.train(data.clicks, epochs=1, encoder={"cells": 4}, progress=False).dimension == 4
    with pytest.raises(clickvec.Error, match="expected a field `body`, found doc_id, text"):
        read(Dataset(Docs(), Queries(), Qrels()), field="body")
    assert ir_datasets.load("vaswani").has_qrels()


def test_ir_datasets_log(titles):
    pytest.importorskip("ir_datasets")
    from ir_datasets import Dataset
    from ir_datasets.datasets.tripclick import LogItem, TripClickPartialDoc, TripClickQlog
    from ir_datasets.formats import BaseDocs, BaseQlogs

    from clickvec.ir_datasets import read

    shown = tuple(LogItem(id, place in (1, 3)) for place, (id, _) in enumerate(titles[:5]))

    class Docs(BaseDocs):
        def docs_iter(self):
            return (TripClickPartialDoc(id, title, "") for id, title in titles)

        def docs_cls(self):
            return TripClickPartialDoc

    class Log(BaseQlogs):
        def qlogs_iter(self):
            yield TripClickQlog("s", "q", "oak shelf", "Oak Shelf", None, (*shown, LogItem("not a title", True)))
            yield TripClickQlog("s", "none", "", "", None, shown)

    data = read(Dataset(Docs(), Log()))
    assert data.clicks == [("oak shelf", titles[1][1], 1.0), ("oak shelf", titles[3][1], 1.0)]
    assert data.titles == titles and data.judged == []


def test_mteb(model, titles, tmp_path):
    mteb = pytest.importorskip("mteb")
    from datasets import Dataset
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
    from mteb.mocks.mock_tasks.retrieval import MockRetrievalTask
    from mteb.mocks.mock_tasks.sts import MockSTSTask
    from mteb.models.models_protocols import EncoderProtocol, SearchProtocol

    from clickvec.mteb import ClickvecEncoder, ClickvecSearch

    ids = {title: id for id, title in titles}
    rows = [line.split("\t") for line in (SHOP / "judged.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    relevant: dict[str, dict[str, int]] = {}
    for query, title, grade in rows:
        relevant.setdefault(query, {})[ids[title]] = int(grade)

    class Shop(MockRetrievalTask):
        top_ranked = None

        def load_data(self, num_proc=None, **kwargs):
            split = RetrievalSplitData(
                queries=Dataset.from_list([{"id": query, "text": query} for query in relevant]),
                corpus=Dataset.from_list([{"id": id, "title": "", "text": title} for id, title in titles]),
                relevant_docs=relevant,
                top_ranked=self.top_ranked,
            )
            self.dataset = {"default": {"test": split, "val": split}}
            self.data_loaded = True

    def main_score(system, task):
        found = mteb.evaluate(system, task, cache=None, show_progress_bar=False)
        return found[0].scores["test"][0]["main_score"]

    search, encoder = ClickvecSearch(model.path), ClickvecEncoder(model)
    assert isinstance(search, SearchProtocol) and isinstance(encoder, EncoderProtocol)
    index = clickvec.Index.encode(model, titles, tmp_path / "i")
    of_program = {"titles": titles, "full": 1000, "gain": "linear", "ties": "trec", "measures": ["ndcg@10"]}
    judged = [(query, title, int(grade)) for query, title, grade in rows]
    ours = clickvec.evaluate({"index": index, "model": model}, judged, **of_program)
    assert main_score(search, Shop()) == pytest.approx(ours.means["index"]["ndcg@10"], abs=1e-3)
    assert main_score(encoder, Shop()) == pytest.approx(ours.means["model"]["ndcg@10"], abs=1e-3)
    Shop.top_ranked = {query: list(of) for query, of in relevant.items()}
    assert main_score(search, Shop()) > main_score(ClickvecSearch(model, mode="words"), Shop()) > 0
    assert -1 <= main_score(encoder, MockSTSTask()) <= 1
