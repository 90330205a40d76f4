#!/usr/bin/env python3
"""Time from the start of `search` to its end, of one query: python3 bench/start.py MODEL TITLES [--clickvec PROGRAM]

Makes an index, then searches it `--runs` times. Wall time and processor time of the process; the files are in the system's
cache. One thread.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent


def run(command):
    """Wall and processor seconds."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    return wall, after.children_user - before.children_user + after.children_system - before.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("titles")
    parser.add_argument("--clickvec", default=str(BENCH.parent / "target/release/clickvec"), help="the program")
    parser.add_argument("--query", default="wall shelf")
    parser.add_argument("--runs", type=int, default=21)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        subprocess.run([args.clickvec, "index", "--model", args.model, "--titles", args.titles, "--output", index], check=True)
        search = [args.clickvec, "search", index, "--json", "--threads", "1", args.query]
        wall, processor = zip(*(run(search) for _ in range(args.runs)))
    print("| wall, p50 | wall, least | processor, p50 |\n| ---: | ---: | ---: |")
    print(f"| {1000 * statistics.median(wall):.0f} ms | {1000 * min(wall):.0f} ms | {1000 * statistics.median(processor):.0f} ms |")


if __name__ == "__main__":
    main()
