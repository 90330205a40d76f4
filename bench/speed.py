#!/usr/bin/env python3
"""Training speed beside PyTorch, and the memory of training: python3 bench/speed.py [--clickvec PROGRAM] [--large]

Needs `torch` and `numpy` for the PyTorch side (a CPU build will do), and Linux for the memory. Both sides learn the same log by
the same algorithm (bench/torch_lstm_dssm.py), turn about, `--runs` times for each number of threads; medians are printed.
Pairs a second are those of the training loop: minibatches made, negatives drawn, forward, backward, update. On clickvec's side
reading the log and hashing its words are inside (its first epoch counts them), on PyTorch's side they are outside. Memory is the peak of the process's anonymous resident memory (RssAnon in
/proc/PID/status); `--large` adds a log of ten times the pairs. Leave the machine alone meanwhile.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
SETTINGS = "--preset paper --encoder lstm --cells 96 --minibatch 1024 --epochs 1".split()
POLL_SECONDS = 0.01


def anonymous_mib(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("RssAnon")), 0.0)


def clickvec(program, log, threads, folder):
    """Pairs a second and peak memory of one epoch."""
    command = [program, "train", "--clicks", log, *SETTINGS, "--threads", str(threads), "--json", "--output", folder / "model"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, anonymous_mib(process.pid))
        time.sleep(POLL_SECONDS)
    events = [json.loads(line) for line in process.stdout]
    if process.returncode:
        sys.exit(f"{program}: exit status {process.returncode}")
    epoch = next(event for event in events if event["event"] == "epoch")
    return epoch["pairs_per_second"], peak


def torch(log, threads, minibatches):
    command = [sys.executable, BENCH / "torch_lstm_dssm.py", log, "--threads", str(threads), "--minibatches", str(minibatches)]
    result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return result["pairs_per_second"], result["torch"]


def make_log(path, pairs):
    subprocess.run([sys.executable, BENCH / "make_log.py", str(pairs), path], check=True)
    return path


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown processor"
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clickvec", default=str(BENCH.parent / "target/release/clickvec"), help="the program")
    parser.add_argument("--pairs", type=int, default=200_000, help="pairs of the log")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--minibatches", type=int, default=40, help="that PyTorch is timed over; clickvec's epoch is whole")
    parser.add_argument("--large", action="store_true", help="memory also on ten times the pairs")
    parser.add_argument("--memory-only", action="store_true", help="leave PyTorch out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        log = make_log(folder / "log.tsv", args.pairs)
        print(f"{processor()}, {os.cpu_count()} cores; {args.pairs:,} pairs; {args.runs} runs, medians\n")
        print("| threads | clickvec, pairs/s | PyTorch, pairs/s | ratio | clickvec, anonymous memory |")
        print("| --- | --- | --- | --- | --- |")
        for threads in args.threads:
            ours, theirs, peaks = [], [], []
            for _ in range(args.runs):
                speed, peak = clickvec(args.clickvec, log, threads, folder)
                ours.append(speed)
                peaks.append(peak)
                if not args.memory_only:
                    speed, version = torch(log, threads, args.minibatches)
                    theirs.append(speed)
            beside = ratio = "–"
            if theirs:
                beside = f"{statistics.median(theirs):,.0f}"
                ratio = f"{statistics.median(ours) / statistics.median(theirs):.1f}"
            print(f"| {threads} | {statistics.median(ours):,.0f} | {beside} | {ratio} | {max(peaks):,.0f} MiB |", flush=True)
        if args.large:
            large = make_log(folder / "large.tsv", 10 * args.pairs)
            speed, large_peak = clickvec(args.clickvec, large, args.threads[-1], folder)
            print(f"\n{10 * args.pairs:,} pairs, {args.threads[-1]} threads: {speed:,.0f} pairs/s, {large_peak:,.0f} MiB, "
                  f"{100 * (large_peak / max(peaks) - 1):+.1f} % memory")
        if not args.memory_only:
            print(f"\nPyTorch {version}")


if __name__ == "__main__":
    main()
