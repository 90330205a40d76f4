#!/usr/bin/env python3
"""Does correcting position bias pay? A shop with known relevance and known bias, prepared and trained both ways.

    python3 bench/position_bias.py target/release/clickvec [--lists 100] [--seeds 5]

Users look at place k with probability 1/k and click what they look at with a probability that follows the true grade. The
old ranker knows the thing that is asked for, not its colour, and puts one material on top: what stands there is clicked
though it is not what was asked for. Each training is judged by the true grades. Prints one line a seed, and the paired t
test over the queries' NDCG@3, each query's being its mean over the seeds.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

THINGS = "sofa lamp desk shelf carpet faucet drill ladder hammer mirror bench stool cabinet curtain kettle blender".split()
COLOURS = "red blue green black white yellow grey brown".split()
MATERIALS = "oak steel wool glass pine linen".split()
PLACES = 20
ATTRACTION = {4: 0.7, 1: 0.2, 0: 0.02}


def grade(query, title):
    (colour, thing), (own_colour, own_thing, _) = query, title
    return 0 if thing != own_thing else 4 if colour == own_colour else 1


def text(title):
    colour, thing, material = title
    return f"{material} {thing} in {colour}"


def write_log(path, queries, lists, rng):
    titles = [(c, t, m) for t in THINGS for c in COLOURS for m in MATERIALS]
    by_thing = {t: [title for title in titles if title[1] == t] for t in THINGS}
    # One colour of each thing sells best, whatever is asked for, and the old ranker knows that.
    best = {t: rng.choice(COLOURS) for t in THINGS}
    with open(path, "w") as log:
        log.write("query\ttitle\tposition\tclicked\n")
        for query in queries:
            for _ in range(lists):
                score = lambda title: (title[0] == best[title[1]]) + rng.gauss(0, 0.5)
                shown = sorted(by_thing[query[1]], key=score, reverse=True)[:PLACES]
                for place, title in enumerate(shown, 1):
                    clicked = rng.random() < ATTRACTION[grade(query, title)] / place
                    log.write(f"{' '.join(query)}\t{text(title)}\t{place}\t{int(clicked)}\n")


def write_judged(path, queries, rng):
    with open(path, "w") as judged:
        judged.write("query\ttitle\tgrade\n")
        for query in queries:
            titles = [(c, query[1], m) for c in COLOURS for m in MATERIALS]
            for title in rng.sample(titles, 30):
                judged.write(f"{' '.join(query)}\t{text(title)}\t{grade(query, title)}\n")


def t_test(differences):
    """Mean, t and the two-sided p of a paired t test; with so many queries t is all but normal."""
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    t = mean / error if error > 0 else 0.0
    return mean, t, math.erfc(abs(t) / math.sqrt(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--lists", type=int, default=100, help="result lists of each query")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    program = Path(options.program).resolve()
    run = lambda *words: subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True)
    rng = random.Random(1)
    queries = [(c, t) for t in THINGS for c in COLOURS]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        log, judged = folder / "log.tsv", folder / "judged.tsv"
        write_log(log, queries, options.lists, rng)
        write_judged(judged, queries, rng)
        run("prepare", log, "--output", folder / "naive.tsv")
        report = run("prepare", log, "--output", folder / "weighted.tsv", "--correct-position-bias", "--json")
        print("position  true   found  s.e.")
        for found in json.loads(report.stdout)["positions"]["positions"]:
            place = found["position"]
            print(f"{place:8}  {1 / place:.3f}  {found['examination']:.3f}  {found['standard_error']:.3f}")
        scores = {name: {} for name in ("naive", "weighted")}
        for seed in range(options.seeds):
            for name in scores:
                model = folder / f"{name}.safetensors"
                run("train", "--clicks", folder / f"{name}.tsv", "--output", model, "--seed", seed)
                per_query = folder / "per-query.tsv"
                run("evaluate", "--judged", judged, "--model", model, "--per-query", per_query)
                rows = [line.split("\t") for line in per_query.read_text().splitlines()]
                column, query = rows[0].index("ndcg@3"), rows[0].index("query")
                for row in rows[1:]:
                    scores[name].setdefault(row[query], []).append(float(row[column]))
            now = {name: statistics.fmean(values[-1] for values in scores[name].values()) for name in scores}
            print(f"seed {seed}: NDCG@3 naive {now['naive']:.4f}, weighted {now['weighted']:.4f}")
        mean = lambda name, query: statistics.fmean(scores[name][query])
        differences = [mean("weighted", query) - mean("naive", query) for query in scores["naive"]]
        difference, t, p = t_test(differences)
        print(f"{len(differences)} queries: weighted − naive {difference:+.4f}, t = {t:.2f}, p = {p:.2g}")
        if not (difference > 0 and p < 0.05):
            sys.exit("error: expected training with weights to be better, p < 0.05")


if __name__ == "__main__":
    main()
