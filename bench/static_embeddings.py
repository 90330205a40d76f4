#!/usr/bin/env python3
"""Trains static embeddings (sentence-transformers' StaticEmbedding) on a click log, and writes their vectors.

    static_embeddings.py DATA OUTPUT [--dimension 256] [--epochs 5] [--pieces 16000] [--seed 1] [--distil FOLDER]

DATA is a folder with clicks.tsv, titles.tsv and judged.tsv (see bench/table.py). A text's vector is the mean of the vectors of its word
pieces, which are cut by a WordPiece vocabulary of the titles and clicked queries; nothing is downloaded. The loss is that of
bench/fine_tune.py: every other title of a minibatch of 64 is a negative, but for those that were clicked for the same query. OUTPUT gets
SEED-t.npy (all titles and judged titles), SEED-j.npy (judged queries) and their texts in .txt files, which specs/others.toml compares
with clickvec's models. Judged queries are encoded and never learnt. `--distil` begins with model2vec's vectors of the pieces of the sentence
transformer in FOLDER, instead of random vectors of pieces of these texts; with `--epochs 0` they stay. Needs `pip install
sentence-transformers`, and for `--distil` model2vec[distill].
"""
import argparse
import random
import time
from pathlib import Path

import needed

needed.packages("numpy", "torch", "sentence_transformers")

import torch
from fine_tune import PAIRS, loss, rows, write
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

LEARNING_RATE = 1e-2


def word_pieces(texts, size):
    """A tokenizer of the texts' words, at most `size` pieces."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[UNK]"]))
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--pieces", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--distil", metavar="FOLDER")
    parser.add_argument("--rate", type=float, default=LEARNING_RATE, help="the step size of Adam")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    random.seed(arguments.seed)
    clicks, judged = rows(arguments.data / "clicks.tsv"), rows(arguments.data / "judged.tsv")
    pairs = [(row["query"], row["title"]) for row in clicks]
    clicked = {}
    for query, title in pairs:
        clicked.setdefault(query, set()).add(title)
    titles = sorted({row["title"] for row in rows(arguments.data / "titles.tsv") + judged})
    if arguments.distil:
        embedding = StaticEmbedding.from_distillation(arguments.distil, device="cpu", pca_dims=arguments.dimension)
    else:
        tokenizer = word_pieces([*titles, *sorted(clicked)], arguments.pieces)
        embedding = StaticEmbedding(tokenizer, embedding_dim=arguments.dimension)
    model = SentenceTransformer(modules=[embedding], device="cpu")
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.rate, fused=True)
    began = time.process_time()
    for epoch in range(1, arguments.epochs + 1):
        random.shuffle(pairs)
        total = 0.0
        for start in range(0, len(pairs), PAIRS):
            optimizer.zero_grad()
            value = loss(model, pairs[start:start + PAIRS], clicked)
            value.backward()
            optimizer.step()
            total += value.item() * len(pairs[start:start + PAIRS])
        print(f"epoch {epoch}: loss {total / len(pairs):.3f}, {time.process_time() - began:.0f} s of processor time", flush=True)
    texts = {"t": titles, "j": sorted({row["query"] for row in judged})}
    write(model, texts, arguments.output, str(arguments.seed))
    print(f"{sum(parameter.numel() for parameter in model.parameters()):,} weights")


if __name__ == "__main__":
    main()
