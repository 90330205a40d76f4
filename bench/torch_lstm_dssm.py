#!/usr/bin/env python3
"""The LSTM-DSSM's training in PyTorch, to measure clickvec's speed against.

python3 bench/torch_lstm_dssm.py CLICKS.tsv [--threads 1] [--minibatch 1024] [--cells 96] [--negatives 4] [--minibatches 40]

Does what `clickvec train --preset lstm-dssm --encoder lstm` does: letter trigrams; an LSTM without forget gate and peepholes for
queries and one for titles; negatives from the minibatch; Nesterov momentum 0.995 on every weight; each tower's gradient
clipped to norm 1. It is written as one would for speed in PyTorch: words of all texts packed step by step, so that nothing is
padded, and an EmbeddingBag for the trigrams. Words are hashed before the clock starts. Prints one JSON object.
"""
import argparse
import json
import time

import needed

needed.packages("numpy", "torch")

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

GAMMA, LEARNING_RATE, MOMENTUM, CLIP = 10.0, 1e-4, 0.995, 1.0
WARM_UP = 3


class Side:
    """All texts of one column as word numbers, one after the other."""

    def __init__(self, texts):
        self.length = np.array([len(text) for text in texts])
        self.begin = np.cumsum(self.length) - self.length
        self.word = np.fromiter((word for text in texts for word in text), dtype=np.int64)


class Vocabulary:
    """Words and their trigrams, numbered as they come."""

    def __init__(self):
        self.words, self.trigrams, self.of_word = {}, {}, []

    def word(self, word):
        if word not in self.words:
            self.words[word] = len(self.words)
            marked = "#" + word + "#"
            three = (marked[i:i + 3] for i in range(len(marked) - 2))
            self.of_word.append([self.trigrams.setdefault(t, len(self.trigrams)) for t in three])
        return self.words[word]

    def freeze(self):
        self.count = np.array([len(t) for t in self.of_word])
        self.begin = np.cumsum(self.count) - self.count
        self.flat = np.concatenate([np.array(t) for t in self.of_word])


def read(path):
    vocabulary, queries, titles = Vocabulary(), [], []
    with open(path, encoding="utf-8") as file:
        next(file)
        for line in file:
            query, title = line.rstrip("\n").split("\t")
            queries.append([vocabulary.word(word) for word in query.split()])
            titles.append([vocabulary.word(word) for word in title.split()])
    vocabulary.freeze()
    return vocabulary, Side(queries), Side(titles)


def steps(side, texts):
    """The words of every (step, text), longest text first; texts alive at each step; the backward pass."""
    length = side.length[texts]
    order = np.argsort(-length, kind="stable")
    begin, length = side.begin[texts][order], length[order]
    alive = [int(np.searchsorted(-length, -step, side="left")) for step in range(length[0])]
    words = np.concatenate([side.word[begin[:n] + step] for step, n in enumerate(alive)])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return words, alive, torch.from_numpy(place)


def bags(vocabulary, words):
    """The trigrams of `words`, one after the other, and where those of each begin."""
    count = vocabulary.count[words]
    begin = np.cumsum(count) - count
    trigrams = vocabulary.flat[np.repeat(vocabulary.begin[words] - begin, count) + np.arange(count.sum())]
    return torch.from_numpy(trigrams), torch.from_numpy(begin)


def pack(side, texts, vocabulary):
    """What a tower reads."""
    words, alive, place = steps(side, texts)
    return *bags(vocabulary, words), alive, place


class Tower(nn.Module):
    def __init__(self, trigrams, cells):
        super().__init__()
        self.cells = cells
        self.table = nn.EmbeddingBag(trigrams, 3 * cells, mode="sum")
        nn.init.uniform_(self.table.weight, -0.1, 0.1)
        self.recurrent = nn.Linear(cells, 3 * cells)

    def forward(self, trigrams, bags, alive, place):
        inputs = torch.split(self.table(trigrams, bags), alive)
        state = inputs[0].new_zeros(alive[0], self.cells)
        cell = state
        ended = []
        for x, n in zip(inputs, alive):
            # Texts are ordered by length, longest first, so those that have ended are the last rows.
            if n < len(state):
                ended.append(state[n:])
                state, cell = state[:n], cell[:n]
            candidate, gates = (x + self.recurrent(state)).split([self.cells, 2 * self.cells], dim=1)
            into, out = torch.sigmoid(gates).chunk(2, dim=1)
            cell = cell + into * torch.tanh(candidate)
            state = out * torch.tanh(cell)
        return torch.cat([state, *reversed(ended)])[place]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clicks")
    for name, default in (("threads", 1), ("minibatch", 1024), ("cells", 96), ("negatives", 4), ("minibatches", 40)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)

    vocabulary, queries, titles = read(args.clicks)
    towers = [Tower(len(vocabulary.trigrams), args.cells) for _ in range(2)]
    weights = [weight for tower in towers for weight in tower.parameters()]
    optimizer = torch.optim.SGD(weights, lr=LEARNING_RATE, momentum=MOMENTUM, nesterov=True)
    order = rng.permutation(len(queries.length))
    whole = min(args.minibatches, len(order) // args.minibatch)
    for number in range(-WARM_UP, whole):
        if number == 0:
            began = time.perf_counter()
        texts = order[(number % whole) * args.minibatch:][:args.minibatch]
        query, title = (
            F.normalize(tower(*pack(side, texts, vocabulary))) for tower, side in zip(towers, (queries, titles))
        )
        clicked = (query * title).sum(dim=1)
        # A single shift of the titles gives every query another title.
        shifts = rng.choice(np.arange(1, args.minibatch), size=args.negatives, replace=False)
        others = torch.stack([(query * title.roll(int(shift), dims=0)).sum(dim=1) for shift in shifts])
        loss = torch.log1p(torch.exp(GAMMA * (others - clicked)).sum(dim=0)).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for tower in towers:
            nn.utils.clip_grad_norm_(tower.parameters(), CLIP)
        optimizer.step()
    seconds = time.perf_counter() - began
    print(json.dumps({
        "torch": torch.__version__,
        "trigrams": len(vocabulary.trigrams),
        "threads": args.threads,
        "minibatches": whole,
        "pairs_per_second": whole * args.minibatch / seconds,
        "loss": loss.item() / args.minibatch,
    }))


if __name__ == "__main__":
    main()
