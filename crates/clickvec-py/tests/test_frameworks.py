"""Adapters, each tested with its framework's own kit where there is one."""

import pickle

import numpy as np
import pytest
from conftest import SHOP

import clickvec

TEXTS = ["red shoes", "desk lamp", "lether couch"]


def clicks():
    rows = [line.split("\t") for line in (SHOP / "clicks.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    return [row[0] for row in rows], [row[1] for row in rows]


def test_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.estimator_checks import check_estimator

    from clickvec.sklearn import ClickvecVectorizer

    vectorizer = ClickvecVectorizer(encoder={"cells": 8}, epochs=1)
    checks = check_estimator(vectorizer, on_fail=None, on_skip=None)
    failed = [(check["check_name"], check["exception"]) for check in checks if check["status"] == "failed"]
    assert not failed and any(check["status"] == "passed" for check in checks)
    queries, titles = clicks()
    vectorizer.set_params(titles=True)
    vectors = clone(vectorizer).fit(queries, titles).transform(TEXTS)
    assert vectors.shape == (3, 8)
    fitted = vectorizer.fit(queries, titles)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).transform(TEXTS), vectors)
    assert list(fitted.get_feature_names_out())[:2] == ["clickvec0", "clickvec1"]
    search = GridSearchCV(vectorizer, {"encoder": [{"cells": 2}, {"cells": 16}]}, cv=2, n_jobs=2).fit(queries, titles)
    assert search.best_params_ == {"encoder": {"cells": 16}}
    pipeline = make_pipeline(ClickvecVectorizer(encoder={"cells": 8}), LogisticRegression())
    pipeline.fit(queries, ["lamp" in query for query in queries])
    assert pipeline.score(queries, ["lamp" in query for query in queries]) > 0.8
    alone = dict(encoder={"kind": "lstm", "cells": 8}, epochs=1, batch_size=9, learning_rate=0.01)
    learnt = ClickvecVectorizer(**alone, settings={"titles.gamma": 8.0, "titles": {"views": {"drop": 0.2}}}).fit(titles)
    assert learnt.transform(TEXTS).shape == (3, 8)
    of_titles = learnt.model_.training["config"]["titles"]
    assert (of_titles["epochs"], of_titles["batch_size"], of_titles["gamma"]) == (1, 9, 8.0)
    assert of_titles["views"]["drop"] == pytest.approx(0.2)
    settings = {"encoder.kind": "clsm", "encoder.hidden": [12], "loss.gamma": 7.0}
    config = ClickvecVectorizer(titles=True, epochs=1, settings=settings).fit(queries, titles).model_.training["config"]
    assert (config["encoder"]["hidden"], config["loss"]["gamma"]) == ([12], 7.0)
    with pytest.raises(TypeError, match="text 1: expected a text, found NoneType"):
        vectorizer.fit(["a", None], ["b", "c"])


def test_langchain(model):
    pytest.importorskip("langchain_tests")
    from langchain_core.vectorstores import InMemoryVectorStore

    from clickvec.langchain import ClickvecEmbeddings

    embeddings = ClickvecEmbeddings(model)
    store = InMemoryVectorStore(embeddings)
    store.add_texts(TEXTS)
    assert store.similarity_search("lamp", k=1)[0].page_content == "desk lamp"
    assert np.allclose(embeddings.embed_query("lamp"), model.encode_query("lamp"))


try:
    from langchain_tests.integration_tests import EmbeddingsIntegrationTests
    from langchain_tests.unit_tests import EmbeddingsUnitTests

    from clickvec.langchain import ClickvecEmbeddings
except ImportError:
    pass
else:

    class TestLangChainUnit(EmbeddingsUnitTests):
        """LangChain's own tests."""

        embeddings_class = ClickvecEmbeddings
        embedding_model_params = {"model": str(SHOP.parent / "frozen" / "format-1" / "lstm.safetensors")}

    class TestLangChain(EmbeddingsIntegrationTests):
        """LangChain's own tests."""

        embeddings_class = ClickvecEmbeddings
        embedding_model_params = TestLangChainUnit.embedding_model_params


def test_llama_index(model):
    pytest.importorskip("llama_index.core")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    from clickvec.llama_index import ClickvecEmbedding

    embedding = ClickvecEmbedding(model)
    assert np.allclose(embedding.get_text_embedding_batch(TEXTS), model.encode_title(TEXTS))
    again = ClickvecEmbedding.from_dict(embedding.to_dict())
    assert again.get_query_embedding("lamp") == embedding.get_query_embedding("lamp") and again.path == model.path
    with pytest.raises(clickvec.Error, match="save it first"):
        ClickvecEmbedding(clickvec.Model.from_bytes(model.to_bytes())).to_dict()
    index = VectorStoreIndex([TextNode(text=text) for text in TEXTS], embed_model=embedding)
    found = index.as_retriever(similarity_top_k=1).retrieve("lamp")
    assert found[0].node.text == "desk lamp"


def test_haystack(model):
    pytest.importorskip("haystack")
    from haystack import Document, Pipeline
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    from clickvec.haystack import ClickvecDocumentEmbedder, ClickvecTextEmbedder

    store = InMemoryDocumentStore(embedding_similarity_function="dot_product")
    found = ClickvecDocumentEmbedder(model).run([Document(content=text) for text in TEXTS])
    store.write_documents(found["documents"])
    pipeline = Pipeline()
    pipeline.add_component("embedder", ClickvecTextEmbedder(model))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=1))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["clickvec.haystack"])
    assert again.run({"text": "lamp"})["retriever"]["documents"][0].content == "desk lamp"
    with pytest.raises(TypeError, match="expected a text"):
        ClickvecTextEmbedder(model).run(["lamp"])
    with pytest.raises(clickvec.Error, match="save it first"):
        ClickvecTextEmbedder(clickvec.Model.from_bytes(model.to_bytes())).to_dict()


def test_sentence_transformers(model, titles, tmp_path):
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    from clickvec.sentence_transformers import load

    ours = load(model)
    assert np.array_equal(ours.encode_query(TEXTS), model.encode_query(TEXTS))
    assert np.array_equal(ours.encode_document(TEXTS), model.encode_title(TEXTS))
    assert np.array_equal(ours.encode("red shoes"), model.encode("red shoes"))
    assert ours.get_embedding_dimension() == model.dimension
    folder = tmp_path / "folder"
    ours.save_pretrained(str(folder))
    for again in (load(folder), SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")):
        assert np.array_equal(again.encode_query(TEXTS), model.encode_query(TEXTS))
    assert clickvec.load(folder / "clickvec.safetensors") == model
    with pytest.raises(TypeError, match="expected a text"):
        ours.encode([3])
    # Its evaluator finds what evaluate finds.
    rows = [line.split("\t") for line in (SHOP / "judged.tsv").read_text(encoding="utf-8").splitlines()]
    header, rows = rows[0], rows[1:]
    query, title, grade = (header.index(name) for name in ("query", "title", "grade"))
    ids = {text: id for id, text in titles}
    relevant = {}
    for row in rows:
        relevant.setdefault(row[query], set()).update({ids[row[title]]} if int(row[grade]) >= 1 else set())
    relevant = {query: found for query, found in relevant.items() if found}
    evaluator = InformationRetrievalEvaluator(
        {query: query for query in relevant}, dict(titles), relevant, name="shop", mrr_at_k=[10], show_progress_bar=False
    )
    found = evaluator(ours)[evaluator.primary_metric.replace("ndcg@10", "mrr@10")]
    index = clickvec.Index.encode(model, titles)
    ranks = []
    for query, good in relevant.items():
        places = [of.rank for of in index.search(query, 10) if of.id in good]
        ranks.append(1 / places[0] if places else 0.0)
    assert np.isclose(found, np.mean(ranks), atol=0.02)
