#!/usr/bin/env python3
"""What part of a training step no further core makes shorter, and how much faster many cores would be:

    RUSTFLAGS="-C force-frame-pointers=yes -C symbol-mangling-version=v0" cargo build --release -p clickvec-bench \\
        --no-default-features --bin serial --target-dir target/parts
    python3 bench/serial.py target/parts/release/serial LOG.tsv

Needs Linux with `perf`. Samples one thread with what called what, so that other programs do not matter, and sorts each sample by what
can share it: the *blocks* of texts (16 to 128, so not more tasks than that), *rows* of weights, words and pairs (any number of tasks),
*towers* or members, which run next to each other, or nothing (*serial*). The *plan* of the next minibatch is made meanwhile. A step of p
cores takes serial + towers / (their number) + blocks / min(p, blocks) + rows / p, but not less than the plan of a tower, nor than all work
/ p. Waiting for each other, and memory that cores share, come on top.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter

HERTZ = 1999
CORES = (2, 4, 8, 16, 64)
# What runs next to each other (towers or members), and the blocks of all of them together.
RUNS = {
    "default: LSTM, 64 pairs, one tower": (1, 8, ["epochs=1"]),
    "three members, 64 pairs, one tower": (3, 3, ["epochs=1", "encoder.kind=members"]),
    "`lstm-dssm`: 1,024 pairs, two towers": (2, 16, ["preset=lstm-dssm", "epochs=3"]),
    "`lstm-dssm`, 8,192 pairs": (2, 128, ["preset=lstm-dssm", "batch_size=8192", "epochs=3"]),
}
# The first that is in a sample's stack. What is done once an epoch does not count.
KINDS = {
    "epoch": r"Optimizer>::moved|Learner>::snapshot|Run>::finish_epoch",
    "plan": r"Minibatches>::fill",
    "blocks": r"bridge_producer_consumer.*batch::Block\b",
    "rows": r"bridge_producer_consumer",
    "towers": r"Encoder>::|Optimizer>::|step::Tower>::|loss::Unit>::",
    "serial": r"step::Towers>::|loss::Loss>::",
}
SHOWN = ("blocks", "rows", "towers", "serial", "plan")


def stacks(program, log, settings, folder):
    """The stacks of the samples, each as one text."""
    data = f"{folder}/perf.data"
    command = ["perf", "record", "-q", "-g", "-F", str(HERTZ), "-e", "cpu-clock:u", "-o", data, program, log]
    for setting in settings:
        command += ["--set", setting]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"error: {' '.join(command)}: exit status {run.returncode}\n{run.stderr}")
    script = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], check=True, capture_output=True, text=True).stdout
    return [stack for stack in script.split("\n\n") if stack.strip()]


def kind_of(stack):
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, stack)), None)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", help="`serial`, built as above")
    arguments.add_argument("log", help="a click log")
    arguments.add_argument("--functions", action="store_true", help="list the functions of all that is not divided")
    options = arguments.parse_args()
    print(f"| training | {' | '.join(SHOWN)} | " + " | ".join(f"{cores} cores" for cores in CORES) + " |")
    print("| --- |" + " ---: |" * (len(SHOWN) + len(CORES)))
    for name, (towers, blocks, settings) in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = stacks(options.program, options.log, settings, folder)
        kinds = Counter(kind_of(stack) for stack in found)
        if not kinds["rows"] or not kinds["plan"]:
            sys.exit(f"error: expected stacks with names, found {dict(kinds)}; build as `python3 bench/serial.py --help` says")
        if towers == 3:
            # All of a member's step is next to the other members'.
            kinds["towers"] += kinds.pop("serial")
        step = sum(kinds[kind] for kind in SHOWN if kind != "plan")
        one = step + kinds["plan"]

        def times(cores):
            side_by_side = kinds["towers"] / min(towers, cores) + kinds["blocks"] / min(blocks, cores)
            part = kinds["serial"] + side_by_side + kinds["rows"] / cores
            return one / max(part, kinds["plan"] / towers, one / cores)

        shares = " | ".join(f"{100 * kinds[kind] / step:.1f} %" for kind in SHOWN)
        print(f"| {name} | {shares} | " + " | ".join(f"{times(cores):.1f}" for cores in CORES) + " |")
        if options.functions:
            leaves = Counter()
            for stack in found:
                if (kind := kind_of(stack)) in ("towers", "serial", "plan"):
                    names = [line.strip().partition(" ")[2] for line in stack.splitlines()]
                    leaves[kind, " < ".join(names[:3])] += 1
            for (kind, leaf), count in leaves.most_common(25):
                print(f"    {100 * count / step:5.2f} %  {kind}: {leaf}")


if __name__ == "__main__":
    main()
