#!/usr/bin/env python3
"""Training of every encoder in PyTorch, to measure clickvec's speed against.

python3 bench/torch_encoders.py CLICKS.tsv [--encoder lstm|bilstm|rnn|clsm|dssm] [--training paper|default] [--threads 1]

Does what `clickvec train` does, by the same settings (`--training paper` is `--preset paper`, `--training default` is without it),
the way a good user of PyTorch would write it for speed: words hashed before the clock starts, trigrams through an EmbeddingBag, words of
all texts packed step by step so that nothing is padded, as little Python as can be. The LSTM and its packing are those of
bench/torch_lstm_dssm.py. Where Adam leaves untouched rows alone, gradients of the table are sparse and the optimiser is SparseAdam.
A tower that reads queries and titles reads them in one go. bench/check_torch.py holds the encoders against clickvec's.
Prints one JSON object; pairs a second are those of the loop: packing, negatives, forward, backward, update.
"""
import argparse
import json
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from torch_lstm_dssm import Side, Tower as Lstm, pack, read

WARM_UP = 3
# What `clickvec train` says of itself: minibatch, negatives (None: all others), optimiser, clip norm, one tower.
TRAININGS = {"paper": (1024, 4, "nesterov", 10.0, False), "default": (64, None, "adam", None, True)}
LEARNING_RATE, GAMMA, INITIAL = 1e-3, 10.0, 0.01
# 0.9 in the first and in the last 2 % of all updates.
MOMENTUM, FIRST_MOMENTUM, FIRST_SHARE = 0.995, 0.9, 0.02


def bags(vocabulary, words):
    """The trigrams of `words`, one after the other, and where those of each word begin."""
    count = vocabulary.count[words]
    begin = np.cumsum(count) - count
    return vocabulary.flat[np.repeat(vocabulary.begin[words] - begin, count) + np.arange(count.sum())], begin


def in_order(side, texts):
    """The words of `texts`, text after text, with the texts' lengths."""
    length = side.length[texts]
    begin = np.cumsum(length) - length
    return side.word[np.repeat(side.begin[texts] - begin, length) + np.arange(length.sum())], length


class Dssm(nn.Module):
    """tanh of the sum of a text's trigrams, then dense layers."""

    def __init__(self, trigrams, units, sparse):
        super().__init__()
        self.table = nn.EmbeddingBag(trigrams, units[0], mode="sum", sparse=sparse)
        self.bias = nn.Parameter(torch.zeros(units[0]))
        self.layers = nn.ModuleList(nn.Linear(*sizes) for sizes in zip(units, units[1:]))

    def pack(self, side, texts, vocabulary):
        words, length = in_order(side, texts)
        trigrams, begin = bags(vocabulary, words)
        return torch.from_numpy(trigrams), torch.from_numpy(begin[np.cumsum(length) - length])

    def forward(self, trigrams, begin):
        state = torch.tanh(self.table(trigrams, begin) + self.bias)
        for layer in self.layers:
            state = torch.tanh(layer(state))
        return state


class Clsm(nn.Module):
    """Each word is projected for all places of the window at once; a window is a sum of neighbouring rows."""

    def __init__(self, trigrams, window, units, dimension, sparse):
        super().__init__()
        self.window, self.units = window, units
        self.table = nn.EmbeddingBag(trigrams + 1, window * units, mode="sum", sparse=sparse)
        self.bias = nn.Parameter(torch.zeros(units))
        self.semantic = nn.Linear(units, dimension)

    def pack(self, side, texts, vocabulary):
        """The words of all texts, padding before each and after the last; which windows are those of a word."""
        words, length = in_order(side, texts)
        reach, first = self.window // 2, np.cumsum(length) - length
        kept = np.arange(len(words)) + np.repeat(np.arange(len(texts)) * reach, length)
        words = np.insert(words, np.repeat(np.append(first, len(words)), reach), vocabulary.padding)
        return tuple(map(torch.from_numpy, (*bags(vocabulary, words), kept, length)))

    def forward(self, trigrams, begin, kept, length):
        words = self.table(trigrams, begin)
        rows, k = len(words) - self.window + 1, self.units
        sums = sum(words[place:place + rows, place * k:(place + 1) * k] for place in range(self.window))
        # The maximum first: tanh changes nothing about which is largest.
        largest = torch.segment_reduce(sums[kept], "max", lengths=length, unsafe=True)
        return torch.tanh(self.semantic(torch.tanh(largest + self.bias)))


class Rnn(nn.Module):
    def __init__(self, trigrams, units, sparse):
        super().__init__()
        self.table = nn.EmbeddingBag(trigrams, units, mode="sum", sparse=sparse)
        self.recurrent = nn.Linear(units, units)

    def pack(self, side, texts, vocabulary):
        return pack(side, texts, vocabulary)

    def forward(self, trigrams, begin, alive, place):
        inputs = torch.split(self.table(trigrams, begin), alive)
        state, ended = torch.tanh(inputs[0] + self.recurrent.bias), []
        for x, n in zip(inputs[1:], alive[1:]):
            if n < len(state):
                ended.append(state[n:])
                state = state[:n]
            state = torch.tanh(x + self.recurrent(state))
        return torch.cat([state, *reversed(ended)])[place]


class OneLstm(Lstm):
    """bench/torch_lstm_dssm.py's."""

    def __init__(self, trigrams, cells, sparse):
        super().__init__(trigrams, cells)
        self.table.sparse = sparse

    def pack(self, side, texts, vocabulary):
        return pack(side, texts, vocabulary)


class BiLstm(nn.Module):
    def __init__(self, trigrams, cells, sparse):
        super().__init__()
        self.directions = nn.ModuleList(OneLstm(trigrams, cells, sparse) for _ in range(2))

    def pack(self, side, texts, vocabulary):
        return pack(side, texts, vocabulary), pack(side.backward, texts, vocabulary)

    def forward(self, *packed):
        return torch.cat([lstm(*read) for lstm, read in zip(self.directions, packed)], dim=1)


def build(encoder, trigrams, sizes, window, sparse):
    """A tower; its table has a last row for the padding word if it is a CLSM."""
    if encoder == "dssm":
        return Dssm(trigrams, sizes, sparse)
    if encoder == "clsm":
        return Clsm(trigrams, window, *sizes, sparse)
    return {"rnn": Rnn, "lstm": OneLstm, "bilstm": BiLstm}[encoder](trigrams, *sizes, sparse)


SIZES = {"lstm": [96], "bilstm": [96], "rnn": [288], "clsm": [288, 96], "dssm": [288, 96]}


def prepare(vocabulary, sides):
    """What the encoders ask for besides: a padding word of one trigram of its own, and each text from its end."""
    vocabulary.padding = len(vocabulary.count)
    vocabulary.begin = np.append(vocabulary.begin, len(vocabulary.flat))
    vocabulary.count = np.append(vocabulary.count, 1)
    vocabulary.flat = np.append(vocabulary.flat, len(vocabulary.trigrams))
    for side in sides:
        side.backward = Side([])
        side.backward.length, side.backward.begin = side.length, side.begin
        place = np.arange(len(side.word)) - np.repeat(side.begin, side.length)
        side.backward.word = side.word[np.repeat(side.begin + side.length - 1, side.length) - place]


def both(first, second):
    """The texts of both sides in one."""
    side = Side([])
    side.length = np.concatenate([first.length, second.length])
    side.begin = np.concatenate([first.begin, second.begin + len(first.word)])
    side.word = np.concatenate([first.word, second.word])
    if hasattr(first, "backward"):
        side.backward = both(first.backward, second.backward)
    return side


class Optimizer:
    """Nesterov momentum with its schedule, or Adam that leaves untouched rows alone."""

    def __init__(self, kind, towers, clip, updates, fused):
        self.towers, self.clip, self.updates, self.update = towers, clip, updates, 0
        weights = [weight for tower in towers for weight in tower.parameters()]
        self.nesterov = kind == "nesterov"
        if self.nesterov:
            self.parts = [torch.optim.SGD(weights, lr=LEARNING_RATE, momentum=MOMENTUM, nesterov=True, fused=fused)]
        else:
            bags = [module for tower in towers for module in tower.modules() if isinstance(module, nn.EmbeddingBag)]
            tables = [bag.weight for bag in bags]
            dense = [weight for weight in weights if not any(weight is table for table in tables)]
            self.parts = [torch.optim.SparseAdam(tables, lr=LEARNING_RATE), torch.optim.Adam(dense, lr=LEARNING_RATE)]

    def step(self):
        if self.clip is not None:
            for tower in self.towers:
                nn.utils.clip_grad_norm_(tower.parameters(), self.clip)
        for part in self.parts:
            if self.nesterov:
                low = min(self.update, self.updates - 1 - self.update) < FIRST_SHARE * self.updates
                part.param_groups[0]["momentum"] = FIRST_MOMENTUM if low else MOMENTUM
            part.step()
        self.update += 1

    def zero_grad(self):
        for part in self.parts:
            part.zero_grad(set_to_none=True)


def loss_of(query, title, negatives, rng):
    """Summed over the pairs."""
    query, title = F.normalize(query), F.normalize(title)
    if negatives is None:
        return F.cross_entropy(GAMMA * query @ title.T, torch.arange(len(query)), reduction="sum")
    clicked = (query * title).sum(dim=1)
    # One shift of the titles gives every query another title.
    shifts = rng.choice(np.arange(1, len(query)), size=negatives, replace=False)
    others = torch.stack([(query * title.roll(int(shift), dims=0)).sum(dim=1) for shift in shifts])
    return torch.log1p(torch.exp(GAMMA * (others - clicked)).sum(dim=0)).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clicks")
    parser.add_argument("--encoder", choices=list(SIZES), default="lstm")
    parser.add_argument("--training", choices=list(TRAININGS), default="paper")
    parser.add_argument("--sizes", type=int, nargs="+", help="cells, or units of each layer [default: what clickvec has]")
    parser.add_argument("--window", type=int, default=3, help="clsm: words in a window")
    parser.add_argument("--minibatch", type=int, help="pairs [default: that of the training]")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minibatches", type=int, default=40, help="to time, at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so many, but not before three minibatches")
    parser.add_argument("--fused", action="store_true", help="the fused form of PyTorch's optimiser")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    size, negatives, kind, clip, shared = TRAININGS[args.training]
    size = args.minibatch or size

    vocabulary, queries, titles = read(args.clicks)
    prepare(vocabulary, (queries, titles))
    pairs, texts_of_both = len(queries.length), both(queries, titles)
    features = len(vocabulary.trigrams)
    towers = [build(args.encoder, features, args.sizes or SIZES[args.encoder], args.window, kind == "adam")
              for _ in range(1 if shared else 2)]
    for tower in towers:
        for name, weight in tower.named_parameters():
            nn.init.zeros_(weight) if "bias" in name else nn.init.uniform_(weight, -INITIAL, INITIAL)
    whole = min(args.minibatches, pairs // size)
    optimizer = Optimizer(kind, towers, clip, WARM_UP + whole, args.fused)
    order, losses, began = rng.permutation(pairs), [], 0.0
    for number in range(-WARM_UP, whole):
        if number == 0:
            began = time.perf_counter()
        elif number >= WARM_UP and time.perf_counter() - began > args.seconds:
            break
        texts = order[(number % whole) * size:][:size]
        if shared:
            found = towers[0](*towers[0].pack(texts_of_both, np.concatenate([texts, pairs + texts]), vocabulary))
            query, title = found[:size], found[size:]
        else:
            query, title = (tower(*tower.pack(side, texts, vocabulary)) for tower, side in zip(towers, (queries, titles)))
        loss = loss_of(query, title, negatives, rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() / size)
    seconds = time.perf_counter() - began
    timed = len(losses) - WARM_UP
    print(json.dumps({
        "torch": torch.__version__,
        "encoder": args.encoder,
        "training": args.training,
        "minibatch": size,
        "trigrams": features,
        "threads": args.threads,
        "minibatches": timed,
        "pairs_per_second": timed * size / seconds,
        "losses": [round(loss, 4) for loss in losses],
    }))


if __name__ == "__main__":
    main()
