#!/usr/bin/env python3
"""Rank judged titles with public tools' topics and word vectors, and print NDCG next to clickvec's own.

python3 bench/check_ndcg.py CLICKVEC --data FOLDER [--topics N] [--what plsa|lda|vectors …]

Needs gensim, scikit-learn and numpy. FOLDER has titles.tsv, clicks.tsv and judged.tsv.

- `lda` compared with gensim's LdaModel and scikit-learn's LatentDirichletAllocation, with the same priors;
- `plsa` compared with scikit-learn's NMF with the Kullback-Leibler divergence, which has the same maximum likelihood (Gaussier
  and Goutte 2005), but no priors;
- `vectors` with gensim's Word2Vec, trained on the titles and clicked queries: skip-gram and CBOW.

Public topics are learnt from the same titles, each tool infers the mixture of a judged title itself, and both are put
into the formula of docs/reference/rankers.md with the same weights. This check never fails, since two seeds differ as well.
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import needed

needed.packages("numpy", "gensim", "sklearn")

import numpy as np
from check_doc2vec import read, words
from gensim.corpora import Dictionary
from gensim.models import LdaModel, Word2Vec
from gensim.matutils import corpus2csc
from sklearn.decomposition import NMF, LatentDirichletAllocation

ALPHA, BETA, MU = 1.0, 0.01, 20.0
LAMBDAS = (0.3, 0.7)
SYSTEMS = ("plsa", "lda", "vectors")
WORD2VEC = dict(vector_size=100, window=5, min_count=1, negative=5, epochs=30, workers=1)


def ndcg(queries, scores):
    """NDCG@1/3/10, the mean over all orders of tied titles; gain 2^grade − 1."""
    sums = np.zeros(3)
    for (_, titles), of_query in zip(queries, scores, strict=True):
        gains = 2.0 ** np.array([grade for _, grade in titles]) - 1
        for at, cut in enumerate((1, 3, 10)):
            discount = 1 / np.log2(np.arange(2, 2 + len(gains)))
            discount[cut:] = 0
            ideal = np.sort(gains)[::-1] @ discount
            order = np.argsort(-of_query, kind="stable")
            found, place = 0.0, 0
            for run in np.split(order, np.flatnonzero(np.diff(-of_query[order])) + 1):
                found += gains[run].mean() * discount[place:place + len(run)].sum()
                place += len(run)
            sums[at] += found / ideal if ideal else 0
    return sums / len(queries)


def show(what, numbers, seconds):
    print(f"{what:52} {' '.join(f'{number:.3f}' for number in numbers)}  {seconds:5.0f} s", flush=True)


def with_clickvec(clickvec, folder, rankers):
    with tempfile.TemporaryDirectory() as cache:
        command = [clickvec, "lab", "table", "--judged", folder / "judged.tsv", "--titles", folder / "titles.tsv", "--clicks",
                   folder / "clicks.tsv", "--cache", cache, "--json", *(f"--ranker={ranker}" for ranker in rankers)]
        begin = time.monotonic()
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = (time.monotonic() - begin) / len(rankers)
    return [([system[f"ndcg@{k}"] for k in (1, 3, 10)], seconds) for system in result["systems"]]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("clickvec", type=Path)
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--topics", type=int, default=100)
    arguments.add_argument("--what", nargs="*", choices=SYSTEMS, default=SYSTEMS)
    args = arguments.parse_args()
    titles = [words(row["title"]) for row in read(args.data / "titles.tsv")]
    clicked = [words(row["query"]) for row in read(args.data / "clicks.tsv")]
    by_query = {}
    for row in read(args.data / "judged.tsv"):
        by_query.setdefault(row["query"], []).append((words(row["title"]), int(row["grade"])))
    queries = [(words(query), of) for query, of in by_query.items()]
    judged = list(dict.fromkeys(title for _, of in queries for title, _ in of))

    dictionary = Dictionary(titles)
    corpus = [dictionary.doc2bow(title) for title in titles]
    asked = [dictionary.doc2bow(title) for title in judged]
    frequency = np.array([dictionary.cfs[word] for word in range(len(dictionary))], float)
    total = frequency.sum()
    matrix = corpus2csc(corpus, num_terms=len(dictionary)).T.tocsr()
    matrix_asked = corpus2csc(asked, num_terms=len(dictionary)).T.tocsr()
    place = {title: i for i, title in enumerate(judged)}

    def scores(topics, mixtures, weight):
        """topics [T, words], mixtures [judged titles, T]."""
        for query, of in queries:
            found = np.zeros(len(of))
            for word in query:
                if (row := dictionary.token2id.get(word)) is None:
                    continue
                tf = np.array([title.count(word) for title, _ in of])
                lengths = np.array([len(title) for title, _ in of])
                ulm = (tf + MU * frequency[row] / total) / (lengths + MU)
                of_topics = np.array([mixtures[place[title]] @ topics[:, row] for title, _ in of])
                found += np.log(weight * ulm + (1 - weight) * of_topics)
            yield found

    def topics_of(name, learn):
        begin = time.process_time()
        topics, mixtures = learn()
        seconds = time.process_time() - begin
        topics = topics / topics.sum(1, keepdims=True)
        mixtures = mixtures / np.maximum(mixtures.sum(1, keepdims=True), 1e-300)
        for weight in LAMBDAS:
            show(f"{name}, lambda={weight}", ndcg(queries, scores(topics, mixtures, weight)), seconds)

    def gensim():
        model = LdaModel(corpus, num_topics=args.topics, id2word=dictionary, alpha=[ALPHA / args.topics] * args.topics,
                         eta=BETA, passes=10, iterations=100, random_state=1)
        return model.get_topics().astype(float), model.inference(asked)[0].astype(float)

    def sklearn_lda():
        model = LatentDirichletAllocation(args.topics, doc_topic_prior=ALPHA / args.topics, topic_word_prior=BETA,
                                          learning_method="online", batch_size=1024, max_iter=10, random_state=1)
        model.fit(matrix)
        return model.components_, model.transform(matrix_asked)

    def sklearn_nmf():
        model = NMF(args.topics, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=100, tol=0,
                    random_state=1)
        model.fit(matrix)
        return model.components_, model.transform(matrix_asked) * model.components_.sum(1)

    print(f"{len(titles)} titles, {len(dictionary)} words, {len(queries)} queries, {args.topics} topics\n")
    for name in (name for name in args.what if name != "vectors"):
        specs = [f"{name}:topics={args.topics},lambda={weight}" for weight in LAMBDAS]
        for spec, (numbers, seconds) in zip(specs, with_clickvec(args.clickvec, args.data, specs), strict=True):
            show(f"clickvec {spec}", numbers, seconds)
        if name == "plsa":
            topics_of("scikit-learn NMF, Kullback-Leibler", sklearn_nmf)
        else:
            topics_of("gensim LdaModel", gensim)
            topics_of("scikit-learn LatentDirichletAllocation", sklearn_lda)
    if "vectors" not in args.what:
        return

    texts = [list(text) for text in titles + clicked]
    with tempfile.TemporaryDirectory() as folder:
        for name, sg in (("skip-gram", 1), ("CBOW", 0)):
            begin = time.process_time()
            model = Word2Vec(texts, sg=sg, seed=1, **WORD2VEC)
            seconds = time.process_time() - begin
            path = Path(folder) / f"{name}.bin"
            model.wv.save_word2vec_format(path, binary=True)
            specs = [f"vectors:file={path}", f"vectors:file={path},idf=1"]
            for spec, (numbers, _) in zip(specs, with_clickvec(args.clickvec, args.data, specs)):
                show(f"gensim Word2Vec, {name}, {spec}", numbers, seconds)


if __name__ == "__main__":
    main()
