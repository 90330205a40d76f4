#!/usr/bin/env python3
"""Compares chosen pairs of systems of a table:  python3 bench/pairs.py TABLE.json "LSTM 96, two towers:LSTM 96" …

TABLE.json is what `clickvec lab table … --json` prints. For each pair A:B prints a row of a Markdown table: the figures of both (mean ±
standard deviation of the seeds, if there are several), their difference over queries, and p of the table's paired t-test after Holm's
correction for the pairs that were asked for. Python 3.9 or later, nothing else.
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

from compare_seeds import holm, shown, signed

METRICS = ["ndcg@1", "ndcg@3"]


def figure(system, metric):
    text = f"{system[metric]:.4f}".replace("0.", ".", 1)
    seeds = [seed[metric] for seed in system.get("seeds", [])]
    return text + (f" ± {statistics.stdev(seeds):.4f}".replace("0.", ".", 1) if len(seeds) > 1 else "")


def test(table, a, b, metric):
    """The difference of a from b, and p."""
    for found in table["tests"]:
        if found["metric"] == metric and {found["a"], found["b"]} == {a, b}:
            return found["difference"] if found["a"] == a else -found["difference"], found["p"]
    sys.exit(f"expected a test of `{a}` against `{b}` in the table, found none; see its `tests`")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("pairs", nargs="+", metavar="A:B", help="names as in the table")
    parser.add_argument("--metrics", nargs="+", default=METRICS, choices=[*METRICS, "ndcg@10"])
    args = parser.parse_args()
    table = json.loads(args.table.read_text(encoding="utf-8"))
    systems = {system["name"]: system for system in table["systems"]}
    pairs = [pair.split(":") for pair in args.pairs]
    for pair in pairs:
        if len(pair) != 2 or not all(name in systems for name in pair):
            sys.exit(f"expected two names of {', '.join(systems)}, found {':'.join(pair)}")
    tests = {}
    for metric in args.metrics:
        found = [test(table, a, b, metric) for a, b in pairs]
        tests[metric] = list(zip((difference for difference, _ in found), holm([p for _, p in found])))
    heads = "".join(f" {metric.upper()}: A | B | A − B | p |" for metric in args.metrics)
    print("| A | B |" + heads + "\n| --- | --- |" + " ---: | ---: | ---: | ---: |" * len(args.metrics))
    for row, (a, b) in enumerate(pairs):
        cells = []
        for metric in args.metrics:
            difference, p = tests[metric][row]
            cells += [figure(systems[a], metric), figure(systems[b], metric), signed(difference), shown(p)]
        print(f"| {a} | {b} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
