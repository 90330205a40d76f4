#!/usr/bin/env python3
"""Train Doc2Vec with gensim and with clickvec on the same texts with the same settings, and compare what comes out.

python3 bench/check_doc2vec.py CLICKVEC [--data FOLDER] [--epochs N] [--ours PARAMETERS]

Needs gensim and numpy. Without --data the texts are generated: topics that share some words. With it, FOLDER has
titles.tsv, clicks.tsv and judged.tsv. Random numbers differ, so vectors cannot be the same; what must agree, as far as
three seeds of one program agree, is printed for each form:

- NDCG@1/3/10 of the judged titles, of three seeds of each program. Fails where a mean of ours is more than 0.01 outside of
  what gensim's seeds have;
- of 500 texts, the share of the 10 nearest others that two trainings have in common: the mean over two seeds of one program,
  and over one of each. Fails where both programs have more than 0.02 less in common than the seeds of each have.

--ours gives clickvec other parameters than gensim, such as `epochs=1`; the check must then fail.
"""
import argparse
import itertools
import json
import re
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

import needed

needed.packages("numpy", "gensim")

import numpy as np
from gensim.models.doc2vec import Doc2Vec, TaggedDocument

FORMS = {
    "dm=1": dict(dm=1, dm_mean=1),
    "dm=0": dict(dm=0, dbow_words=0),
    "dm=0,dbow-words=1": dict(dm=0, dbow_words=1),
}
SETTINGS = dict(vector_size=100, window=5, min_count=1, sample=1e-4, negative=5, hs=0, alpha=0.025, min_alpha=1e-4)
SEEDS = (1, 2, 3)
NDCG_MARGIN, NEAREST_MARGIN = 0.01, 0.02


def words(text):
    """Enough for Latin letters: docs/reference/tables.md and the program have the rule for every script."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    return tuple(re.findall(r"[^\W_]+", re.sub("['\u2019\u02bc\u200b-\u200d\ufeff]", "", text)))


def read(path):
    with open(path, encoding="utf-8") as file:
        names = file.readline().rstrip("\r\n").split("\t")
        return [dict(zip(names, line.rstrip("\r\n").split("\t"))) for line in file]


def generate(folder):
    """Titles of 20 topics: words of the topic and words that all share; queries of the topics' words, graded by topic."""
    random = np.random.default_rng(7)
    text = lambda topic, own, common: " ".join(
        [f"t{topic}w{word}" for word in random.zipf(1.5, own) % 30] + [f"all{word}" for word in random.zipf(1.3, common) % 50]
    )
    titles = [(text(i % 20, 5, 4), i % 20) for i in range(6000)]
    queries = [(f"{text(i % 20, 3, 1)}", i % 20) for i in range(400)]
    with open(folder / "titles.tsv", "w") as file:
        print("id", "title", sep="\t", file=file)
        for number, (title, _) in enumerate(titles):
            print(number, title, sep="\t", file=file)
    with open(folder / "clicks.tsv", "w") as file:
        print("query", "title", sep="\t", file=file)
        for query, topic in ((text(i % 20, 3, 1), i % 20) for i in range(2000)):
            print(query, titles[random.integers(300) * 20 + topic][0], sep="\t", file=file)
    with open(folder / "judged.tsv", "w") as file:
        print("query", "title", "grade", sep="\t", file=file)
        for query, topic in queries:
            for title, other in (titles[place] for place in random.integers(0, 6000, 15)):
                print(query, title, 4 if topic == other else 0, sep="\t", file=file)
            print(query, titles[random.integers(300) * 20 + topic][0], 4, sep="\t", file=file)


def ndcg(vectors, judged):
    """NDCG@1/3/10 by the cosine of unit vectors; gain 2^grade − 1. Cosines hardly ever tie."""
    queries = {}
    for row in judged:
        queries.setdefault(row["query"], []).append((row["title"], int(row["grade"])))
    sums = np.zeros(3)
    zero = np.zeros(SETTINGS["vector_size"])
    for query, titles in queries.items():
        vector = vectors.get(words(query), zero)
        scores = [-np.dot(vector, vectors.get(words(title), zero)) for title, _ in titles]
        gains = 2.0 ** np.array([grade for _, grade in titles]) - 1
        for at, cut in enumerate((1, 3, 10)):
            discount = 1 / np.log2(np.arange(2, 2 + len(gains)))
            discount[cut:] = 0
            ideal = np.dot(np.sort(gains)[::-1], discount)
            sums[at] += np.dot(gains[np.argsort(scores, kind="stable")], discount) / ideal if ideal else 0
    return sums / len(queries)


def with_gensim(texts, form, epochs, seed):
    documents = [TaggedDocument(list(text), [number]) for number, text in enumerate(texts)]
    begin = time.process_time()
    model = Doc2Vec(documents, epochs=epochs, seed=seed, workers=1, **SETTINGS, **FORMS[form])
    seconds = time.process_time() - begin
    vectors = model.dv.vectors / np.linalg.norm(model.dv.vectors, axis=1, keepdims=True)
    return dict(zip(texts, vectors)), seconds


def with_clickvec(clickvec, folder, texts, form, settings):
    """Trains, and computes each text's place in the ranker's file: safetensors is a header and numbers."""
    spec = ",".join([f"doc2vec:{form}", *(f"{name}={value}" for name, value in settings.items())])
    with tempfile.TemporaryDirectory() as out:
        begin = time.monotonic()
        command = [clickvec, "lab", "table", "--judged", folder / "judged.tsv", "--titles", folder / "titles.tsv", "--clicks",
                   folder / "clicks.tsv", "--ranker", spec, "--cache", out, "--json"]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds = time.monotonic() - begin
        (path,) = (Path(out) / "models").glob("*.safetensors")
        data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])

    def array(name, kind):
        start, end = header[name]["data_offsets"]
        return np.frombuffer(data[8 + length + start:8 + length + end], kind).reshape(header[name]["shape"])

    # The texts are numbered in order of appearance, as ours are.
    vectors = array("text_vectors", "<f4").astype(float)
    if len(vectors) != len(texts):
        sys.exit(f"expected {len(texts)} texts, found {len(vectors)}: are there letters beyond Latin ones in the data?")
    return dict(zip(texts, vectors)), seconds, result


def nearest(vectors, texts, sample):
    table = np.array([vectors[text] for text in texts], dtype=np.float32)
    scores = table[sample] @ table.T
    scores[np.arange(len(sample)), sample] = -2
    return np.argpartition(-scores, 10, axis=1)[:, :10]


def overlap(a, b):
    return np.mean([len(set(x) & set(y)) / 10 for x, y in zip(a, b)])


def compare(form, numbers, near):
    """What is wrong: `numbers` are NDCGs and `near` nearest texts, by program and seed."""
    faults = []
    theirs = np.array([numbers["gensim", seed] for seed in SEEDS])
    low, high = theirs.min(0) - NDCG_MARGIN, theirs.max(0) + NDCG_MARGIN
    ours = np.mean([numbers["clickvec", seed] for seed in SEEDS], axis=0)
    if not ((ours >= low).all() and (ours <= high).all()):
        faults.append(f"{form}: expected mean NDCGs of {low.round(3)} to {high.round(3)}, found {ours.round(3)}")
    within = {program: np.mean([overlap(near[program, a], near[program, b]) for a, b in itertools.combinations(SEEDS, 2)])
              for program in ("gensim", "clickvec")}
    both = np.mean([overlap(near["gensim", a], near["clickvec", b]) for a, b in itertools.product(SEEDS, SEEDS)])
    print(f"{form:18} nearest ten in common: gensim's seeds {within['gensim']:.3f}, clickvec's {within['clickvec']:.3f}, "
          f"one of each {both:.3f}", flush=True)
    least = min(within.values()) - NEAREST_MARGIN
    if within["gensim"] <= NEAREST_MARGIN:
        faults.append(f"{form}: expected gensim's seeds to agree on more than {NEAREST_MARGIN} of the nearest, found "
                      f"{within['gensim']:.3f}: nothing was learnt; take more epochs")
    if not both >= least:
        faults.append(f"{form}: expected {least:.3f} or more of the nearest in common, found {both:.3f}")
    return faults


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("clickvec", type=Path)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--epochs", type=int, default=150)
    arguments.add_argument("--forms", nargs="*", default=list(FORMS))
    arguments.add_argument("--ours", default="", metavar="NAME=VALUE,…")
    args = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = args.data or Path(made)
        if not args.data:
            generate(folder)
        titles, clicks, judged = (read(folder / f"{name}.tsv") for name in ("titles", "clicks", "judged"))
        seen = [words(row["title"]) for row in titles] + [words(row["query"]) for row in clicks]
        seen += [words(row["title"]) for row in clicks]
        seen += [words(query) for query in dict.fromkeys(row["query"] for row in judged)]
        texts = [text for text in dict.fromkeys(seen) if text]
        sample = np.random.default_rng(1).choice(len(texts), 500, replace=False)
        faults = []
        for form in args.forms:
            numbers, near = {}, {}
            for seed in SEEDS:
                for program in ("gensim", "clickvec"):
                    if program == "gensim":
                        vectors, seconds = with_gensim(texts, form, args.epochs, seed)
                    else:
                        settings = {"epochs": args.epochs, "seed": seed}
                        settings |= dict(setting.split("=") for setting in args.ours.split(",") if setting)
                        vectors, seconds, _ = with_clickvec(args.clickvec, folder, texts, form, settings)
                    near[program, seed] = nearest(vectors, texts, sample)
                    numbers[program, seed] = ndcg(vectors, judged)
                    shown = " ".join(f"{value:.3f}" for value in numbers[program, seed])
                    print(f"{form:18} {program:8} seed {seed}: NDCG@1/3/10 {shown}, {seconds:.0f} s", flush=True)
            faults += compare(form, numbers, near)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
