#!/usr/bin/env python3
"""Compares the networks of bench/table.py with each other, by their seeds:  python3 bench/compare_seeds.py bench/notes/results.json

For each claim of the papers prints a Markdown table: the mean of each network, and its difference from the network that the
claim compares it with, with the 95 % interval and p of Welch's t-test over the seeds, p after Holm's correction for the tests of
the table. So the test asks whether another training would differ in the same direction on the same queries; it does not ask about
other queries, as `clickvec lab table` does (specs/claims). Python 3.9 or later, nothing else.
"""
import argparse
import json
import math
import statistics
from pathlib import Path

from table import incomplete_beta

METRICS = ("ndcg@1", "ndcg@3")
LSTM = "LSTM 96, all"
# What is asked, the network that others are compared with, and these.
CLAIMS = [
    ("Is an LSTM better than other networks?", LSTM,
     ["DSSM 288/96", "CLSM 288/96, window 1", "CLSM 288/96, window 3", "CLSM 288/96, window 5", "RNN 288", "BiLSTM 96"]),
    ("Do wider windows help a CLSM?", "CLSM 288/96, window 3", ["CLSM 288/96, window 1", "CLSM 288/96, window 5", "DSSM 288/96"]),
    ("How many negatives?", "LSTM 96, n = 4", ["LSTM 96, n = 2", "LSTM 96, n = 6", "LSTM 96, n = 8", LSTM]),
    ("How many cells?", LSTM, ["LSTM 64, all", "LSTM 32, all"]),
    ("The paper's training or clickvec's?", LSTM, ["LSTM 96, `--preset lstm-dssm`"]),
]


def two_sided(t, freedom):
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def quantile(freedom):
    """The t that 95 % of Student's distribution lie within."""
    low, high = 0.0, 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > 0.05 else (low, middle)
    return high


def welch(ours, theirs):
    """(difference, half of its 95 % interval, p)"""
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    parts = [statistics.variance(values) / len(values) for values in (ours, theirs)]
    error = math.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (ours, theirs)))
    return difference, quantile(freedom) * error, two_sided(difference / error, freedom)


def holm(probabilities):
    ordered = sorted(range(len(probabilities)), key=lambda i: probabilities[i])
    corrected, least = [0.0] * len(probabilities), 0.0
    for place, i in enumerate(ordered):
        least = max(least, min(1.0, probabilities[i] * (len(ordered) - place)))
        corrected[i] = least
    return corrected


def signed(x):
    return f"{x:+.4f}".replace("-", "−")


def shown(p):
    return "< .0001" if p < 0.0001 else f"{p:.2g}".replace("0.", ".", 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="what bench/table.py --json wrote")
    found = json.loads(parser.parse_args().results.read_text())
    systems = {system["system"]: system["metrics"] for system in found["systems"]}
    print(f"{found['queries']} queries, {found['seeds']} seeds")
    for question, base, others in CLAIMS:
        print(f"\n{question}\n")
        heads = [f"{m.upper()} | difference | 95 % interval | p" for m in METRICS]
        print("| | " + " | ".join(heads) + " |\n| --- |" + " ---: | ---: | --- | ---: |" * len(METRICS))
        tests = {m: [welch(systems[name][m]["seeds"], systems[base][m]["seeds"]) for name in others] for m in METRICS}
        corrected = {m: holm([p for _, _, p in tests[m]]) for m in METRICS}
        for place, name in enumerate([base, *others]):
            cells = []
            for m in METRICS:
                of = systems[name][m]
                cells.append(f"{of['mean']:.4f} ± {of['deviation']:.4f}")
                if name == base:
                    cells += ["", "", ""]
                else:
                    d, half, _ = tests[m][place - 1]
                    cells += [signed(d), f"{signed(d - half)} to {signed(d + half)}", shown(corrected[m][place - 1])]
            print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
