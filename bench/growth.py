#!/usr/bin/env python3
"""How training's speed and memory grow: python3 bench/growth.py [--clickvec PROGRAM] [--json FILE] [--svg bench/notes/growth.svg]

Trains the LSTM under `--preset lstm-dssm` on made-up logs (bench/make_log.py), changing one thing at a time: the trigrams, the
pairs of the log, the minibatch, the cells, the words of a text; each with one and with two threads. Prints a Markdown table for
each with the law that fits best, and draws all of them. Pairs a second are those of the training loop, reading left out; memory
is the peak of anonymous resident memory. About 20 minutes on two cores; Python 3.9 or later on Linux, nothing else. `--from
FILE` draws and prints what `--json` wrote before, `--share 0.01` tries everything on tiny logs. Leave the machine alone
meanwhile.
"""
import argparse
import json
import math
import os
import sys
import tempfile
from pathlib import Path

from speed import BENCH, clickvec, make_log, processor

PAIRS, WORDS_OF_A_PAIR = 100_000, 10.8
# With more pairs than this, one epoch is measured and reading is subtracted; otherwise the second of two epochs.
MOST_TWICE = 500_000
FEWEST_MINIBATCHES = 20
# Letters for about this many thousand trigrams; and enough words that all of them occur, the same number each time.
LETTERS, KINDS = {10: 21, 20: 27, 50: 36, 100: 46, 200: 60}, 400_000
COLOURS = {1: "#1f5fa8", 2: "#d2601a"}


class Point:
    """The options of a run, and its log."""

    def __init__(self, x, options=(), log=(), pairs=PAIRS, threads=None):
        self.x, self.log, self.pairs, self.threads = x, tuple(map(str, log)), int(pairs), threads
        self.options = ["--preset", "lstm-dssm", "--set", "max_words=256", *map(str, options)]


def words_point(words):
    """Fewer pairs, because each has more words, but enough minibatches."""
    pairs = max(PAIRS * WORDS_OF_A_PAIR / (2 * words), FEWEST_MINIBATCHES * 1024)
    return Point(words, log=["--query-words", words, "--title-words", words], pairs=min(PAIRS, pairs))


# The name of each axis, its heading in the table, and its points. Trigrams are counted during the run.
AXES = {
    "trigrams": ("trigrams V", [Point(None, log=["--letters", n, "--words", KINDS], pairs=200_000) for n in LETTERS.values()]),
    "pairs": ("pairs of the log", [Point(n, pairs=n) for n in (200_000, 500_000, 1_000_000, 2_000_000)]
              + [Point(5_000_000, pairs=5_000_000)]),
    "minibatch": ("minibatch, pairs", [Point(n, ["--minibatch", n]) for n in (64, 256, 1024, 4096, 8192)]),
    "cells": ("cells H", [Point(n, ["--cells", n]) for n in (32, 64, 96, 192, 384)]),
    "words": ("words of a text", [words_point(n) for n in (3, 10, 30, 100, 200)]),
}


def measure(args, folder):
    """{axis: [{x, threads, pairs, trigrams, loop, peak_mib, …}]}"""
    found, logs = {}, {}
    for axis in args.axes:
        found[axis] = []
        for point in AXES[axis][1]:
            pairs = max(100, int(point.pairs * args.share))
            key = (pairs, point.log)
            if key not in logs:
                # One log at a time: five million pairs take 340 MB.
                for path in logs.values():
                    path.unlink()
                logs = {key: make_log(folder / "log.tsv", pairs, *point.log)}
            for threads in args.threads:
                if point.threads not in (None, threads):
                    continue
                epochs = 2 if point.pairs <= MOST_TWICE else 1
                result = clickvec(args.clickvec, point.options, logs[key], threads, folder, epochs)
                result.update(x=result[axis] if axis in ("trigrams", "pairs") else point.x, threads=threads)
                found[axis].append(result)
                print(f"{axis} {result['x']:,}, {threads} threads: {result['loop']:,.0f} pairs/s, {result['peak_mib']:,.0f} MiB",
                      file=sys.stderr, flush=True)
    return found


def exponent(points):
    """Slope of ln y over ln x."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in points))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)


def line(points):
    """a and b of y = a + b·x with the least squared relative error."""
    rows = [(1 / y, x / y) for x, y in points]
    aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(row[i] for row in rows) for i in (0, 1))
    determinant = aa * bb - ab * ab
    return (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant


def number(x):
    return f"{x:,.0f}" if x >= 100 or x == int(x) else f"{x:.3g}"


def table(axis, results):
    threads = sorted({result["threads"] for result in results})
    out = [f"| {AXES[axis][0]} | " + " | ".join(f"pairs/s, {n} threads".replace("1 threads", "1 thread") for n in threads)
           + " | words/s, most threads | memory, MiB |"]
    out.append("| ---: |" + " ---: |" * (len(threads) + 2))
    for x in dict.fromkeys(result["x"] for result in results):
        here = {result["threads"]: result for result in results if result["x"] == x}
        speeds = [f"{here[n]['loop']:,.0f}" if n in here else "–" for n in threads]
        most = here[max(here)]
        words = most["loop"] * (2 * x if axis == "words" else WORDS_OF_A_PAIR)
        peak = max(result["peak_mib"] for result in here.values())
        out.append(f"| {number(x)} | " + " | ".join(speeds) + f" | {words:,.0f} | {peak:,.0f} |")
    laws = []
    for n in threads:
        points = [(r["x"], r["loop"]) for r in results if r["threads"] == n]
        if len(points) > 1:
            steps = ", ".join(f"{exponent(pair):+.2f}" for pair in zip(points, points[1:]))
            named = "1 thread" if n == 1 else f"{n} threads"
            laws.append(f"{named}: pairs/s as x to the power of {exponent(points):+.2f}; from point to point {steps}.")
    points = [(r["x"], r["peak_mib"]) for r in results if r["threads"] == threads[-1]]
    if len(points) > 1:
        a, b = line(points)
        worst = max(abs(a + b * x - y) / y for x, y in points)
        laws.append(f"Memory: {a:,.0f} MiB + {1024 * b:,.3g} KiB · x, {100 * worst:.0f} % off at most.")
    return "\n".join([*out, "", *laws])


def short(x):
    if x >= 1e6:
        return f"{x / 1e6:.3g} M"
    return f"{x / 1e3:.0f} K" if x >= 1e4 else f"{x:,.0f}"


class Row:
    """One quantity over all axes, on one logarithmic scale."""

    def __init__(self, top, height, name, key, found):
        self.top, self.height, self.name, self.key = top, height, name, key
        values = [result[key] for results in found.values() for result in results]
        self.low, self.high = math.log10(min(values)) - 0.12, math.log10(max(values)) + 0.2
        ticks = [c * 10.0**e for e in range(7) for c in (1, 2, 5)]
        self.ticks = [tick for tick in ticks if self.low <= math.log10(tick) <= self.high]
        if len(self.ticks) > 6:
            self.ticks = [tick for tick in self.ticks if f"{tick:.0e}"[0] == "1"]

    def y(self, value):
        return self.top + self.height * (self.high - math.log10(value)) / (self.high - self.low)


def picture(found):
    """The SVG: a column an axis, pairs a second above memory, all scales logarithmic."""
    width, left, right, gap = 800, 62, 14, 12
    panel = (width - left - right - gap * (len(found) - 1)) / len(found)
    rows = [Row(56, 190, "pairs a second", "loop", found), Row(286, 150, "anonymous memory, MiB", "peak_mib", found)]
    bottom = rows[-1].top + rows[-1].height
    height = bottom + 62
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" viewBox="0 0 {width} {height:g}"'
           ' role="img" aria-labelledby="title description" font-family="sans-serif" font-size="12" fill="#222">']
    out.append('<title id="title">Speed and memory of training as its sizes grow</title>')
    said = []
    for axis, results in found.items():
        ends = [results[0]["x"], results[-1]["x"]], [results[0]["loop"], results[-1]["loop"]]
        said.append("{} {} to {}: {} to {} pairs a second".format(AXES[axis][0], *map(short, ends[0]), *map(short, ends[1])))
    out.append(f'<desc id="description">{"; ".join(said)}.</desc>')
    out.append(f'<rect width="{width}" height="{height:g}" fill="#fff"/>')
    for row in rows:
        y = row.top - (26 if row is rows[0] else 10)
        out.append(f'<text x="{left}" y="{y}" font-size="13" font-weight="bold">{row.name}</text>')
    for column, (axis, results) in enumerate(found.items()):
        x0 = left + column * (panel + gap)
        xs = list(dict.fromkeys(result["x"] for result in results))
        low, high = math.log10(min(xs)), math.log10(max(xs))
        inset = 12

        def at(value):
            return x0 + inset + (panel - 2 * inset) * (math.log10(value) - low) / max(high - low, 1e-9)

        for row in rows:
            for tick in row.ticks:
                y = row.y(tick)
                out.append(f'<line x1="{x0:.1f}" y1="{y:.1f}" x2="{x0 + panel:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
                if column == 0:
                    out.append(f'<text x="{x0 - 7:.1f}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>')
            out.append(f'<rect x="{x0:.1f}" y="{row.top}" width="{panel:.1f}" height="{row.height}" fill="none" stroke="#888"/>')
            for n in sorted({result["threads"] for result in results}):
                # Memory hardly depends on the threads, so one line is enough.
                if row is rows[1] and n != max(result["threads"] for result in results):
                    continue
                points = [(at(r["x"]), row.y(r[row.key])) for r in results if r["threads"] == n]
                colour = "#444" if row is rows[1] else COLOURS.get(n, "#444")
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
                out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
                out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in points]
                if row is rows[0] and column == 0:
                    (x, y), named = points[0], "1 thread" if n == 1 else f"{n} threads"
                    y += 17 if n == 1 else -9
                    out.append(f'<text x="{x - 4:.1f}" y="{y:.1f}" fill="{colour}" font-weight="bold">{named}</text>')
        for x in xs:
            out.append(f'<line x1="{at(x):.1f}" y1="{bottom}" x2="{at(x):.1f}" y2="{bottom + 4}" stroke="#444"/>')
        # Print labels only where they do not overlap.
        last = -1e9
        for place, x in enumerate(xs):
            text = short(x).replace(" ", "")
            half = 3.4 * len(text)
            room = at(x) - half > last + 5 and at(x) + half < at(xs[-1]) - 3.4 * len(short(xs[-1])) - 5
            if place in (0, len(xs) - 1) or room:
                out.append(f'<text x="{at(x):.1f}" y="{bottom + 18}" text-anchor="middle">{text}</text>')
                last = at(x) + half
        centre = x0 + panel / 2
        for y in (bottom + 38, rows[0].top - 9):
            out.append(f'<text x="{centre:.1f}" y="{y}" text-anchor="middle">{AXES[axis][0]}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clickvec", default=str(BENCH.parent / "target/release/clickvec"), help="the program")
    parser.add_argument("--axes", choices=list(AXES), nargs="+", default=list(AXES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--share", type=float, default=1.0, help="of each log's pairs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what each run gave")
    parser.add_argument("--from", dest="earlier", type=Path, metavar="FILE", help="measure nothing: take what --json wrote")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="where the picture goes")
    args = parser.parse_args()
    if args.earlier:
        whole = json.loads(args.earlier.read_text())
    else:
        with tempfile.TemporaryDirectory() as folder:
            whole = {"processor": processor(), "cores": os.cpu_count(), "axes": measure(args, Path(folder))}
    if args.json:
        args.json.write_text(json.dumps(whole, indent=1) + "\n")
    print(f"{whole['processor']}, {whole['cores']} cores")
    for axis, results in whole["axes"].items():
        print(f"\n{table(axis, results)}")
    if args.svg:
        args.svg.write_text(picture(whole["axes"]), encoding="utf-8")


if __name__ == "__main__":
    main()
