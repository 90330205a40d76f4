#!/usr/bin/env python3
"""How fast do networks learn?  python3 bench/losses.py TABLE.json [--svg PICTURE]

TABLE.json is what `clickvec lab table … --json` prints, with a few seeds for each network. Prints the mean loss of a pair after some
epochs, mean ± standard deviation over the seeds, and Welch's t-test of each network against the first, with Holm's correction over
all tests. `--svg` draws the means after every epoch, with bands of one standard deviation. Compares nothing but losses: networks
with another γ or another number of negatives have another loss. Python 3.9 or later, nothing else.
"""
import argparse
import json
import math
import statistics
from pathlib import Path

from compare_seeds import holm, shown, signed, welch

COLOURS = ["#1f5fa8", "#d2601a", "#1d8a4e", "#7b3fa0", "#8a7a10", "#c2367c"]
LEFT, TOP, WIDTH, HEIGHT = 62, 44, 468, 284


def tables(systems, epochs):
    """`systems` has for each name the losses of each seed."""
    heads = "".join(f" {epoch} |" for epoch in epochs)
    print(f"| mean loss after epoch |{heads}\n| --- |" + " ---: |" * len(epochs))
    for name, seeds in systems.items():
        cells = []
        for epoch in epochs:
            values = [losses[epoch - 1] for losses in seeds]
            deviation = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
            cells.append(f"{statistics.fmean(values):.4f}{deviation}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    base = next(iter(systems))
    tests = [(name, epoch) for name in systems if name != base for epoch in epochs if len(systems[name]) > 1]
    at = lambda name, epoch: [losses[epoch - 1] for losses in systems[name]]
    found = [welch(at(name, epoch), at(base, epoch)) for name, epoch in tests]
    if found:
        print(f"\n| compared with {base} | epoch | difference | 95 % interval | p |\n| --- | ---: | ---: | --- | ---: |")
    for (name, epoch), (difference, half, _), p in zip(tests, found, holm([p for *_, p in found])):
        interval = f"{signed(difference - half)} to {signed(difference + half)}"
        print(f"| {name} | {epoch} | {signed(difference)} | {interval} | {shown(p)} |")


def picture(systems, title):
    """The SVG: losses on a logarithmic scale over epochs."""
    longest = max(len(losses) for seeds in systems.values() for losses in seeds)
    lines = {name: [(statistics.fmean(e), statistics.stdev(e) if len(e) > 1 else 0.0) for e in zip(*seeds)] for name, seeds in systems.items()}
    ends = [value for line in lines.values() for mean, deviation in line for value in (mean + deviation, max(mean - deviation, mean / 2))]
    low, high = math.log10(min(ends)) - 0.05, math.log10(max(ends)) + 0.05
    width, height = WIDTH, HEIGHT
    whole = (LEFT + width + 56 + 7 * max(map(len, systems)), TOP + height + 52)

    def at(epoch, value):
        x = LEFT + width * (epoch - 1) / max(longest - 1, 1)
        return f"{x:.1f},{TOP + height * (high - math.log10(value)) / (high - low):.1f}"

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole[0]}" height="{whole[1]}" viewBox="0 0 {whole[0]} {whole[1]}" role="img"'
           ' aria-labelledby="title description" font-family="sans-serif" font-size="12" fill="#222">',
           f'<title id="title">{title}</title>', '<desc id="description">The mean loss of a pair after each epoch, on a logarithmic scale; bands are'
           ' one standard deviation over the seeds.</desc>', f'<rect width="{whole[0]}" height="{whole[1]}" fill="#fff"/>']
    for exponent in range(-5, 3):
        for digit in (1, 2, 5):
            tick = digit * 10.0**exponent
            if low <= math.log10(tick) <= high:
                x, y = at(1, tick).split(",")
                out.append(f'<line x1="{x}" y1="{y}" x2="{LEFT + width}" y2="{y}" stroke="#e4e4e4"/>')
                out.append(f'<text x="{LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for epoch in sorted({1, *range(5, longest + 1, 5)} if longest > 5 else range(1, longest + 1)):
        x = at(epoch, 1.0).split(",")[0]
        out.append(f'<text x="{x}" y="{TOP + height + 18}" text-anchor="middle">{epoch}</text>')
    out.append(f'<rect x="{LEFT}" y="{TOP}" width="{width}" height="{height}" fill="none" stroke="#888"/>')
    out.append(f'<text x="{LEFT + width / 2}" y="{TOP + height + 40}" text-anchor="middle">epoch</text>')
    out.append(f'<text x="{LEFT}" y="{TOP - 14}">mean loss of a pair</text>')
    for place, (name, line) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        upper = [at(epoch, mean + deviation) for epoch, (mean, deviation) in enumerate(line, 1)]
        lower = [at(epoch, max(mean - deviation, mean / 2)) for epoch, (mean, deviation) in enumerate(line, 1)]
        out.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{colour}" opacity=".25"/>')
        points = " ".join(at(epoch, mean) for epoch, (mean, _) in enumerate(line, 1))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = TOP + 14 + 20 * place
        out.append(f'<line x1="{LEFT + width + 14}" y1="{y}" x2="{LEFT + width + 34}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{LEFT + width + 40}" y="{y + 4}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="what `clickvec lab table … --json` printed")
    parser.add_argument("--epochs", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2, 5, 10, 20],
                        help="those that are printed, as far as there are so many")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="where the picture goes")
    args = parser.parse_args()
    found = json.loads(args.table.read_text(encoding="utf-8"))
    systems = {system["name"]: system["losses"] for system in found["systems"] if system.get("losses")}
    if not systems:
        parser.error(f"{args.table}: expected networks with their losses, found none")
    least = min(len(losses) for seeds in systems.values() for losses in seeds)
    tables(systems, [epoch for epoch in args.epochs if epoch <= least])
    if args.svg:
        args.svg.write_text(picture(systems, found.get("title") or "Losses over epochs"), encoding="utf-8")


if __name__ == "__main__":
    main()
