#!/usr/bin/env python3
"""Measures variants of `clickvec train` on judged titles and on the whole collection.

    vectors.py DATA --seeds 1,2 "name=options of clickvec train" ...

DATA is a folder with clicks.tsv, titles.tsv and judged.tsv (see bench/table.py). In the options, @T stands for
`--titles DATA/titles.tsv` and @C for `--clicks DATA/clicks.tsv`. Printed for each variant: the means over the seeds of
NDCG@1/3/10 of the judged titles, of nDCG@10 and recall@100 of a search over all titles (what was not judged counts as
bad, a title of grade 2 or more as relevant), the processor seconds of a training, and BM25 on the same.
Needs Python 3.9 or later and NumPy.
"""

import argparse
import collections
import csv
import json
import math
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import tempfile
import unicodedata

import numpy

DEPTH = 100


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def words(text):
    """Nearly the words of the program."""
    text = unicodedata.normalize("NFKC", text).lower().replace("'", "").replace("\u2019", "")
    return re.findall(r"[^\W_]+", text)


class Collection:
    """All titles, and the queries with their judgments."""

    def __init__(self, data):
        self.titles = [row["title"] for row in rows(data / "titles.tsv")]
        number_of = {title: number for number, title in enumerate(self.titles)}
        self.judged = collections.OrderedDict()
        for row in rows(data / "judged.tsv"):
            self.judged.setdefault(row["query"], {})[number_of[row["title"]]] = int(row["grade"])

    def measure(self, best):
        """(nDCG@10, recall@100) of the numbers of the best titles of each query."""
        ndcg, recall = [], []
        for grades, found in zip(self.judged.values(), best):
            gains = sorted((2**grade - 1 for grade in grades.values()), reverse=True)
            ideal = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:10]))
            if ideal == 0:
                continue
            own = sum((2 ** grades.get(int(title), 0) - 1) / math.log2(rank + 2) for rank, title in enumerate(found[:10]))
            ndcg.append(own / ideal)
            relevant = {title for title, grade in grades.items() if grade >= 2}
            if relevant:
                recall.append(len(relevant & {int(title) for title in found}) / len(relevant))
        return statistics.fmean(ndcg), statistics.fmean(recall)


def best_of(scores):
    """The numbers of the best titles, row by row."""
    part = numpy.argpartition(-scores, DEPTH, axis=1)[:, :DEPTH]
    order = numpy.take_along_axis(scores, part, 1).argsort(axis=1, kind="stable")[:, ::-1]
    return numpy.take_along_axis(part, order, 1)


def bm25(collection, k1=0.9, b=0.4):
    texts = [words(title) for title in collection.titles]
    lengths = numpy.array([len(text) for text in texts], numpy.float32)
    postings = collections.defaultdict(list)
    for number, text in enumerate(texts):
        for word, count in collections.Counter(text).items():
            postings[word].append((number, count))
    weights = {}
    for word, found in postings.items():
        numbers, counts = numpy.array(found).T
        idf = math.log(1 + (len(texts) - len(found) + 0.5) / (len(found) + 0.5))
        weights[word] = numbers, idf * counts * (k1 + 1) / (counts + k1 * (1 - b + b * lengths[numbers] / lengths.mean()))
    best = []
    for query in collection.judged:
        scores = numpy.zeros((1, len(texts)))
        for word in words(query):
            if word in weights:
                numbers, weight = weights[word]
                scores[0, numbers] += weight
        best.append(best_of(scores)[0])
    return best


def embedded(program, model, side, texts, folder, threads):
    lines, output = folder / f"{side}.txt", folder / f"{side}.npy"
    lines.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    command = [program, "embed", "--model", model, "--side", side, "--format", "npy", "--threads", threads]
    subprocess.run([str(part) for part in [*command, "-o", output, lines]], check=True, stderr=subprocess.DEVNULL)
    vectors = numpy.load(output)
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths


def measured(program, data, collection, options, seed, threads):
    """NDCG@1, @3, @10 of the judged titles, nDCG@10 and recall@100 of all, processor seconds of the training."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = folder / "model.safetensors"
        options = options.replace("@T", f"--titles {shlex.quote(str(data / 'titles.tsv'))}")
        options = options.replace("@C", f"--clicks {shlex.quote(str(data / 'clicks.tsv'))}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [program, "train", "--output", model, "--seed", seed, "--threads", threads, *shlex.split(options)]
        subprocess.run([str(part) for part in command], check=True, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [program, "evaluate", "--judged", data / "judged.tsv", "--model", model, "--json"]
        found = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
        system = json.loads(found)["systems"][0]
        queries = embedded(program, model, "query", collection.judged, folder, threads)
        titles = embedded(program, model, "title", collection.titles, folder, threads)
        best = [best_of(queries[first : first + 256] @ titles.T) for first in range(0, len(queries), 256)]
        retrieved = collection.measure(numpy.concatenate(best))
        seconds = after.ru_utime - before.ru_utime
        return [system["ndcg@1"], system["ndcg@3"], system["ndcg@10"], *retrieved, seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("variants", nargs="+", help="name=options of clickvec train")
    parser.add_argument("--program", default="clickvec")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    collection = Collection(arguments.data)
    print("| variant | seeds | NDCG@1 | NDCG@3 | NDCG@10 | all titles: nDCG@10 | recall@100 | CPU s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    ndcg, recall = collection.measure(bm25(collection))
    print(f"| BM25 | | | | | {ndcg:.3f} | {recall:.3f} | |", flush=True)
    for variant in arguments.variants:
        name, options = variant.split("=", 1)
        runs = [
            measured(arguments.program, arguments.data, collection, options, seed, arguments.threads) for seed in seeds
        ]
        *means, seconds = [statistics.fmean(column) for column in zip(*runs)]
        figures = " | ".join(f"{mean:.3f}" for mean in means)
        print(f"| {name} | {len(seeds)} | {figures} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
