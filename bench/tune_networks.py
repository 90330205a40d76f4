#!/usr/bin/env python3
"""Tunes the networks of specs/claims-networks.toml with the same budget for each, on a click log alone.

Each network is tried with eight settings, by cross validation as in cross_validation.py (two folds,
one seed): step sizes first, with the best of them two ranges of initial weights, with the best of
those γ, then the clip norm. What counts is the sum of NDCG@1 and NDCG@3 after the last epoch, since
that is what a table trains to.

    tune_networks.py --clicks clicks.tsv --training clickvec --figures tuning.jsonl

`--figures` keeps each trial, so that a run that was stopped goes on. Python 3.9 or later, nothing else.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import tempfile

import cross_validation

NETWORKS = {
    "LSTM 96": "encoder.kind=lstm encoder.cells=96",
    "DSSM 288/96": "encoder.kind=dssm encoder.layers=[288,96]",
    "CLSM 288/96, window 1": "encoder.kind=clsm encoder.convolution=288 encoder.semantic=96 encoder.window=1",
    "CLSM 288/96, window 3": "encoder.kind=clsm encoder.convolution=288 encoder.semantic=96 encoder.window=3",
    "CLSM 288/96, window 5": "encoder.kind=clsm encoder.convolution=288 encoder.semantic=96 encoder.window=5",
    "RNN 288": "encoder.kind=rnn encoder.hidden=288",
    "BiLSTM 96": "encoder.kind=bilstm encoder.cells=96",
}

# The values tried, one setting after the other; the first of each is where a network begins.
CLICKVEC = {
    "learning_rate": ["1e-3", "5e-4", "2e-3"],
    "init_range": ["0.01", "0.05", "fan"],
    "loss.gamma": ["10", "5", "20"],
    "clip_norm": ["none", "1"],
}
PAPERS = {
    "learning_rate": ["1e-3", "3e-4", "3e-3", "1e-2"],
    "init_range": ["0.01", "fan"],
    "loss.gamma": ["10", "5", "20"],
    "clip_norm": ["10", "none"],
}
# The CLSM's paper has these weights and no clipping.
CLSM = {"init_range": ["fan", "0.01"], "clip_norm": ["none", "10"]}


def plan(network, training):
    """The options that do not change, and the values tried for each of the others."""
    if training == "clickvec":
        return NETWORKS[network], CLICKVEC
    clsm = network.startswith("CLSM")
    preset = "preset=clsm" if clsm else "preset=lstm-dssm"
    # The step size is meant for words as runs of letters and digits, as in the spec.
    return f"{preset} text.tokens=words {NETWORKS[network]}", {**PAPERS, **CLSM} if clsm else PAPERS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help=f"some of: {', '.join(NETWORKS)} (default: all)")
    parser.add_argument("--clicks", required=True, help="the click log: a table with the columns query and title")
    parser.add_argument("--training", required=True, choices=["clickvec", "papers"])
    parser.add_argument("--figures", required=True, help="a file for the figures of each trial, one object a line")
    parser.add_argument("--program", default="clickvec")
    parser.add_argument("--folds", type=int, default=2)
    arguments = parser.parse_args()
    figures = pathlib.Path(arguments.figures)
    lines = figures.read_text(encoding="utf-8").splitlines() if figures.exists() else []
    tried = {row["settings"]: row for row in map(json.loads, lines)}

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.folds) as pool:
        folder = pathlib.Path(folder)
        cross_validation.make_folds(arguments.clicks, folder, arguments.folds, 10, 0, 1)

        def score(network, settings):
            if settings not in tried:
                options = " ".join(f"--set {setting}" for setting in settings.split())
                runs = pool.map(
                    lambda fold: cross_validation.train(arguments.program, folder, fold, options, 1, 1),
                    range(arguments.folds),
                )
                epochs = [measured for measured, _ in runs]
                if None in epochs:
                    raise SystemExit(f"{settings}: a training failed")
                last = [statistics.fmean(both) for both in zip(*(measured[-1] for measured in epochs))]
                tried[settings] = {"network": network, "settings": settings, "loss": last[0], "ndcg@1": last[1], "ndcg@3": last[2]}
                with open(figures, "a", encoding="utf-8") as file:
                    file.write(json.dumps(tried[settings]) + "\n")
            return tried[settings]["ndcg@1"] + tried[settings]["ndcg@3"]

        print("| network | " + " | ".join(f"`{name}`" for name in CLICKVEC) + " | sum, first | sum, best |")
        print("| --- |" + " --- |" * len(CLICKVEC) + " ---: | ---: |", flush=True)
        for network in arguments.networks or NETWORKS:
            fixed, values = plan(network, arguments.training)
            best = {name: choices[0] for name, choices in values.items()}

            def settings_with(name, value):
                return fixed + "".join(f" {n}={v}" for n, v in {**best, name: value}.items())

            first = score(network, settings_with("learning_rate", best["learning_rate"]))
            cells = []
            for name, choices in values.items():
                scores = {value: score(network, settings_with(name, value)) for value in choices}
                best[name] = max(choices, key=scores.get)
                cells.append(", ".join(f"**{v}** {s:.3f}" if v == best[name] else f"{v} {s:.3f}" for v, s in scores.items()))
            last = score(network, settings_with("learning_rate", best["learning_rate"]))
            print(f"| {network} | {' | '.join(cells)} | {first:.3f} | {last:.3f} |", flush=True)


if __name__ == "__main__":
    main()
