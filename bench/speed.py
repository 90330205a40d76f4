#!/usr/bin/env python3
"""Training speed compared with PyTorch, and the memory of training: python3 bench/speed.py [--clickvec PROGRAM] [--all] [--large]

Needs `torch` and `numpy` for the PyTorch side (a CPU build will do), and Linux for the memory. Both sides learn the same log by
the same algorithm (bench/torch_encoders.py, which says what is plain and what is tuned), in turn, `--runs` times for each row;
medians are printed as a Markdown table. Without options that is the LSTM under `--preset lstm-dssm` with minibatches of 1,024;
`--encoders` and `--minibatches` name others, `default` among the encoders being the training without a preset and `members` that
of three members side by side, and `--all` is all of them (about 25 minutes on two cores).

Pairs a second are those of the training loop: minibatches made, negatives drawn, forward, backward, update. Reading the log and
hashing its words are outside on both sides: clickvec's figure is that of its second epoch. "With reading" is what it says of
its first, in which they are inside, and the initialisation of the weights. With `--epochs 1`, which `--all` implies to save
time, only reading is left out, so that its figures are a little low. Memory is the peak of the process's anonymous resident memory (RssAnon in /proc/PID/status); `--large` adds a log of ten
times the pairs. Leave the machine alone meanwhile.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ENCODERS = {
    "lstm": ("LSTM 96", "--preset lstm-dssm --encoder lstm --set encoder.cells=96"),
    "dssm": ("DSSM 288/96", "--preset lstm-dssm --encoder dssm --set encoder.layers=288,96"),
    "clsm": ("CLSM 288/96, window 3", "--preset lstm-dssm --encoder clsm --set encoder.convolution=288 --set encoder.semantic=96 --set encoder.window=3"),
    "rnn": ("RNN 288", "--preset lstm-dssm --encoder rnn --set encoder.hidden=288"),
    "gru": ("GRU 96", "--preset lstm-dssm --encoder gru --set encoder.cells=96"),
    "bilstm": ("BiLSTM 96", "--preset lstm-dssm --encoder bilstm --set encoder.cells=96"),
    "default": ("LSTM 96, default training", ""),
    "members": ("LSTM 96, default training, 3 members", "--encoder members"),
}
# Trained as one model, side by side: a pair counts once for each, and PyTorch's side trains one model at a time.
MEMBERS = {"members": 3}
DEFAULT = ("default", "members")
DEFAULT_MINIBATCH = 64
POLL_SECONDS = 0.01


def anonymous_mib(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("RssAnon")), 0.0)


def poll(process, peak):
    while process.poll() is None:
        peak.append(max(peak.pop(), anonymous_mib(process.pid)))
        time.sleep(POLL_SECONDS)


def clickvec(program, options, log, threads, folder, epochs):
    """Training: pairs a second of the loop (the last epoch) and with reading (the first), peak memory in MiB, trigrams, loss."""
    command = [program, "train", "--clicks", log, "--set", "keep=last", *options, "--epochs", epochs, "--threads", threads]
    began = time.perf_counter()
    process = subprocess.Popen([*map(str, command), "--json", "--output", folder / "model"], stdout=subprocess.PIPE, text=True)
    peak = [0.0]
    poller = threading.Thread(target=poll, args=(process, peak))
    poller.start()
    result = {}
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "log":
            reading = time.perf_counter() - began
            result.update(pairs=event["pairs"], trigrams=event["trigrams"], reading_seconds=reading)
        if event["event"] == "epoch" and event["epoch"] == 1:
            # This still includes initialising the weights, whose time is not reported.
            loop = result["pairs"] / (event["seconds"] - result["reading_seconds"])
            result.update(with_reading=event["pairs_per_second"], loss=event["loss"], loop=loop)
        elif event["event"] == "epoch":
            result.update(loop=event["pairs_per_second"])
    poller.join()
    if process.returncode:
        sys.exit(f"{program}: exit status {process.returncode}")
    return {**result, "peak_mib": peak[0]}


def torch(log, encoder, minibatch, threads, seconds, variants):
    """The output of bench/torch_encoders.py."""
    named = ["--training", "default"] if encoder in DEFAULT else ["--encoder", encoder, "--minibatch", minibatch]
    command = [sys.executable, BENCH / "torch_encoders.py", log, *named, "--threads", threads, "--seconds", seconds,
               "--minibatches", 1000, "--variants", *variants]
    return json.loads(subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout)


def make_log(path, pairs, *options):
    command = [sys.executable, BENCH / "make_log.py", pairs, path, *options]
    subprocess.run([*map(str, command)], check=True)
    return path


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown processor"
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


def row_of(cell):
    """A line of the table."""
    members = MEMBERS.get(cell["encoder"], 1)
    loop = members * statistics.median(run["loop"] for run in cell["clickvec"])
    texts = [cell["name"], f"{cell['minibatch']:,}", str(cell["threads"]), f"{loop:,.0f}"]
    texts.append(f"{members * statistics.median(run['with_reading'] for run in cell['clickvec']):,.0f}")
    for speeds in cell["torch"].values():
        texts += [f"{statistics.median(speeds):,.0f}", f"{loop / statistics.median(speeds):.1f}"]
    texts.append(f"{max(run['peak_mib'] for run in cell['clickvec']):,.0f} MiB")
    return "| " + " | ".join(texts) + " |"


def header(variants):
    names = ["encoder", "minibatch", "threads", "clickvec, pairs/s", "with reading"]
    titles = {"plain": "PyTorch", "tuned": "PyTorch, tuned"}
    for variant in variants:
        names += [f"{titles[variant]}, pairs/s", "ratio"]
    names.append("clickvec, anonymous memory")
    return "| " + " | ".join(names) + " |\n| --- |" + " ---: |" * (len(names) - 1)


def spread(speeds):
    return (max(speeds) - min(speeds)) / statistics.median(speeds)


def measure(args, log, folder, encoder, minibatch, threads):
    name, options = ENCODERS[encoder]
    options = [*options.split(), "--minibatch", minibatch]
    cell = {"encoder": encoder, "name": name, "minibatch": minibatch, "threads": threads, "clickvec": [],
            "torch": {variant: [] for variant in args.variants}}
    for _ in range(args.runs):
        cell["clickvec"].append(clickvec(args.clickvec, options, log, threads, folder, args.epochs))
        if args.variants:
            result = torch(log, encoder, minibatch, threads, args.seconds, args.variants)
            cell["version"] = result["torch"]
            for variant, speeds in cell["torch"].items():
                speeds.append(result[variant]["pairs_per_second"])
    return cell


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clickvec", default=str(BENCH.parent / "target/release/clickvec"), help="the program")
    parser.add_argument("--pairs", type=int, default=200_000, help="pairs of the log")
    parser.add_argument("--encoders", choices=list(ENCODERS), nargs="+", default=["lstm"])
    parser.add_argument("--minibatches", type=int, nargs="+", default=[1024], help="pairs in a minibatch; `default` has its own")
    parser.add_argument("--all", action="store_true", help="all encoders, with minibatches of 256, 1,024 and 4,096")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="that clickvec trains [default: 2; with --all: 1]")
    parser.add_argument("--variants", choices=["plain", "tuned"], nargs="*", default=["plain", "tuned"], help="of PyTorch's side")
    parser.add_argument("--seconds", type=float, default=2.0, help="that each variant is timed; clickvec's epoch is whole")
    parser.add_argument("--large", action="store_true", help="memory also on ten times the pairs")
    parser.add_argument("--memory-only", action="store_true", help="leave PyTorch out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what each run gave")
    args = parser.parse_args()
    if args.all:
        args.encoders, args.minibatches = list(ENCODERS), [256, 1024, 4096]
    args.epochs = args.epochs or (1 if args.all else 2)
    if args.memory_only:
        args.variants = []
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        log = make_log(folder / "log.tsv", args.pairs)
        if args.variants:
            subprocess.run([sys.executable, BENCH / "torch_encoders.py", log, "--prepare"], check=True)
        print(f"{processor()}, {os.cpu_count()} cores; {args.pairs:,} pairs; medians of {args.runs} runs\n")
        print(header(args.variants))
        for encoder in args.encoders:
            for minibatch in args.minibatches if encoder not in DEFAULT else [DEFAULT_MINIBATCH]:
                for threads in args.threads:
                    cells.append(measure(args, log, folder, encoder, minibatch, threads))
                    print(row_of(cells[-1]), flush=True)
        runs = [[run["loop"] for run in cell["clickvec"]] for cell in cells]
        runs += [speeds for cell in cells for speeds in cell["torch"].values()]
        spreads, trigrams = [100 * spread(speeds) for speeds in runs], cells[0]["clickvec"][0]["trigrams"]
        print(f"\n{trigrams:,} trigrams; the runs of one figure lie {statistics.median(spreads):.0f} % apart in the median, "
              f"{max(spreads):.0f} % at most")
        if args.variants:
            print(f"\nPyTorch {cells[0]['version']}")
        if args.large:
            large = make_log(folder / "large.tsv", 10 * args.pairs)
            last = cells[-1]
            options = [*ENCODERS[last["encoder"]][1].split(), "--minibatch", last["minibatch"]]
            result = clickvec(args.clickvec, options, large, last["threads"], folder, 1)
            peak = max(run["peak_mib"] for run in last["clickvec"])
            more = 100 * (result["peak_mib"] / peak - 1)
            print(f"\n{last['name']}, minibatch {last['minibatch']:,}, {10 * args.pairs:,} pairs, {last['threads']} threads: "
                  f"{result['loop']:,.0f} pairs/s, {result['peak_mib']:,.0f} MiB, {more:+.1f} % memory")
            cells.append({**last, "pairs": 10 * args.pairs, "clickvec": [result], "torch": {}})
    if args.json:
        args.json.write_text(json.dumps({"processor": processor(), "pairs": args.pairs, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
