#!/usr/bin/env python3
"""Trains and judges every system of the README's table; prints it as Markdown.

    table.py DATA [--json results.json]

DATA is a folder with clicks.tsv (query, title), judged.tsv (query, title, grade) and titles.tsv
(title). The README's figures are from the Home Depot Product Search Relevance competition: pairs
graded 2.67 or more serve as clicks. Python 3.9 or later, nothing else.
"""

import argparse
import csv
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

METRICS = ("ndcg@1", "ndcg@3", "ndcg@10")
DEFAULT = "LSTM 96, all"
SYSTEMS = [
    ("DSSM 288/96", "--encoder dssm --set encoder.layers=288,96"),
    ("CLSM 288/96, window 1", "--encoder clsm --set encoder.convolution=288 --set encoder.semantic=96 --set encoder.window=1"),
    ("CLSM 288/96, window 3", "--encoder clsm --set encoder.convolution=288 --set encoder.semantic=96 --set encoder.window=3"),
    ("CLSM 288/96, window 5", "--encoder clsm --set encoder.convolution=288 --set encoder.semantic=96 --set encoder.window=5"),
    ("RNN 288", "--encoder rnn --set encoder.hidden=288"),
    ("LSTM 32, all", "--set encoder.cells=32"),
    ("LSTM 64, all", "--set encoder.cells=64"),
    ("LSTM 96, n = 2", "--set negatives=2"),
    ("LSTM 96, n = 4", "--set negatives=4"),
    ("LSTM 96, n = 6", "--set negatives=6"),
    ("LSTM 96, n = 8", "--set negatives=8"),
    (DEFAULT, ""),
    ("BiLSTM 96", "--encoder bilstm"),
    ("LSTM 96, `--preset lstm-dssm`", "--preset lstm-dssm"),
]
# Pairs of networks that the text compares.
PAIRS = [
    (DEFAULT, "DSSM 288/96"),
    ("RNN 288", "DSSM 288/96"),
    ("CLSM 288/96, window 3", "CLSM 288/96, window 1"),
    ("LSTM 96, n = 8", DEFAULT),
]


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(str(part) for part in command)}\n{done.stderr}")
    return done.stdout


def incomplete_beta(x, a, b):
    """Regularised, by the continued fraction of Lentz."""
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, f = 1.0, d
    for m in range(1, 10_000):
        step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + step * d), 1 + step / c
        f *= c * d
        step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + step * d), 1 + step / c
        f *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * f / a


def paired_t_test(ours, theirs):
    """(t, two-sided p)"""
    differences = [a - b for a, b in zip(ours, theirs)]
    n = len(differences)
    t = statistics.fmean(differences) / (statistics.stdev(differences) / math.sqrt(n))
    return t, incomplete_beta((n - 1) / (n - 1 + t * t), (n - 1) / 2, 0.5)


def per_query(path):
    """system → metric → values in the order of queries"""
    values = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            of_system = values.setdefault(row["system"], {metric: [] for metric in METRICS})
            for metric in METRICS:
                of_system[metric].append(float(row[metric]))
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--program", default="clickvec")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: one for each core")
    parser.add_argument("--only", help="only systems whose name contains this")
    parser.add_argument("--json", type=pathlib.Path, help="write the results here too")
    arguments = parser.parse_args()
    data = arguments.data
    evaluate = [arguments.program, "evaluate", "--judged", data / "judged.tsv", "--json"]
    bm25 = ["bm25:k1=0.9,b=0.4", "--titles", data / "titles.tsv"]
    rows, tests, queries, means = [], [], 0, {}

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        found = json.loads(run(evaluate + bm25))
        queries = found["queries"]
        metrics = {m: {"mean": found["systems"][0][m], "deviation": None} for m in METRICS}
        rows.append({"system": "BM25", "options": "", "metrics": metrics, "seconds": None, "parameters": None})
        for name, options in SYSTEMS:
            if arguments.only and arguments.only not in name:
                continue
            models, seconds, parameters = [], [], None
            for seed in range(1, arguments.seeds + 1):
                models.append(folder / f"seed-{seed}.safetensors")
                train = [arguments.program, "train", "--clicks", data / "clicks.tsv", "--set", "keep=last", "--output", models[-1]]
                train += ["--set", f"seed={seed}", "--threads", arguments.threads, "--json", *shlex.split(options)]
                start = time.monotonic()
                events = [json.loads(line) for line in run(train).splitlines()]
                seconds.append(time.monotonic() - start)
                parameters = next(e["parameters"] for e in events if e["event"] == "log")
            found = json.loads(run(evaluate + bm25 + models + ["--output", folder / "runs"]))
            of_seed = {s["name"]: s for s in found["systems"] if s["name"].startswith("seed-")}
            metrics = {}
            for metric in METRICS:
                values = [s[metric] for s in of_seed.values()]
                deviation = statistics.stdev(values) if len(values) > 1 else None
                metrics[metric] = {"mean": statistics.fmean(values), "deviation": deviation, "seeds": values}
            row = {"system": name, "options": options, "metrics": metrics, "parameters": parameters}
            rows.append({**row, "seconds": statistics.fmean(seconds)})
            print(name, *(f"{metrics[m]['mean']:.4f}" for m in METRICS), f"{rows[-1]['seconds']:.1f} s", file=sys.stderr)

            values = per_query(folder / "runs" / "per-query.tsv")
            theirs = next(v for system, v in values.items() if system.startswith("bm25"))
            of_models = [v for system, v in values.items() if system.startswith("seed-")]
            means[name] = {}
            for metric in METRICS:
                mean = [statistics.fmean(of_query) for of_query in zip(*(v[metric] for v in of_models))]
                means[name][metric] = mean
                t, p = paired_t_test(mean, theirs[metric])
                difference = statistics.fmean(mean) - statistics.fmean(theirs[metric])
                rows[-1]["metrics"][metric]["p against BM25"] = p
                if name == DEFAULT:
                    tests.append({"seeds": "mean", "metric": metric, "difference": difference, "t": t, "p": p})
                    for system, v in values.items():
                        if system.startswith("seed-"):
                            t, p = paired_t_test(v[metric], theirs[metric])
                            difference = statistics.fmean(v[metric]) - statistics.fmean(theirs[metric])
                            seed = system.removeprefix("seed-")
                            test = {"seeds": seed, "metric": metric, "difference": difference, "t": t, "p": p}
                            tests.append(test)

    print(
        f"Data: the Home Depot Product Search Relevance competition; pairs graded 2.67 or more serve as clicks,"
        f" {queries} other queries are judged. Mean ± standard deviation of {arguments.seeds} seeds. A star: the mean"
        f" over the seeds differs from BM25's, paired t-test over the queries, p < 0.05.\n"
    )
    print("| system | NDCG@1 | NDCG@3 | NDCG@10 | seconds to train | parameters |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        cells = []
        for metric in METRICS:
            found = row["metrics"][metric]
            text = f"{100 * found['mean']:.1f}"
            if found["deviation"] is not None:
                text += f" ± {100 * found['deviation']:.1f}"
            cells.append(text + ("*" if found.get("p against BM25", 1) < 0.05 else ""))
        seconds = "" if row["seconds"] is None else f"{row['seconds']:.1f}"
        parameters = "" if row["parameters"] is None else f"{row['parameters'] / 1e6:.2f} M"
        print(f"| {row['system']} | {' | '.join(cells)} | {seconds} | {parameters} |")
    if tests:
        print("\nThe default, LSTM 96 with all negatives, against BM25, paired t-test over the queries:\n")
        print("| seed | metric | difference | t | p |")
        print("| --- | --- | ---: | ---: | ---: |")
        for test in tests:
            figures = f"{100 * test['difference']:+.2f} | {test['t']:.2f} | {test['p']:.2g}"
            seed = "mean over the seeds" if test["seeds"] == "mean" else test["seeds"]
            print(f"| {seed} | {test['metric'].upper()} | {figures} |")
    pairs = []
    for a, b in PAIRS:
        if a in means and b in means:
            for metric in METRICS:
                t, p = paired_t_test(means[a][metric], means[b][metric])
                difference = statistics.fmean(means[a][metric]) - statistics.fmean(means[b][metric])
                pairs.append({"a": a, "b": b, "metric": metric, "difference": difference, "t": t, "p": p})
    if pairs:
        print("\nOther comparisons, of the means over the seeds:\n")
        print("| compared | " + " | ".join(metric.upper() for metric in METRICS) + " |")
        print("| --- |" + " --- |" * len(METRICS))
        for first in range(0, len(pairs), len(METRICS)):
            of_pair = pairs[first:first + len(METRICS)]
            cells = " | ".join(f"{100 * test['difference']:+.2f} (p {test['p']:.2g})" for test in of_pair)
            print(f"| {of_pair[0]['a']} − {of_pair[0]['b']} | {cells} |")
    if arguments.json:
        results = {"queries": queries, "seeds": arguments.seeds, "systems": rows, "tests against BM25": tests, "tests": pairs}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
