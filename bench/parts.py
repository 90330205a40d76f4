#!/usr/bin/env python3
"""Where the time of a training step goes, part by part, compared with a roofline:

    RUSTFLAGS="-C symbol-mangling-version=v0" cargo build --profile profiling -p clickvec-bench --bin profile --target-dir target/parts
    python3 bench/parts.py target/parts/profiling/profile LOG.tsv

Needs Linux with `perf`. Samples the program `profile` (one thread, `--preset lstm-dssm`: LSTM 96, minibatches of 1,024) while it learns
few minibatches and many; what is done once cancels in the difference. The system's own time is outside. `--symbols` lists what no part claims.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter

HERTZ = 2999
FEW, MANY = 20, 320

# A symbol belongs to the first part whose pattern is in its name: kernels by what they do and for whom.
PARTS = {
    "products and weights' gradients (GEMM)": r"math::gemm",
    "projection of distinct words (gather)": r"sparse::\w+::<.*Moving|project",
    "gradients of words and trigrams (scatter)": r"sparse::\w+::<.*Still|gather|bias_gradient",
    "activations, forward": r"lstm::",
    "errors of the gates, backward": r"lstm_backward::",
    "optimiser": r"optimizer::",
    "norm": r"sum_of_squares",
    "loss": r"loss::|vector::(dot|add_scaled|normalize)|exp_slice",
    "sums over blocks, gradient of the bias": r"vector::add::",
    "copies, zeros": r"mem(move|set|cpy)",
    "plan: pairs, negatives, distinct words, rows": r"minibatch|text::batch|rng::|ClickLog|Xoshiro|chacha|random",
}
REST = "all else"


def samples(program, log, minibatches, folder):
    """Samples of each symbol, and what the program printed."""
    data = f"{folder}/{minibatches}.data"
    command = ["perf", "record", "-q", "-F", str(HERTZ), "-e", "cpu-clock:u", "-o", data]
    command += [program, log, "--minibatches", str(minibatches), "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"error: {' '.join(command)}: exit status {run.returncode}\n{run.stderr}")
    script = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], check=True, capture_output=True, text=True).stdout
    return Counter(line.strip().partition(" ")[2] for line in script.splitlines() if line.strip()), json.loads(run.stdout)


def part_of(symbol):
    return next((part for part, pattern in PARTS.items() if re.search(pattern, symbol)), REST)


def least(work):
    """For each part (GFLOP, MB, milliseconds that these take alone)."""
    row, cell = work["row_bytes"], work["cell_bytes"]
    touched, words = work["touched"], work["words"]
    # Each array once: value and velocity of a touched row, projections, gradients; gates, cell states and activations
    # of a word.
    rows = {
        "projection of distinct words (gather)": (2 * touched + work["distinct"]) * row,
        "optimiser": (4 * touched + work["gradients"]) * row,
    }
    states = {
        "gradients of words and trigrams (scatter)": words * row + work["gradients"] * row,
        "activations, forward": words * (2 * row + 3 * cell),
        "errors of the gates, backward": words * (2 * row + 2 * cell),
    }
    bounds = {"products and weights' gradients (GEMM)": (work["product_flop"] / 1e9, None, 1e3 * work["product_flop"] / work["flop_per_s"])}
    bounds |= {part: (None, size / 1e6, 1e3 * size / work["row_bytes_per_s"]) for part, size in rows.items()}
    return bounds | {part: (None, size / 1e6, 1e3 * size / work["state_bytes_per_s"]) for part, size in states.items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", help="`profile`, built as above")
    arguments.add_argument("log", help="a click log")
    arguments.add_argument("--symbols", action="store_true", help="list the symbols of every part")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        few, _ = samples(options.program, options.log, FEW, folder)
        many, work = samples(options.program, options.log, MANY, folder)
    if not any("Moving" in symbol for symbol in many):
        sys.exit("error: expected symbols with their types, found none; build as `python3 bench/parts.py --help` says")
    step = {symbol: 1e3 * (many[symbol] - few[symbol]) / HERTZ / (MANY - FEW) for symbol in many}
    parts = Counter()
    for symbol, time in step.items():
        parts[part_of(symbol)] += time
    total, bounds = sum(parts.values()), least(work)
    print(
        f"A minibatch of 1,024 pairs: {work['words']:,.0f} words, {work['distinct']:,.0f} distinct in their tower, {work['touched']:,.0f} "
        f"touched rows of {work['row_bytes']:,} bytes.\nProducts alone: {work['flop_per_s'] / 1e9:.0f} GFLOP/s. Touched rows, read and "
        f"written: {work['row_bytes_per_s'] / 1e9:.1f} GB/s. States, one after the other: {work['state_bytes_per_s'] / 1e9:.1f} GB/s.\n"
        f"Reading and hashing, once: {1e3 * work['reading_s'] * 1024 / work['pairs']:.2f} ms for 1,024 pairs.\n"
    )
    print("| part | ms | share | GFLOP | MB | at these rates, ms |\n| --- | ---: | ---: | ---: | ---: | ---: |")

    def line(part, time, gflop, size, bound):
        shown = lambda number, digits: "" if number is None else f"{number:.{digits}f}"
        print(f"| {part} | {time:.2f} | {100 * time / total:.0f} % | {shown(gflop, 2)} | {shown(size, 1)} | {shown(bound, 2)} |")

    for part in [*PARTS, REST]:
        line(part, parts[part], *bounds.get(part, (None, None, None)))
    line("all", total, *(sum(bound[i] or 0 for bound in bounds.values()) for i in range(3)))
    if options.symbols:
        for time, symbol in sorted(((time, symbol) for symbol, time in step.items()), reverse=True)[:60]:
            print(f"{time:7.3f}  {part_of(symbol)}: {symbol}")


if __name__ == "__main__":
    main()
