#!/usr/bin/env python3
"""Draws how an LSTM trains with the published per-gate error signals beside the exact gradient.

    per_gate.py --clicks clicks.tsv --output docs/per-gate.svg

The log is split as bench/cross_validation.py does; the first fold is held out. Both kinds of
training run under `--preset paper` at several learning rates, with the same seed and so the same
weights at the start and the same minibatches. Python 3.9 or later, nothing else.
"""

import argparse
import pathlib
import tempfile

from cross_validation import make_folds, train

COLOURS = {"exact": "#1f5fa8", "per-gate": "#d2601a"}
DASHES = ["", "7 4", "2 3"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 400, 280, 62, 70, 76


def ticks(low, high):
    """Round numbers between `low` and `high`."""
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if (high - low) / s <= 8)
    first = -(-low // step)
    return [round((first + i) * step, 10) for i in range(int((high - low) / step) + 2) if (first + i) * step <= high]


class Panel:
    """A plot over epochs."""

    def __init__(self, x, title, label, series, low=None):
        values = [value for line in series.values() for value in line]
        margin = 0.04 * (max(values) - min(values))
        self.low = min(values) - margin if low is None else low
        self.high = max(values) + margin
        self.x, self.title, self.label, self.series = x, title, label, series
        self.epochs = max(len(line) for line in series.values())

    def at(self, epoch, value):
        x = self.x + WIDTH * (epoch - 1) / max(self.epochs - 1, 1)
        return x, TOP + HEIGHT * (self.high - value) / (self.high - self.low)

    def draw(self):
        out = []
        for tick in ticks(self.low, self.high):
            _, y = self.at(1, tick)
            out.append(f'<line x1="{self.x}" y1="{y:.1f}" x2="{self.x + WIDTH}" y2="{y:.1f}" stroke="#e0e0e0"/>')
            out.append(f'<text x="{self.x - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        for epoch in sorted({1, *range(5, self.epochs + 1, 5)}):
            x, _ = self.at(epoch, self.low)
            out.append(f'<line x1="{x:.1f}" y1="{TOP + HEIGHT}" x2="{x:.1f}" y2="{TOP + HEIGHT + 5}" stroke="#444"/>')
            out.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{epoch}</text>')
        out.append(f'<rect x="{self.x}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#444"/>')
        middle = TOP + HEIGHT / 2
        out.append(f'<text x="{self.x + WIDTH / 2}" y="{TOP - 12}" text-anchor="middle" font-size="15">{self.title}</text>')
        out.append(f'<text x="{self.x + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">epoch</text>')
        turn = f'transform="rotate(-90 {self.x - 46} {middle})"'
        out.append(f'<text x="{self.x - 46}" y="{middle}" text-anchor="middle" {turn}>{self.label}</text>')
        for (signals, dash), line in self.series.items():
            points = " ".join("{:.1f},{:.1f}".format(*self.at(i + 1, value)) for i, value in enumerate(line))
            style = f'stroke="{COLOURS[signals]}" stroke-dasharray="{DASHES[dash]}"'
            out.append(f'<polyline points="{points}" fill="none" stroke-width="2" {style}/>')
        return out


def picture(results, rates):
    """The SVG of {(signals, number of rate): epochs of (loss, NDCG@1, NDCG@3)}."""
    losses = {key: [epoch[0] for epoch in line] for key, line in results.items()}
    at_1 = {key: [epoch[1] for epoch in line] for key, line in results.items()}
    panels = [
        Panel(LEFT, "Training loss of a pair", "mean loss of the epoch", losses, 0.0),
        Panel(LEFT + WIDTH + GAP, "Held-out queries", "NDCG@1 after the epoch", at_1),
    ]
    width, height = LEFT + 2 * WIDTH + GAP + 16, TOP + HEIGHT + 56
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"']
    out[0] += ' font-family="sans-serif" font-size="13" fill="#222">'
    out.append(f'<rect width="{width}" height="{height}" fill="#fff"/>')
    x = LEFT
    for signals, colour in COLOURS.items():
        for dash, rate in enumerate(rates):
            if (signals, dash) not in results:
                continue
            style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{DASHES[dash]}"'
            out.append(f'<line x1="{x}" y1="24" x2="{x + 30}" y2="24" {style}/>')
            out.append(f'<text x="{x + 36}" y="28">{signals}, ε = {rate:g}</text>')
            x += 148
    for panel in panels:
        out += panel.draw()
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clicks", required=True, help="the click log: a table with the columns query and title")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="where the picture goes")
    parser.add_argument("--program", default="clickvec")
    parser.add_argument("--rates", default="3e-4,1e-3,3e-3", help="three learning rates at most")
    parser.add_argument("--options", default="--preset paper", help="further options of clickvec train")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    rates = [float(rate) for rate in arguments.rates.split(",")][: len(DASHES)]

    results = {}
    print("| signals | learning rate | loss, first and last epoch | NDCG@1, best (epoch) and last | seconds |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_folds(arguments.clicks, folder, 3, 10, 0, 1)
        for signals in COLOURS:
            for dash, rate in enumerate(rates):
                options = f"{arguments.options} --bptt {signals} --learning-rate {rate}"
                measured, seconds = train(arguments.program, folder, 0, options, 1, arguments.threads)
                if not measured:
                    print(f"| {signals} | {rate:g} | stopped: not finite | | |", flush=True)
                    continue
                results[signals, dash] = measured
                best = max(range(len(measured)), key=lambda epoch: measured[epoch][1])
                loss = f"{measured[0][0]:.3f}, {measured[-1][0]:.3f}"
                at_1 = f"{measured[best][1]:.4f} ({best + 1}), {measured[-1][1]:.4f}"
                print(f"| {signals} | {rate:g} | {loss} | {at_1} | {seconds:.1f} |", flush=True)
    arguments.output.write_text(picture(results, rates), encoding="utf-8")


if __name__ == "__main__":
    main()
