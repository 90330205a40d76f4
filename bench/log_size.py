#!/usr/bin/env python3
"""Does the size of the log decide which encoder is best?  python3 bench/log_size.py --titles titles.tsv [--svg PICTURE]

Simulates click logs of several sizes over your titles, trains every network on each with one tower and with two, and compares them
on the same judged queries, of which no log has one. Each training keeps the epoch that is best on other queries
(`--validation`). Prints a Markdown table with the tests between networks, and draws it with 95 % intervals. `--from FILE` draws
and prints what `--json` wrote before. Python 3.9 or later, nothing else.
"""
import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

# As a spec's `train` has them.
NETWORKS = {
    "DSSM": 'encoder.kind = "dssm", encoder.layers = [288, 96]',
    "CLSM, window 1": 'encoder.kind = "clsm", encoder.convolution = 288, encoder.semantic = 96, encoder.window = 1',
    "CLSM, window 3": 'encoder.kind = "clsm", encoder.convolution = 288, encoder.semantic = 96, encoder.window = 3',
    "CLSM, window 5": 'encoder.kind = "clsm", encoder.convolution = 288, encoder.semantic = 96, encoder.window = 5',
    "RNN": 'encoder.kind = "rnn", encoder.hidden = 288',
    "LSTM": 'encoder.kind = "lstm", encoder.cells = 96',
    "BiLSTM": 'encoder.kind = "bilstm", encoder.cells = 96',
    "GRU": 'encoder.kind = "gru", encoder.cells = 96',
}
TOWERS = {"one tower": "", "two towers": ", shared_towers = false"}
# How many negatives are sampled, with one tower; in the rows above they are the 63 other titles of the minibatch.
SAMPLED = {"CLSM, window 3, J = 4": ("CLSM, window 3", 4), "CLSM, window 3, J = 50": ("CLSM, window 3", 50), "RNN, n = 4": ("RNN", 4)}
RANKERS = {"BM25": "bm25", "letter trigrams": "trigram"}
METRICS = ["ndcg@1", "ndcg@3", "ndcg@10"]
# What is tested, at each size: the first compared with the second.
QUESTIONS = [
    ("RNN, one tower", "DSSM, one tower"),
    ("LSTM, one tower", "DSSM, one tower"),
    ("LSTM, one tower", "RNN, one tower"),
    ("BiLSTM, one tower", "LSTM, one tower"),
    ("GRU, one tower", "LSTM, one tower"),
    ("CLSM, window 1, one tower", "DSSM, one tower"),
    ("CLSM, window 3, one tower", "CLSM, window 1, one tower"),
    ("CLSM, window 5, one tower", "CLSM, window 3, one tower"),
    *((f"{name}, two towers", f"{name}, one tower") for name in NETWORKS),
    ("CLSM, window 3, J = 4", "CLSM, window 3, one tower"),
    ("CLSM, window 3, J = 50", "CLSM, window 3, one tower"),
    ("RNN, n = 4", "RNN, one tower"),
    *((name, "letter trigrams") for name in ("LSTM, one tower", "BiLSTM, one tower", "GRU, one tower")),
]
COLOURS = ["#1f5fa8", "#7b3fa0", "#c2367c", "#d2601a", "#8a7a10", "#1d8a4e", "#111", "#0f8f9f"]


def spec(epochs, seeds, validation, only):
    out = ["[evaluation]", f"seeds = {seeds}"]
    for name, ranker in RANKERS.items():
        out += ["[[system]]", f'name = "{name}"', f'ranker = "{ranker}"']

    def network(name, options):
        if only and name not in only:
            return
        train = f"{options}, epochs = {epochs}, patience = 2"
        out.extend(["[[system]]", f'name = "{name}"', f"train = {{ {train} }}", f"validation = {json.dumps(str(validation))}"])

    for name, options in NETWORKS.items():
        for towers, more in TOWERS.items():
            network(f"{name}, {towers}", options + more)
    for name, (of, negatives) in SAMPLED.items():
        network(name, f"{NETWORKS[of]}, negatives = {negatives}")
    return "\n".join(out) + "\n"


def measure(args, pairs, epochs, seeds, folder):
    """The table of one size."""
    log = folder / "log"
    simulate = [args.program, "lab", "simulate", "--output", log, "--set", f"pairs={pairs}", "--set", f"judged={args.judged}", "--set", f"validation={args.validation}"]
    subprocess.run([*map(str, simulate), "--titles", str(args.titles)], check=True)
    text = spec(epochs, seeds, log / "validation.tsv", args.only)
    (folder / "spec.toml").write_text(text, encoding="utf-8")
    table = [args.program, "lab", "table", folder / "spec.toml", "--judged", log / "judged.tsv", "--clicks", log / "clicks.tsv"]
    table += ["--titles", log / "titles.tsv", "--cache", folder / f"{pairs}.cache", "--threads", args.threads, "--json"]
    found = json.loads(subprocess.run(list(map(str, table)), check=True, stdout=subprocess.PIPE, text=True).stdout)
    systems = {}
    for system in found["systems"]:
        kept = ("error", "seeds", "intervals", "train_seconds", *METRICS)
        systems[system["name"]] = {key: system[key] for key in kept if key in system}
    tests = []
    for a, b in QUESTIONS:
        for test in found["tests"]:
            if {test["a"], test["b"]} == {a, b}:
                sign = 1 if test["a"] == a else -1
                tests.append({"a": a, "b": b, "metric": test["metric"], "difference": sign * test["difference"], "p": test["p"]})
    return {"pairs": pairs, "epochs": epochs, "seeds": seeds, "queries": found["queries"], "systems": systems, "tests": tests}


def holm(tests):
    """Holm's correction over the tests of one metric at one size."""
    ordered, least = sorted(tests, key=lambda test: test["p"]), 0.0
    for place, test in enumerate(ordered):
        least = max(least, min(1.0, test["p"] * (len(ordered) - place)))
        test["holm"] = least


def tables(sizes):
    heads = [f"{size['pairs']:,} pairs" for size in sizes]
    out = ["| system | " + " | ".join(f"{head}: NDCG@1 / @3" for head in heads) + " |", "| --- |" + " --- |" * len(heads)]
    for name in dict.fromkeys(name for size in sizes for name in size["systems"]):
        def cell(size):
            system = size["systems"].get(name)
            if system is None:
                return ""
            return "left out" if "error" in system else f"{system['ndcg@1']:.3f} / {system['ndcg@3']:.3f}"
        out.append(f"| {name} | " + " | ".join(cell(size) for size in sizes) + " |")
    for metric in METRICS[:2]:
        out += ["", f"| {metric.upper()}: difference | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
        for size in sizes:
            holm([test for test in size["tests"] if test["metric"] == metric])
        for a, b in QUESTIONS:
            cells = []
            for size in sizes:
                test = next((t for t in size["tests"] if (t["a"], t["b"], t["metric"]) == (a, b, metric)), None)
                cells.append("" if test is None else f"{test['difference']:+.3f} (p {test['holm']:.2g})".replace("-0.", "−0."))
            if any(cells):
                out.append(f"| {a} − {b} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def picture(sizes, metric):
    """The SVG: a panel for one tower and one for two, the size of the log across, with intervals."""
    place = METRICS.index(metric)
    width, height, left, top, gap, bottom = 800, 400, 52, 44, 20, 352
    legend = 128
    panel = (width - left - legend - gap) / 2
    measured = {name for size in sizes for name, system in size["systems"].items() if "error" not in system}
    networks = {name: colour for name, colour in zip(NETWORKS, COLOURS) if any(f"{name}, {towers}" in measured for towers in TOWERS)}
    shown = [f"{name}, {towers}" for name in networks for towers in TOWERS] + list(RANKERS)
    ends = [end for size in sizes for name in shown if "intervals" in size["systems"].get(name, {})
            for end in size["systems"][name]["intervals"][place]]
    low, high = math.floor(min(ends) * 20) / 20, math.ceil(max(ends) * 20) / 20
    xs = [math.log10(size["pairs"]) for size in sizes]

    def y(value):
        return top + (bottom - top) * (high - value) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
           ' aria-labelledby="title description" font-family="sans-serif" font-size="12" fill="#222">',
           f'<title id="title">{metric.upper()} of each network by the size of the log</title>',
           f'<desc id="description">Simulated logs of {", ".join(format(s["pairs"], ",") for s in sizes)} pairs; bars are 95 % intervals'
           ' over queries.</desc>', f'<rect width="{width}" height="{height}" fill="#fff"/>']
    step = 0.1 if high - low > 0.45 else 0.05 if high - low > 0.2 else 0.02
    for column, towers in enumerate(TOWERS):
        x0 = left + column * (panel + gap)
        out.append(f'<text x="{x0 + panel / 2:.1f}" y="{top - 14}" text-anchor="middle" font-weight="bold">{towers}</text>')
        tick = math.ceil(low / step - 1e-9) * step
        while tick <= high + 1e-9:
            out.append(f'<line x1="{x0:.1f}" y1="{y(tick):.1f}" x2="{x0 + panel:.1f}" y2="{y(tick):.1f}" stroke="#e4e4e4"/>')
            if column == 0:
                out.append(f'<text x="{x0 - 7:.1f}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.2f}</text>')
            tick += step
        out.append(f'<rect x="{x0:.1f}" y="{top}" width="{panel:.1f}" height="{bottom - top}" fill="none" stroke="#888"/>')

        def x(number, shift=0.0):
            return x0 + 30 + (panel - 60) * (xs[number] - xs[0]) / max(xs[-1] - xs[0], 1e-9) + shift

        for number, size in enumerate(sizes):
            out.append(f'<text x="{x(number):.1f}" y="{bottom + 18}" text-anchor="middle">{size["pairs"]:,}</text>')
        out.append(f'<text x="{x0 + panel / 2:.1f}" y="{bottom + 38}" text-anchor="middle">pairs in the log</text>')
        for name, dash in zip(RANKERS, ["2 3", "7 4"]):
            points = [f"{x(n):.1f},{y(size['systems'][name][metric]):.1f}" for n, size in enumerate(sizes)]
            out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#666" stroke-dasharray="{dash}"/>')
        for which, (name, colour) in enumerate(networks.items()):
            shift = 5 * (which - (len(networks) - 1) / 2)
            of = [(n, size["systems"].get(f"{name}, {towers}", {})) for n, size in enumerate(sizes)]
            of = [(n, system) for n, system in of if "intervals" in system]
            points = [(x(n, shift), y(system[metric])) for n, system in of]
            out.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
            for (a, b), (_, system) in zip(points, of):
                bar = [y(end) for end in system["intervals"][place]]
                out.append(f'<line x1="{a:.1f}" y1="{bar[0]:.1f}" x2="{a:.1f}" y2="{bar[1]:.1f}" stroke="{colour}" stroke-width="1.5" opacity=".55"/>')
                out.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>')
    at = left + 2 * panel + gap + 12
    names = [(name, colour, "") for name, colour in networks.items()] + [(name, "#666", dash) for name, dash in zip(RANKERS, ["2 3", "7 4"])]
    for place, (name, colour, dash) in enumerate(names):
        line = top + 14 + 20 * place
        out.append(f'<line x1="{at:.1f}" y1="{line}" x2="{at + 16:.1f}" y2="{line}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
        out.append(f'<text x="{at + 21:.1f}" y="{line + 4}" font-size="11">{name}</text>')
    out.append(f'<text x="{left - 44}" y="{top - 14}">{metric.upper()}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--titles", type=Path, help="a table with the columns id and title")
    parser.add_argument("--program", default="target/release/clickvec")
    parser.add_argument("--sizes", type=numbers, default=[20_000, 200_000, 2_000_000], help="pairs of each log")
    parser.add_argument("--epochs", type=numbers, default=[8, 3, 1], help="for each size, at most")
    parser.add_argument("--seeds", type=numbers, default=[3, 1, 1], help="trainings of each network, for each size")
    parser.add_argument("--only", type=lambda text: text.split(";"), metavar="NAME;…",
                        help="train only these, such as `GRU, one tower`; names as in the printed table")
    parser.add_argument("--judged", type=int, default=500, help="judged queries of each of the two kinds, spelt well and misspelt")
    parser.add_argument("--validation", type=int, default=500, help="queries that choose the epoch")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where logs and trained models are kept, to go on from [default: a temporary one]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what each size gave, after each")
    parser.add_argument("--from", dest="earlier", type=Path, metavar="FILE", help="measure nothing: take what --json wrote")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="where the picture goes")
    parser.add_argument("--metric", choices=METRICS, default="ndcg@1", help="what is drawn")
    args = parser.parse_args()
    if args.earlier:
        sizes = json.loads(args.earlier.read_text())
    else:
        known = [f"{name}, {towers}" for name in NETWORKS for towers in TOWERS] + list(SAMPLED)
        for name in set(args.only or []) - set(known):
            parser.error(f"expected one of {'; '.join(known)} in --only, found {name}")
        if args.titles is None or not len(args.sizes) == len(args.epochs) == len(args.seeds):
            parser.error("expected --titles, and as many --epochs and --seeds as --sizes")
        sizes = []
        with tempfile.TemporaryDirectory() as temporary:
            folder = args.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            for pairs, epochs, seeds in zip(args.sizes, args.epochs, args.seeds):
                sizes.append(measure(args, pairs, epochs, seeds, folder))
                if args.json:
                    args.json.write_text(json.dumps(sizes, indent=1) + "\n")
    print(tables(sizes))
    if args.svg:
        args.svg.write_text(picture(sizes, args.metric), encoding="utf-8")


if __name__ == "__main__":
    main()
