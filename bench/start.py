#!/usr/bin/env python3
"""Time from the start of `search` to its end, of one query: python3 bench/start.py MODEL TITLES [--clickvec PROGRAM]

Two forms in turn, `--runs` times each: with an index, which this script makes first, and with a model and a table of titles,
which are encoded at each start. Wall time and processor time of the whole process; the files are in the system's cache. One
thread each. Fails if the two forms do not answer alike.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent


def run(command):
    """Wall and processor seconds, and what was printed."""
    before, start = os.times(), time.perf_counter()
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    wall, after = time.perf_counter() - start, os.times()
    processor = after.children_user - before.children_user + after.children_system - before.children_system
    return wall, processor, printed


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
        given = ["--model", args.model, "--titles", args.titles]
        subprocess.run([args.clickvec, "index", *given, "--output", index], check=True)
        forms = {"`--index`": ["--index", index], "`--model --titles`": given}
        times, answers = {form: [] for form in forms}, set()
        for _ in range(args.runs):
            for form, source in forms.items():
                *seconds, printed = run([args.clickvec, "search", *source, "--json", "--threads", "1", args.query])
                times[form].append(seconds)
                answers.add(printed)
        if len(answers) != 1:
            sys.exit("the two forms do not answer alike")
        print("| form | wall, p50 | wall, least | processor, p50 |\n| --- | ---: | ---: | ---: |")
        middles = []
        for form, seconds in times.items():
            wall, processor = zip(*seconds)
            middles.append(statistics.median(wall))
            print(f"| {form} | {1000 * middles[-1]:.0f} ms | {1000 * min(wall):.0f} ms | {1000 * statistics.median(processor):.0f} ms |")
        print(f"\n{args.runs} runs each, in turn; {middles[1] / middles[0]:.1f} times as fast with an index")


if __name__ == "__main__":
    main()
