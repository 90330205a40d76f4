#!/usr/bin/env python3
"""Check the instruction counts of the hot loops: python3 bench/instructions.py [--update]

Builds `kernels` (bench/src/bin/kernels.rs) and runs each of its loops under valgrind (callgrind), twice as often the second time, so
that what is done once cancels. Fails if a loop takes more than 5 % more instructions than bench/instructions.json says; `--update`
writes that file again. Counts do not depend on what else the machine does, but on the compiler: the file names it. Valgrind knows
no AVX-512, so what is counted is the level avx2.
"""
import argparse
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
BASELINE = BENCH / "instructions.json"
LEVEL = "avx2"
ROUNDS = 1
GROWTH = 0.05
KERNELS = (
    "gemm",
    "projection",
    "lstm-forward",
    "lstm-both-ways",
    "bilstm-both-ways",
    "rnn-both-ways",
    "clsm-both-ways",
    "plan",
    "optimizer",
    "adam",
    "loss",
    "hashing",
    "known-query",
    "unknown-query",
    "flat-scan",
    "code-scan",
)


def fail(message):
    sys.exit(f"error: {message}")


# The library as in a release; the crates that it uses as in the tests, so that they need not be built again.
OPTIMIZED = [
    f"--config=profile.dev.package.{package}.{setting}"
    for package in ("clickvec", "clickvec-tests")
    for setting in ("opt-level=3", "codegen-units=1")
]


def build():
    # All packages, because crates have the features then that they have in the tests.
    command = ["cargo", "build", "--locked", "--workspace", "--bin", "kernels"]
    subprocess.run(command + OPTIMIZED, cwd=BENCH, check=True)
    metadata = subprocess.run(
        "cargo metadata --format-version 1 --no-deps --locked".split(), cwd=BENCH, check=True, stdout=subprocess.PIPE
    )
    return Path(json.loads(metadata.stdout)["target_directory"]) / "debug" / "kernels"


def collected(program, kernel, rounds):
    """Instructions of a whole run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [program, kernel, str(rounds), "--level", LEVEL]
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        fail(f"{' '.join(map(str, command))}: exit status {run.returncode}\n{run.stderr}")
    return int(found[1])


def instructions(program, kernel):
    """Instructions of one round."""
    return (collected(program, kernel, 2 * ROUNDS) - collected(program, kernel, ROUNDS)) // ROUNDS


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--update", action="store_true", help="write the counts found as the new baseline")
    update = arguments.parse_args().update
    if platform.machine() != "x86_64":
        print(f"NOT COUNTED: the baseline is of an x86_64 processor, this is {platform.machine()}")
        return
    if not shutil.which("valgrind"):
        fail("expected `valgrind` on the path, found none; install it (apt-get install valgrind) and run again")
    rustc = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"rustc": None, "instructions": {}}
    if not update and baseline["rustc"] != rustc:
        print(
            f"NOT COUNTED: the baseline is of {baseline['rustc']}, this is {rustc}, which makes other instructions; check the "
            "speed by other means, then run bench/instructions.py --update and commit bench/instructions.json"
        )
        return
    program = build()
    found, grown = {}, []
    print(f"{'instructions a round':20} {'baseline':>12} {'now':>12} {'change':>8}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for kernel, now in zip(KERNELS, pool.map(lambda kernel: instructions(program, kernel), KERNELS)):
            found[kernel] = now
            before = baseline["instructions"].get(kernel)
            change = now / before - 1 if before else None
            shown = "new" if change is None else f"{100 * change:+.2f} %"
            print(f"{kernel:20} {before or '':>12} {now:12} {shown:>8}", flush=True)
            if change is None or change > GROWTH:
                grown.append(kernel)
    if update:
        BASELINE.write_text(json.dumps({"rustc": rustc, "level": LEVEL, "instructions": found}, indent=2) + "\n")
    elif grown:
        fail(
            f"more than {100 * GROWTH:.0f} % more instructions than the baseline, or none there: {', '.join(grown)}; find out why, "
            "or, if it is worth it, run bench/instructions.py --update and say so in the commit"
        )


if __name__ == "__main__":
    main()
