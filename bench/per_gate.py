#!/usr/bin/env python3
"""Draws how an LSTM trains with the published per-gate error signals compared with the exact gradient.

    per_gate.py --clicks clicks.tsv --output bench/results/per-gate.svg

The log is split as bench/cross_validation.py does; the first fold is held out. Both kinds of
training run under `--preset lstm-dssm` at several learning rates and ranges of the initial weights, with
the same seed and so the same weights at the start and the same minibatches. Python 3.9 or later, nothing else.
"""

import argparse
import math
import pathlib
import tempfile

from cross_validation import make_folds, train

COLOURS = {"exact": "#1f5fa8", "per-gate": "#d2601a"}
DASHES = ["", "7 4", "2 3"]
WIDTH, HEIGHT, LEFT, TOP, GAP, ROW = 400, 230, 66, 76, 80, 330


def ticks(low, high):
    """Round numbers between `low` and `high`."""
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if (high - low) / s <= 8)
    first = math.ceil(low / step)
    return [round(i * step, 10) for i in range(first, first + 20) if i * step <= high]


class Panel:
    """A plot over epochs."""

    def __init__(self, x, y, title, label, series, logarithmic=False):
        self.scale = math.log10 if logarithmic else float
        values = [self.scale(value) for line in series.values() for value in line]
        margin = 0.05 * (max(values) - min(values))
        self.low, self.high = min(values) - margin, max(values) + margin
        if logarithmic:
            round_ = [c * 10.0**e for e in range(-4, 3) for c in (1, 2, 5)]
            self.ticks = [tick for tick in round_ if self.low <= math.log10(tick) <= self.high]
        else:
            self.ticks = ticks(self.low, self.high)
        self.x, self.y, self.title, self.label, self.series = x, y, title, label, series
        self.epochs = max(len(line) for line in series.values())

    def at(self, epoch, value):
        x = self.x + WIDTH * (epoch - 1) / max(self.epochs - 1, 1)
        return x, self.y + HEIGHT * (self.high - self.scale(value)) / (self.high - self.low)

    def draw(self):
        out = []
        bottom, right, centre = self.y + HEIGHT, self.x + WIDTH, self.x + WIDTH / 2
        for tick in self.ticks:
            _, y = self.at(1, tick)
            out.append(f'<line x1="{self.x}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#e0e0e0"/>')
            out.append(f'<text x="{self.x - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        for epoch in sorted({1, *range(5, self.epochs + 1, 5)}):
            x, _ = self.at(epoch, self.ticks[0])
            out.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="#444"/>')
            out.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{epoch}</text>')
        out.append(f'<rect x="{self.x}" y="{self.y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#444"/>')
        out.append(f'<text x="{centre}" y="{self.y - 12}" text-anchor="middle" font-size="15">{self.title}</text>')
        out.append(f'<text x="{centre}" y="{bottom + 40}" text-anchor="middle">epoch</text>')
        x, y = self.x - 50, self.y + HEIGHT / 2
        out.append(f'<text x="{x}" y="{y}" text-anchor="middle" transform="rotate(-90 {x} {y})">{self.label}</text>')
        for (signals, dash), line in self.series.items():
            points = " ".join("{:.1f},{:.1f}".format(*self.at(i + 1, value)) for i, value in enumerate(line))
            style = f'stroke="{COLOURS[signals]}" stroke-dasharray="{DASHES[dash]}"'
            out.append(f'<polyline points="{points}" fill="none" stroke-width="2" {style}/>')
        return out


def picture(rows, rates):
    """The SVG of {initial range: {(signals, number of rate): epochs of (loss, NDCG@1, NDCG@3)}}."""
    width, height = LEFT + 2 * WIDTH + GAP + 16, TOP + ROW * len(rows) - 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"']
    out[0] += ' font-family="sans-serif" font-size="13" fill="#222">'
    out.append(f'<rect width="{width}" height="{height}" fill="#fff"/>')
    legend = [(signals, dash) for signals in COLOURS for dash in range(len(rates))]
    for place, (signals, dash) in enumerate(legend):
        x = LEFT + place * (2 * WIDTH + GAP) / len(legend)
        style = f'stroke="{COLOURS[signals]}" stroke-width="2" stroke-dasharray="{DASHES[dash]}"'
        out.append(f'<line x1="{x}" y1="20" x2="{x + 30}" y2="20" {style}/>')
        out.append(f'<text x="{x + 36}" y="24">{signals}, ε {rates[dash]:g}</text>')
    for row, (initial, results) in enumerate(rows.items()):
        losses = {key: [epoch[0] for epoch in line] for key, line in results.items()}
        at_1 = {key: [epoch[1] for epoch in line] for key, line in results.items()}
        named = f"initial weights: {initial}" if initial.endswith("fan") else f"initial weights ±{initial}"
        y = TOP + ROW * row
        out += Panel(LEFT, y, f"Training loss, {named}", "mean loss of a pair", losses, True).draw()
        out += Panel(LEFT + WIDTH + GAP, y, f"Held-out queries, {named}", "NDCG@1", at_1).draw()
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clicks", required=True, help="the click log: a table with the columns query and title")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="where the picture goes")
    parser.add_argument("--program", default="clickvec")
    parser.add_argument("--rates", default="1e-3,3e-3", help="three learning rates at most")
    parser.add_argument("--init-ranges", default="0.01,active-fan", help="a row of the picture each")
    parser.add_argument("--options", default="--preset lstm-dssm", help="further options of clickvec train")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    rates = [float(rate) for rate in arguments.rates.split(",")][: len(DASHES)]

    rows = {}
    print("| initial weights | signals | learning rate | loss, first and last epoch | NDCG@1, best (epoch) and last |")
    print("| --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_folds(arguments.clicks, folder, 3, 10, 0, 1)
        for initial in arguments.init_ranges.split(","):
            for signals in COLOURS:
                for dash, rate in enumerate(rates):
                    options = f"{arguments.options} --set bptt.signals={signals} --set learning_rate={rate} --set init_range={initial}"
                    measured, _ = train(arguments.program, folder, 0, options, 1, arguments.threads)
                    if not measured:
                        print(f"| {initial} | {signals} | {rate:g} | stopped: not finite | |", flush=True)
                        continue
                    rows.setdefault(initial, {})[signals, dash] = measured
                    best = max(range(len(measured)), key=lambda epoch: measured[epoch][1])
                    loss = f"{measured[0][0]:.3f}, {measured[-1][0]:.3f}"
                    at_1 = f"{measured[best][1]:.3f} ({best + 1}), {measured[-1][1]:.3f}"
                    print(f"| {initial} | {signals} | {rate:g} | {loss} | {at_1} |", flush=True)
    arguments.output.write_text(picture(rows, rates), encoding="utf-8")


if __name__ == "__main__":
    main()
