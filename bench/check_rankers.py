#!/usr/bin/env python3
"""Compare rankers of clickvec with public implementations: BM25 with rank_bm25, LSA with scikit-learn's TruncatedSVD,
letter trigrams with its TfidfVectorizer.

python3 bench/check_rankers.py CLICKVEC JUDGED TITLES [--dimensions K]

Needs numpy, scipy, scikit-learn, safetensors and rank_bm25. JUDGED and TITLES are what `clickvec evaluate` reads
(query, title, grade; id, title). Both sides score the same judged pairs, and the largest difference between two
scores is printed. The exit status is 1 if one is larger than allowed.
"""
import argparse
import collections
import csv
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

import lab_rankers
import needed

needed.packages("numpy", "scipy", "rank_bm25", "safetensors", "sklearn")

import numpy as np
import scipy.sparse
from rank_bm25 import BM25Okapi
from safetensors.numpy import load_file
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer


def words(text):
    """The words of the program in languages with spaces: docs/reference/tables.md has the rule for every script."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    return re.findall(r"[^\W_]+", re.sub("['\u2019\u02bc]", "", text))


def table(path, *columns):
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        head = next(rows)
        places = [head.index(column) for column in columns]
        return [tuple(row[place] for place in places) for row in rows]


class Program:
    """Scores of the program for every judged pair, by (query id, title id)."""

    def __init__(self, arguments, rankers):
        self.folder = Path(tempfile.mkdtemp(prefix="check_rankers"))
        started = time.time()
        data = ["--judged", arguments.judged, "--titles", arguments.titles]
        files = lab_rankers.train(arguments.clickvec, rankers, self.folder / "rankers", *data)
        lab_rankers.judge(arguments.clickvec, files, self.folder / "runs", arguments.judged)
        print(f"{len(rankers)} rankers of the program: {time.time() - started:.1f} s")
        # All pairs of the first query come first, then those of the second.
        self.pairs = [tuple(line.split()[::2][:2]) for line in open(self.folder / "runs" / "judged.qrels", encoding="utf-8")]

    def file(self, ranker, folder, ending):
        return self.folder / folder / (re.sub(r"[^\w.=,-]", "_", ranker) + ending)

    def scores(self, ranker):
        """Scores in the order of the pairs."""
        found = {}
        for line in open(self.file(ranker, "runs", ".run"), encoding="utf-8"):
            query, _, title, _, score, _ = line.split()
            found[query, title] = float(score)
        return np.array([found[pair] for pair in self.pairs])

    def arrays(self, ranker):
        return load_file(self.file(ranker, "rankers", ".safetensors"))


def cosines(a, b):
    product = np.asarray(a.multiply(b).sum(axis=1)).ravel() if scipy.sparse.issparse(a) else (a * b).sum(axis=1)
    length = [np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel()) if scipy.sparse.issparse(x)
              else np.linalg.norm(x, axis=1) for x in (a, b)]
    lengths = length[0] * length[1]
    return np.divide(product, lengths, out=np.zeros(len(product)), where=lengths > 0)


def bm25(titles, pairs, k1, b):
    """rank_bm25 with our idf; its own has no +1 and differs for words in half the titles or more."""
    model = BM25Okapi(titles, k1=k1, b=b)
    df = collections.Counter(word for title in titles for word in set(title))
    n = len(titles)
    model.idf = {word: np.log(1 + (n - count + 0.5) / (count + 0.5)) for word, count in df.items()}
    # It scores only titles of its collection.
    place = {tuple(title): number for number, title in reversed(list(enumerate(titles)))}
    return np.array([model.get_batch_scores(query, [place[tuple(title)]])[0] if tuple(title) in place else np.nan
                     for query, title in pairs])


def report(what, found, expected, most):
    compared = ~np.isnan(expected)
    difference = np.abs(found - expected)[compared].max()
    print(f"{what}: {compared.sum()} numbers, largest {np.abs(expected[compared]).max():.3g}, "
          f"largest difference {difference:.2g}")
    return difference <= most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clickvec")
    parser.add_argument("judged")
    parser.add_argument("titles")
    parser.add_argument("--dimensions", type=int, default=100)
    arguments = parser.parse_args()
    k = arguments.dimensions
    lsa = [f"lsa:dimensions={k},weighting={weighting},whitening={whitening}"
           for weighting in (0, 1, 2) for whitening in (1, 0)]
    program = Program(arguments, ["bm25", "bm25:k1=1.5,b=0.75", "trigram", *lsa])

    titles = [words(title) for title, in table(arguments.titles, "title")]
    by_query = {}
    for query, title in table(arguments.judged, "query", "title"):
        by_query.setdefault(query, []).append(title)
    pairs = [(words(query), words(title)) for query, judged in by_query.items() for title in judged]
    assert len(pairs) == len(program.pairs), "expected no row of the judged table twice"
    good = True
    for ranker, k1, b in (("bm25", 0.9, 0.4), ("bm25:k1=1.5,b=0.75", 1.5, 0.75)):
        good &= report(f"{ranker}, rank_bm25", program.scores(ranker), bm25(titles, pairs, k1, b), 1e-9)

    def trigrams(text):
        return [f"#{word}#"[i:i + 3] for word in text for i in range(len(word))]

    vectorizer = TfidfVectorizer(analyzer=trigrams, norm=None)
    vectorizer.fit(titles)
    queries, judged = (vectorizer.transform(side) for side in zip(*pairs))
    good &= report("trigram, TfidfVectorizer", program.scores("trigram"), cosines(queries, judged), 1e-9)

    texts = [title for title in titles if title]
    vectorizer = TfidfVectorizer(analyzer=lambda text: text, norm=None)
    vectorizer.fit(texts)
    for weighting, name in enumerate(("raw", "log-entropy", "tf-idf")):
        counts = [vectorizer.transform(side).multiply(1 / vectorizer.idf_).tocsr() for side in (texts, *zip(*pairs))]
        weights = np.ones(len(vectorizer.idf_))
        if weighting == 1:
            share = counts[0].multiply(1 / np.asarray(counts[0].sum(axis=0))).tocsr()
            share.data = share.data * np.log(share.data)
            weights = 1 + np.asarray(share.sum(axis=0)).ravel() / np.log(len(texts))
            for matrix in counts:
                matrix.data = np.log1p(matrix.data)
        elif weighting == 2:
            weights = vectorizer.idf_
        collection, queries, judged = (matrix.multiply(weights).tocsr() for matrix in counts)
        svd = TruncatedSVD(k, algorithm="arpack", tol=1e-12)
        started = time.time()
        svd.fit(collection)
        print(f"TruncatedSVD of {collection.shape}, {k} dimensions, {name}: {time.time() - started:.1f} s")
        for whitening in (1, 0):
            ranker = f"lsa:dimensions={k},weighting={weighting},whitening={whitening}"
            if whitening:
                found = program.arrays(ranker)["singular_values"]
                good &= report(f"singular values, {name}", found / svd.singular_values_, np.ones(k), 1e-9)
            scale = svd.singular_values_ ** -whitening
            expected = cosines(svd.transform(queries) * scale, svd.transform(judged) * scale)
            good &= report(f"{ranker}, cosines", program.scores(ranker), expected, 1e-5)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
