#!/usr/bin/env python3
"""Cross-validates settings of `clickvec train` on a click log alone.

The queries of the log are split into folds. For each fold a model is trained on the clicks of the
other folds and judged on the held-out queries: each with its clicked titles (grade 3) and hard
candidates (grade 0), the titles of the log that BM25 ranks best among those not clicked for it.
Printed for each setting: the mean over folds and seeds of NDCG@1 and NDCG@3 after the epoch with
the best sum, and after the last epoch.

    cross_validation.py --clicks clicks.tsv "--set loss.gamma=5" "--set loss.gamma=10 --epochs 20"

Each setting is one argument, options of `clickvec train` as they would be typed; without any,
settings are read from standard input, one a line. Python 3.9 or later, nothing else.
"""

import argparse
import collections
import concurrent.futures
import csv
import heapq
import json
import math
import pathlib
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata


def words(text):
    """Nearly the words of the program: exact enough to choose candidates."""
    text = unicodedata.normalize("NFKC", text).lower().replace("'", "").replace("\u2019", "")
    return re.findall(r"[^\W_]+", text)


class Bm25:
    """Okapi BM25 over titles."""

    def __init__(self, titles, k1=0.9, b=0.4):
        lengths = [len(words(title)) for title in titles]
        mean = statistics.fmean(lengths)
        counts = collections.defaultdict(list)
        for number, title in enumerate(titles):
            for word, count in collections.Counter(words(title)).items():
                counts[word].append((number, count))
        self.postings = {}
        for word, list_ in counts.items():
            idf = math.log(1 + (len(titles) - len(list_) + 0.5) / (len(list_) + 0.5))
            self.postings[word] = [
                (number, idf * count * (k1 + 1) / (count + k1 * (1 - b + b * lengths[number] / mean)))
                for number, count in list_
            ]

    def best(self, query, count, without):
        """The `count` titles that score best; those with no word of the query never."""
        scores = collections.defaultdict(float)
        for word in words(query):
            for number, score in self.postings.get(word, ()):
                scores[number] += score
        for number in without:
            scores.pop(number, None)
        return heapq.nlargest(count, scores, key=lambda number: (scores[number], -number))


def table(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("\t".join(header) + "\n")
        for row in rows:
            file.write("\t".join(row) + "\n")


def make_folds(clicks, folder, folds, candidates, pool, seed):
    """Writes fold-N-clicks.tsv and fold-N-judged.tsv; returns how many queries are judged."""
    with open(clicks, encoding="utf-8", newline="") as file:
        rows = [(r["query"], r["title"]) for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    clicked = collections.defaultdict(list)
    number_of = {}
    for query, title in rows:
        clicked[query].append(number_of.setdefault(title, len(number_of)))
    titles = list(number_of)
    index = Bm25(titles)
    queries = sorted(clicked)
    rng = random.Random(seed)
    rng.shuffle(queries)
    fold_of = {query: position % folds for position, query in enumerate(queries)}
    judged = [[] for _ in range(folds)]
    used = 0
    for query in sorted(clicked):
        good = list(dict.fromkeys(clicked[query]))
        hard = index.best(query, max(pool, candidates), good)
        hard = rng.sample(hard, min(candidates, len(hard)))
        if not hard:
            continue
        used += 1
        of_query = [(titles[n], "3") for n in good] + [(titles[n], "0") for n in hard]
        judged[fold_of[query]] += [(query, title, grade) for title, grade in of_query]
    for fold in range(folds):
        table(folder / f"fold-{fold}-clicks.tsv", ("query", "title"), [r for r in rows if fold_of[r[0]] != fold])
        table(folder / f"fold-{fold}-judged.tsv", ("query", "title", "grade"), judged[fold])
    return used


def train(program, folder, fold, options, seed, threads):
    """One training: for each epoch (loss, NDCG@1, NDCG@3), and its seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        command = [program, "train", "--clicks", folder / f"fold-{fold}-clicks.tsv"]
        command += ["--validation", folder / f"fold-{fold}-judged.tsv", "--set", "keep=last", "--json"]
        command += ["--set", f"seed={seed}", "--threads", threads, "--output", pathlib.Path(out) / "model.safetensors"]
        command += shlex.split(options)
        run = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    events = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    epochs = [e for e in events if e.get("event") == "epoch"]
    if run.returncode != 0:
        print(f"{options}: {run.stderr.strip()}", file=sys.stderr)
        return None, 0.0
    measured = [(e["loss"], e["validation"]["ndcg@1"], e["validation"]["ndcg@3"]) for e in epochs]
    return measured, sum(e["seconds"] for e in epochs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", help="options of clickvec train, one argument a setting")
    parser.add_argument("--clicks", required=True, help="the click log: a table with the columns query and title")
    parser.add_argument("--program", default="clickvec")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=10, help="hard candidates a query")
    parser.add_argument("--pool", type=int, default=0, help="draw the candidates from so many best titles")
    parser.add_argument("--split-seed", type=int, default=1)
    parser.add_argument("--seeds", default="1", help="seeds of training, as 1,2")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads a training")
    parser.add_argument("--json", help="append each setting's figures to this file, one object a line")
    arguments = parser.parse_args()
    settings = arguments.settings or [line.strip() for line in sys.stdin if line.strip()]
    seeds = [int(seed) for seed in arguments.seeds.split(",")]

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        folder = pathlib.Path(folder)
        sizes = (arguments.folds, arguments.candidates, arguments.pool, arguments.split_seed)
        used = make_folds(arguments.clicks, folder, *sizes)
        print(f"{used} queries judged in {arguments.folds} folds, {len(seeds)} seed(s)")
        print("| settings | best epoch | NDCG@1 | NDCG@3 | sum | sum after the last epoch | seconds |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)

        def runs(options):
            return [
                pool.submit(train, arguments.program, folder, fold, options, seed, arguments.threads)
                for seed in seeds
                for fold in range(arguments.folds)
            ]

        for options, futures in [(options, runs(options)) for options in settings]:
            results = [future.result() for future in futures]
            if any(measured is None for measured, _ in results):
                print(f"| `{options}` | failed | | | | | |", flush=True)
                continue
            epochs = [
                [statistics.fmean(column) for column in zip(*epoch)]
                for epoch in zip(*(measured for measured, _ in results))
            ]
            best = max(range(len(epochs)), key=lambda e: epochs[e][1] + epochs[e][2])
            seconds = statistics.fmean(seconds for _, seconds in results)
            _, at_1, at_3 = epochs[best]
            last = epochs[-1][1] + epochs[-1][2]
            print(
                f"| `{options}` | {best + 1} of {len(epochs)} | {at_1:.4f} | {at_3:.4f} | {at_1 + at_3:.4f}"
                f" | {last:.4f} | {seconds:.1f} |",
                flush=True,
            )
            if arguments.json:
                with open(arguments.json, "a", encoding="utf-8") as file:
                    row = {"settings": options, "seeds": seeds, "pool": arguments.pool, "epochs": epochs, "seconds": seconds}
                    row["time"] = time.strftime("%H:%M:%S")
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
