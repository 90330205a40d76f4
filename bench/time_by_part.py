#!/usr/bin/env python3
"""Which part of a training run takes how much of the processor's time, by sampling.

    RUSTFLAGS="-C symbol-mangling-version=v0" cargo build --profile profiling --target-dir target/profiling
    python3 bench/time_by_part.py --clickvec target/profiling/profiling/clickvec LOG.tsv

Needs Linux with `perf`. One thread, `--preset paper`, LSTM 96, minibatches of 1,024. Two runs, of one epoch and of three:
their difference is two epochs of minibatches, and reading, hashing and setting up are what is left of the first.
"""

import argparse
import re
import subprocess
import sys
import tempfile

# A part is the first whose pattern is found in a symbol's name. Kernels are found by what they sum and for whom.
PARTS = [
    ("GEMM: recurrent products, their gradients", r"math::gemm::|math::bf16::"),
    ("gather: projection of distinct words", r"sparse::\w+::<.*Moving"),
    ("scatter: gradients of words and trigrams", r"sparse::\w+::<.*Still|gather_gradient|bias_gradient|vector::add(::|$)"),
    ("activations, forward", r"lstm::(cell|output)_step|lstm::forward"),
    ("errors of the gates, backward", r"lstm_backward::"),
    ("optimiser: touched rows", r"optimizer::"),
    ("norm", r"sum_of_squares"),
    ("loss", r"loss::|vector::(dot|add_scaled|normalize)|activation::exp"),
    ("plan: pairs, negatives, distinct words, touched rows", r"clicks::minibatch|text::batch|rng::|ClickLog>?::(clicked|pair)|clicks::log::.*WordFeatures|FnMut.*call_mut|extend_desugared|Permutation"),
    ("hashing and reading the log", r"clicks::(log|reader|tsv|mapped)|text::|memchr|from_utf8|xxh|hashbrown"),
    ("copies and zeros", r"mem(move|set|cpy)"),
    ("the system: pages, files", r"\[k\]"),
]


def samples(clickvec, log, epochs, folder):
    """Seconds of processor time of each symbol."""
    data = f"{folder}/{epochs}.data"
    run = [clickvec, "train", "--clicks", log, "--preset", "paper", "--encoder", "lstm", "--cells", "96", "--minibatch", "1024",
           "--epochs", str(epochs), "--threads", "1", "--output", f"{folder}/model.safetensors"]
    subprocess.run(["perf", "record", "-q", "-F", "1999", "-e", "cpu-clock", "-o", data, *run], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    report = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], check=True, capture_output=True, text=True).stdout
    seconds = {}
    for line in report.splitlines():
        address, _, symbol = line.strip().partition(" ")
        symbol = symbol + (" [k]" if address.startswith("ffff") else "")
        seconds[symbol] = seconds.get(symbol, 0.0) + 1 / 1999
    return seconds


def part_of(symbol):
    return next((name for name, pattern in PARTS if re.search(pattern, symbol)), "everything else")


def by_part(seconds):
    parts = {}
    for symbol, time in seconds.items():
        parts[part_of(symbol)] = parts.get(part_of(symbol), 0.0) + time
    return parts


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("log", help="a click log")
    arguments.add_argument("--clickvec", required=True, help="the program, built as above")
    arguments.add_argument("--symbols", action="store_true", help="also list the symbols of `everything else`")
    options = arguments.parse_args()
    with open(options.log, encoding="utf-8") as log:
        minibatches = -(-(sum(1 for _ in log) - 1) // 1024)
    with tempfile.TemporaryDirectory() as folder:
        one, three = (samples(options.clickvec, options.log, epochs, folder) for epochs in (1, 3))
    if not any("Moving" in symbol for symbol in one):
        sys.exit("expected symbols with their types, found none; build as `python3 bench/time_by_part.py --help` says")
    loop = {symbol: (three.get(symbol, 0.0) - one.get(symbol, 0.0)) / 2 for symbol in three | one}
    before = {symbol: one.get(symbol, 0.0) - loop[symbol] for symbol in loop}
    loop, before = by_part(loop), by_part(before)
    total = sum(loop.values())
    print("| part | ms a minibatch | share | once, s |\n| --- | ---: | ---: | ---: |")
    for name in [name for name, _ in PARTS] + ["everything else"]:
        time = loop.get(name, 0.0)
        print(f"| {name} | {1e3 * time / minibatches:.2f} | {100 * time / total:.0f} % | {max(before.get(name, 0.0), 0.0):.2f} |")
    print(f"| all | {1e3 * total / minibatches:.2f} | 100 % | {sum(before.values()):.2f} |")
    if options.symbols:
        rest = sorted((time, symbol) for symbol, time in three.items() if part_of(symbol) == "everything else")
        for time, symbol in reversed(rest[-20:]):
            print(f"{time:8.3f}  {symbol}")


if __name__ == "__main__":
    main()
