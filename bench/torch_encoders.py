#!/usr/bin/env python3
"""Training of every encoder in PyTorch, to measure clickvec's speed against.

python3 bench/torch_encoders.py CLICKS.tsv [--encoder lstm|bilstm|gru|rnn|clsm|dssm] [--training paper|default]

Does what `clickvec train` does, by the same settings (`--training paper` is `--preset lstm-dssm`, `--training default` is without
it). `plain` is written as a good user of PyTorch first writes it: words hashed before the clock starts, trigrams through an
EmbeddingBag, words of all texts packed step by step so that nothing is padded; the LSTM is that of bench/torch_lstm_dssm.py.
`tuned` adds what PyTorch can do as well: it projects each distinct word of a minibatch once, and uses the fused form
of the optimiser. With Adam, which leaves untouched rows alone, gradients of the table are sparse; one tower for both sides
reads them in one go. bench/check_torch.py compares the encoders with clickvec's. Prints one JSON object; pairs a second are
those of the loop: packing, negatives, forward, backward, update.
"""
import argparse
import json
import pickle
import time
from dataclasses import dataclass

import needed

needed.packages("numpy", "torch")

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from torch_lstm_dssm import Side, Tower, bags, read, steps

# The straightforward version, and one that projects each distinct word once and uses the fused optimiser.
VARIANTS = ("plain", "tuned")
# The settings of `clickvec train`: minibatch, negatives (None: all others), optimiser, clip norm, one tower.
TRAININGS = {"paper": (1024, 4, "nesterov", 10.0, False), "default": (64, None, "adam", None, True)}
LEARNING_RATE, GAMMA, INITIAL = 1e-3, 10.0, 0.01
# 0.9 in the first and in the last 2 % of all updates.
MOMENTUM, FIRST_MOMENTUM, FIRST_SHARE = 0.995, 0.9, 0.02


def in_order(side, texts):
    """The words of `texts`, text after text, with the texts' lengths."""
    length = side.length[texts]
    begin = np.cumsum(length) - length
    return side.word[np.repeat(side.begin[texts] - begin, length) + np.arange(length.sum())], length


class Table(nn.EmbeddingBag):
    """Sums of the trigrams' weights, once for each distinct word if `self.distinct`."""

    def __init__(self, rows, width, kind):
        super().__init__(rows, width, mode="sum", sparse=kind.sparse)
        self.distinct = kind.distinct

    def pack(self, words, vocabulary):
        if not self.distinct:
            return *bags(vocabulary, words), None
        words, which = np.unique(words, return_inverse=True)
        return *bags(vocabulary, words), torch.from_numpy(which)

    def forward(self, packed, _=None):
        trigrams, begin, which = packed
        sums = super().forward(trigrams, begin)
        return sums if which is None else F.embedding(which, sums)


class Dssm(nn.Module):
    """tanh of the sum of a text's trigrams, then dense layers."""

    def __init__(self, trigrams, units, kind):
        super().__init__()
        self.table = Table(trigrams, units[0], kind)
        self.bias = nn.Parameter(torch.zeros(units[0]))
        self.layers = nn.ModuleList(nn.Linear(*sizes) for sizes in zip(units, units[1:]))

    def pack(self, side, texts, vocabulary):
        words, length = in_order(side, texts)
        trigrams, begin = bags(vocabulary, words)
        return ((trigrams, begin[torch.from_numpy(np.cumsum(length) - length)], None),)

    def forward(self, text):
        state = torch.tanh(self.table(text) + self.bias)
        for layer in self.layers:
            state = torch.tanh(layer(state))
        return state


class Clsm(nn.Module):
    """Each word is projected for all places of the window at once; a window is a sum of neighbouring rows."""

    def __init__(self, trigrams, window, units, dimension, kind):
        super().__init__()
        self.window, self.units = window, units
        self.table = Table(trigrams + 1, window * units, kind)
        self.bias = nn.Parameter(torch.zeros(units))
        self.semantic = nn.Linear(units, dimension)

    def pack(self, side, texts, vocabulary):
        """The words of all texts, padding before each and after the last; which windows are those of a word."""
        words, length = in_order(side, texts)
        reach, first = self.window // 2, np.cumsum(length) - length
        kept = np.arange(len(words)) + np.repeat(np.arange(len(texts)) * reach, length)
        words = np.insert(words, np.repeat(np.append(first, len(words)), reach), vocabulary.padding)
        return self.table.pack(words, vocabulary), torch.from_numpy(kept), torch.from_numpy(length)

    def forward(self, words, kept, length):
        words = self.table(words)
        rows, k = len(words) - self.window + 1, self.units
        sums = words[:rows, :k]
        for place in range(1, self.window):
            sums = sums + words[place:place + rows, place * k:(place + 1) * k]
        # Take the maximum first, since tanh is monotonic.
        largest = torch.segment_reduce(F.embedding(kept, sums), "max", lengths=length, unsafe=True)
        return torch.tanh(self.semantic(torch.tanh(largest + self.bias)))


class Rnn(nn.Module):
    def __init__(self, trigrams, units, kind):
        super().__init__()
        self.table = Table(trigrams, units, kind)
        self.recurrent = nn.Linear(units, units)

    def pack(self, side, texts, vocabulary):
        words, alive, place = steps(side, texts)
        return self.table.pack(words, vocabulary), alive, place

    def forward(self, words, alive, place):
        inputs = torch.split(self.table(words), alive)
        state, ended = torch.tanh(inputs[0] + self.recurrent.bias), []
        for x, n in zip(inputs[1:], alive[1:]):
            if n < len(state):
                ended.append(state[n:])
                state = state[:n]
            state = torch.tanh(x + self.recurrent(state))
        return torch.cat([state, *reversed(ended)])[place]


class Gru(nn.Module):
    def __init__(self, trigrams, cells, kind):
        super().__init__()
        self.cells = cells
        self.table = Table(trigrams, 3 * cells, kind)
        self.gates, self.candidate = nn.Linear(cells, 2 * cells), nn.Linear(cells, cells)

    def pack(self, side, texts, vocabulary):
        words, alive, place = steps(side, texts)
        return self.table.pack(words, vocabulary), alive, place

    def forward(self, words, alive, place):
        inputs = torch.split(self.table(words), alive)
        state, ended = inputs[0].new_zeros(alive[0], self.cells), []
        for x, n in zip(inputs, alive):
            if n < len(state):
                ended.append(state[n:])
                state = state[:n]
            of_gates, of_candidate = x.split([2 * self.cells, self.cells], dim=1)
            update, reset = torch.sigmoid(of_gates + self.gates(state)).chunk(2, dim=1)
            candidate = torch.tanh(of_candidate + self.candidate(reset * state))
            state = state + update * (candidate - state)
        return torch.cat([state, *reversed(ended)])[place]


class Lstm(Tower):
    """bench/torch_lstm_dssm.py's."""

    def __init__(self, trigrams, cells, kind):
        super().__init__(trigrams, cells)
        self.table = Table(trigrams, 3 * cells, kind)

    def pack(self, side, texts, vocabulary):
        words, alive, place = steps(side, texts)
        return self.table.pack(words, vocabulary), None, alive, place


class BiLstm(nn.Module):
    def __init__(self, trigrams, cells, kind):
        super().__init__()
        self.directions = nn.ModuleList(Lstm(trigrams, cells, kind) for _ in range(2))

    def pack(self, side, texts, vocabulary):
        sides = side, side.backward
        return [lstm.pack(side, texts, vocabulary) for lstm, side in zip(self.directions, sides)]

    def forward(self, *packed):
        return torch.cat([lstm(*read) for lstm, read in zip(self.directions, packed)], dim=1)


@dataclass
class Kind:
    """How a table computes: whether with sparse gradients, and whether each distinct word once."""
    sparse: bool = False
    distinct: bool = False


def build(encoder, trigrams, sizes, window, kind):
    if encoder == "dssm":
        return Dssm(trigrams, sizes, kind)
    if encoder == "clsm":
        return Clsm(trigrams, window, *sizes, kind)
    return {"rnn": Rnn, "gru": Gru, "lstm": Lstm, "bilstm": BiLstm}[encoder](trigrams, *sizes, kind)


SIZES = {"lstm": [96], "bilstm": [96], "rnn": [288], "gru": [96], "clsm": [288, 96], "dssm": [288, 96]}


def prepare(vocabulary, sides):
    """Adds what some encoders need: a padding word with its own trigram, and each text reversed."""
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
    """The texts of both sides together."""
    side = Side([])
    side.length = np.concatenate([first.length, second.length])
    side.begin = np.concatenate([first.begin, second.begin + len(first.word)])
    side.word = np.concatenate([first.word, second.word])
    if hasattr(first, "backward"):
        side.backward = both(first.backward, second.backward)
    return side


class Optimizer:
    """Nesterov momentum with its schedule, or Adam that leaves untouched rows alone."""

    def __init__(self, name, towers, clip, updates, fused):
        self.towers, self.clip, self.updates, self.update = towers, clip, updates, 0
        weights = [weight for tower in towers for weight in tower.parameters()]
        self.nesterov = name == "nesterov"
        if self.nesterov:
            self.parts = [torch.optim.SGD(weights, lr=LEARNING_RATE, momentum=MOMENTUM, nesterov=True, fused=fused or None)]
        else:
            tables = [module.weight for tower in towers for module in tower.modules() if isinstance(module, Table)]
            dense = [weight for weight in weights if not any(weight is table for table in tables)]
            adam = torch.optim.Adam(dense, lr=LEARNING_RATE, fused=fused or None)
            self.parts = [torch.optim.SparseAdam(tables, lr=LEARNING_RATE), adam]

    def step(self):
        if self.clip is not None:
            for tower in self.towers:
                nn.utils.clip_grad_norm_(tower.parameters(), self.clip)
        for part in self.parts:
            if self.nesterov:
                low = min(self.update, self.updates - 1 - self.update) < int(FIRST_SHARE * self.updates + 0.5)
                part.param_groups[0]["momentum"] = FIRST_MOMENTUM if low else MOMENTUM
            part.step()
        self.update += 1

    def zero_grad(self):
        for part in self.parts:
            part.zero_grad(set_to_none=True)


def loss_of(query, title, negatives, rng):
    """The loss summed over the pairs."""
    query, title = F.normalize(query), F.normalize(title)
    if negatives is None:
        return F.cross_entropy(GAMMA * query @ title.T, torch.arange(len(query)), reduction="sum")
    clicked = (query * title).sum(dim=1)
    # A single shift of the titles gives every query another title.
    shifts = rng.choice(np.arange(1, len(query)), size=negatives, replace=False)
    others = torch.stack([(query * title.roll(int(shift), dims=0)).sum(dim=1) for shift in shifts])
    return torch.log1p(torch.exp(GAMMA * (others - clicked)).sum(dim=0)).sum()


def load(path):
    """The log in numbers: from the file next to it if that was done before, as reading takes longer than what is to be timed."""
    beside = f"{path}.numbers"
    try:
        with open(beside, "rb") as file:
            return pickle.load(file)
    except FileNotFoundError:
        vocabulary, queries, titles = read(path)
    prepare(vocabulary, (queries, titles))
    vocabulary.words, vocabulary.of_word = None, None
    return vocabulary, queries, titles


def train(args, log, variant):
    """Pairs a second, minibatches timed, and their losses."""
    size, negatives, optimizer, clip, shared = TRAININGS[args.training]
    size = args.minibatch or size
    tuned = variant == "tuned"
    vocabulary, queries, titles = log
    pairs, texts_of_both = len(queries.length), both(queries, titles)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    kind = Kind(sparse=optimizer == "adam", distinct=tuned)
    sizes = args.sizes or SIZES[args.encoder]
    towers = [build(args.encoder, len(vocabulary.trigrams), sizes, args.window, kind) for _ in range(1 if shared else 2)]
    for tower in towers:
        for name, weight in tower.named_parameters():
            nn.init.zeros_(weight) if "bias" in name else nn.init.uniform_(weight, -INITIAL, INITIAL)
    whole, warm_up = min(args.minibatches, pairs // size), 3 if size <= 1024 else 1
    optimizer = Optimizer(optimizer, towers, clip, warm_up + whole, tuned)
    order, losses, began = rng.permutation(pairs), [], 0.0
    for number in range(-warm_up, whole):
        if number == 0:
            began = time.perf_counter()
        elif number >= 3 and time.perf_counter() - began > args.seconds:
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
    timed = len(losses) - warm_up
    return {"pairs_per_second": timed * size / seconds, "minibatches": timed, "losses": [round(loss, 4) for loss in losses]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clicks")
    parser.add_argument("--encoder", choices=list(SIZES), default="lstm")
    parser.add_argument("--training", choices=list(TRAININGS), default="paper")
    parser.add_argument("--variants", choices=VARIANTS, nargs="+", default=["plain"], help="measured one after the other")
    parser.add_argument("--sizes", type=int, nargs="+", help="cells, or units of each layer [default: what clickvec has]")
    parser.add_argument("--window", type=int, default=3, help="clsm: words in a window")
    parser.add_argument("--minibatch", type=int, help="pairs [default: that of the training]")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minibatches", type=int, default=40, help="to time, at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time no longer, but three minibatches at least")
    parser.add_argument("--prepare", action="store_true", help="write the log as numbers to CLICKS.tsv.numbers, and end")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    log = load(args.clicks)
    if args.prepare:
        with open(f"{args.clicks}.numbers", "wb") as file:
            pickle.dump(log, file)
        return
    print(json.dumps({
        "torch": torch.__version__,
        "encoder": args.encoder,
        "training": args.training,
        "minibatch": args.minibatch or TRAININGS[args.training][0],
        "trigrams": len(log[0].trigrams),
        "threads": args.threads,
        **{variant: train(args, log, variant) for variant in args.variants},
    }))


if __name__ == "__main__":
    main()
