#!/usr/bin/env python3
"""Does correcting position bias pay? Logs with known relevance and known bias, prepared and trained both ways.

    python3 bench/position_bias.py target/release/clickvec [--worlds shop good half biased] [--seeds 2] [--epochs 3]

Each training is judged by the true grades. The logs:

- shop: users look at place k with probability 1/k and click what they look at with a probability that follows the true
  grade. The old ranker knows the thing that is asked for, not its colour, and puts one colour on top: what is there is
  clicked although it is not what was asked for;
- good, half, biased: `clickvec lab simulate` with --set engine_bias=0, 0.5 and 1. The first engine ranks by the grade and errs; the
  last only by what sells best.

Prints NDCG@1 and @3 of each training, and the paired t test over queries, each query's number being its mean over the
seeds. Fails unless training with weights is better by one of them, p < 0.05, and worse by neither, in all worlds but `half`,
which is only reported, because position both says and hides something there.
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
    # One colour of each thing sells best, whatever is asked for, and the old ranker knows which.
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
    """Mean, t and the two-sided p of a paired t test; with this many queries t is nearly normal."""
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    t = mean / error if error > 0 else 0.0
    return mean, t, math.erfc(abs(t) / math.sqrt(2))


def make_shop(folder, options, run):
    rng = random.Random(1)
    queries = [(colour, thing) for thing in THINGS for colour in COLOURS]
    write_log(folder / "log.tsv", queries, options.lists, rng)
    write_judged(folder / "judged.tsv", queries, rng)


def simulate(bias):
    def make(folder, options, run):
        run("lab", "simulate", "--output", folder, "--set", f"pairs={options.pairs}", "--set", "judged=200", "--set", "impressions=true", "--set", f"engine_bias={bias}")

    return make


# How each world's log is made, and whether weights must gain in it.
WORLDS = {
    "shop": (make_shop, True),
    "good": (simulate(0), True),
    "half": (simulate(0.5), False),
    "biased": (simulate(1), True),
}


def compare(world, folder, options, run):
    """Whether the world's claim holds."""
    make, must_pay = WORLDS[world]
    make(folder, options, run)
    # The shop has few pairs, so it gets as many epochs as the program chooses.
    epochs = [] if world == "shop" else ["--epochs", options.epochs]
    # Users of the simulated log make many queries that nobody else makes.
    everything = [] if world == "shop" else ["--min-users", 1]
    run("prepare", folder / "log.tsv", "--output", folder / "plain.tsv", *everything)
    weighted = ["--correct-position-bias", *options.prepare.split()]
    report = run("prepare", folder / "log.tsv", "--output", folder / "weighted.tsv", "--json", *everything, *weighted)
    examination = None if world == "shop" else json.loads((folder / "truth.json").read_text())["examination"]
    print(f"\n{world}\nposition  true   found  s.e.   attraction  weight")
    for row in json.loads(report.stdout)["positions"]["positions"]:
        place = row["position"]
        true = examination[place - 1] if examination else 1 / place
        print(f"{place:8}  {true:.3f}  {row['examination']:.3f}  {row['standard_error']:.3f}  {row['attraction']:10.3f}"
              f"  {row['weight']:6.2f}")
    scores = {}
    for seed in range(options.seeds):
        for name in ("plain", "weighted"):
            model = folder / f"{name}.safetensors"
            run("train", "--clicks", folder / f"{name}.tsv", "--set", "keep=last", "--output", model, "--set", f"seed={seed}", *epochs)
            per_query = folder / "runs" / "per-query.tsv"
            run("evaluate", "--judged", folder / "judged.tsv", model, "--output", per_query.parent)
            rows = [line.split("\t") for line in per_query.read_text().splitlines()]
            query = rows[0].index("query_id")
            for metric in ("ndcg@1", "ndcg@3"):
                column = rows[0].index(metric)
                for row in rows[1:]:
                    scores.setdefault((metric, name), {}).setdefault(row[query], []).append(float(row[column]))
    found = []
    for metric in ("ndcg@1", "ndcg@3"):
        plain, weighted = (
            {query: statistics.fmean(values) for query, values in scores[metric, name].items()}
            for name in ("plain", "weighted")
        )
        difference, t, p = t_test([weighted[query] - plain[query] for query in plain])
        print(f"{metric}: plain {statistics.fmean(plain.values()):.4f}, weighted {statistics.fmean(weighted.values()):.4f}, "
              f"{difference:+.4f} over {len(plain)} queries, t = {t:.2f}, p = {p:.2g}", flush=True)
        found.append((difference, p))
    is_better = any(difference > 0 and p < 0.05 for difference, p in found)
    return not must_pay or is_better and all(difference > 0 or p >= 0.05 for difference, p in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--worlds", nargs="*", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--lists", type=int, default=60, help="the shop's result lists of each query")
    parser.add_argument("--pairs", type=int, default=200_000, help="rows of the simulated logs' clicks")
    parser.add_argument("--epochs", type=int, default=3, help="of training on simulated logs")
    parser.add_argument("--prepare", default="", help="more options of prepare, in one word")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    program = Path(options.program).resolve()
    run = lambda *words: subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True)
    failed = []
    for world in options.worlds:
        with tempfile.TemporaryDirectory() as folder:
            if not compare(world, Path(folder), options, run):
                failed.append(world)
    if failed:
        sys.exit(f"error: expected training with weights to be better, p < 0.05, found otherwise in: {', '.join(failed)}")


if __name__ == "__main__":
    main()
