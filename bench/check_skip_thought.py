#!/usr/bin/env python3
"""Write Skip-Thought encoders in their published layout, compute with them in numpy, and compare with clickvec.

python3 bench/check_skip_thought.py CLICKVEC

Needs numpy and safetensors. Random encoders of two sizes are written with `numpy.save`, `numpy.savez` and
`numpy.savez_compressed`, next to a dictionary. `clickvec lab table` loads them, and `clickvec evaluate` scores texts with them; the cosines of
combine-skip vectors computed here in float64 must be the same, and so must the weights in the ranker that it saves.
"""
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import lab_rankers
import needed

needed.packages("numpy", "safetensors")

import numpy as np
from safetensors.numpy import load_file

# Ours are 32-bit floats.
TOLERANCE = 1e-5
WORDS = [a + b for a in ("ar", "be", "co", "du", "el", "fi", "go") for b in ("lan", "mor", "nex", "pol", "rin", "sat")]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def encode(weights, prefix, inputs):
    """The last state of a GRU that reads the rows of `inputs`."""
    part = {name: weights[f"{prefix}_{name}"].astype(np.float64) for name in ("W", "U", "b", "Wx", "Ux", "bx")}
    units = part["Ux"].shape[0]
    h = np.zeros(units)
    for x in inputs.astype(np.float64):
        gates = sigmoid(x @ part["W"] + h @ part["U"] + part["b"])
        r, z = gates[:units], gates[units:]
        candidate = np.tanh(r * (h @ part["Ux"]) + x @ part["Wx"] + part["bx"])
        h = z * h + (1 - z) * candidate
    return h


def unit(x):
    length = np.linalg.norm(x)
    return x / length if length > 0 else x


class Published:
    """Random encoders; units for uni-skip and for each direction of bi-skip, numbers of a word vector."""

    def __init__(self, rng, uni, bi, size, compressed):
        self.words = ["<eos>", "UNK", *WORDS]
        self.tables = {name: rng.normal(size=(len(self.words), size)).astype(np.float32) for name in ("utable", "btable")}
        self.uni = self.gru(rng, "encoder", uni, size)
        self.bi = self.gru(rng, "encoder", bi, size) | self.gru(rng, "encoder_r", bi, size)
        self.compressed = compressed

    @staticmethod
    def gru(rng, prefix, units, size):
        shapes = {"W": (size, 2 * units), "U": (units, 2 * units), "b": (2 * units,), "Wx": (size, units), "Ux": (units, units), "bx": (units,)}
        return {f"{prefix}_{name}": (rng.normal(size=shape) / np.sqrt(units)).astype(np.float32) for name, shape in shapes.items()}

    def write(self, folder):
        (folder / "dictionary.txt").write_text("".join(f"{word}\n" for word in self.words))
        for name, table in self.tables.items():
            np.save(folder / f"{name}.npy", table)
        save = np.savez_compressed if self.compressed else np.savez
        history = np.array([{"not": "asked for"}], dtype=object)
        save(folder / "uni_skip.npz", history_errs=history, Wemb=np.zeros((3, 2), np.float32), **self.uni)
        # A matrix stored column by column, and 64-bit numbers.
        self.bi["encoder_U"] = np.asfortranarray(self.bi["encoder_U"])
        save(folder / "bi_skip.npz", **self.bi | {"encoder_r_Wx": self.bi["encoder_r_Wx"].astype(np.float64)})

    def vector(self, text):
        rows = [self.words.index(word) if word in self.words else 1 for word in text.split()]
        u, b = self.tables["utable"][rows], self.tables["btable"][rows]
        both = np.concatenate([encode(self.bi, "encoder", b), encode(self.bi, "encoder_r", b[::-1])])
        return np.concatenate([unit(encode(self.uni, "encoder", u)), unit(both)])


def check(clickvec, folder, published, texts):
    published.write(folder)
    queries = [[text, *texts[i + 1:i + 8]] for i, text in enumerate(texts[:-8]) if text]
    with open(folder / "judged.tsv", "w") as out:
        out.write("query\ttitle\tgrade\n")
        for query, *titles in queries:
            for title in dict.fromkeys(title for title in titles if title):
                out.write(f"{query}\t{title}\t1\n")
    judged, runs, saved = folder / "judged.tsv", folder / "runs", folder / "saved"
    files = lab_rankers.train(clickvec, [f"skip-thought:encoder={folder}"], saved, "--judged", judged)
    lab_rankers.judge(clickvec, files, runs, judged)

    worst = compared = 0
    lines = [line.split("\t") for line in judged.read_text().splitlines()[1:]]
    scores = sorted(tuple(line.split()) for line in next(runs.glob("*.run")).read_text().splitlines())
    expected = {}
    for query, title, _ in lines:
        expected.setdefault(query, []).append(float(published.vector(query) @ published.vector(title)) / 2)
    found = {}
    for query, _, _, _, score, _ in scores:
        found.setdefault(query, []).append(float(score))
    ours = sorted(sorted(scores) for scores in found.values())
    theirs = sorted(sorted(scores) for scores in expected.values())
    assert [len(scores) for scores in ours] == [len(scores) for scores in theirs], "other queries"
    for a, b in zip(ours, theirs):
        worst = max(worst, float(np.abs(np.array(a) - np.array(b)).max()))
        compared += len(a)

    tensors = load_file(next(saved.glob("*.safetensors")))
    for tensor, name in (("input_weights", "W"), ("recurrent_weights", "U")):
        both = np.concatenate([published.bi[f"encoder_r_{name}"], published.bi[f"encoder_r_{name}x"]], axis=1)
        assert np.array_equal(tensors[f"bi.backward.{tensor}"], both), f"other {tensor}"
    return worst, compared


def main():
    clickvec = sys.argv[1]
    draw = random.Random(4)
    known = [*WORDS, "unheard", "neverseen"]
    texts = [" ".join(draw.choices(known, k=draw.randrange(1, 15))) for _ in range(120)]
    worst = 0
    for uni, bi, size, compressed in [(12, 5, 7, False), (64, 48, 30, True), (2400, 1200, 620, False)]:
        published = Published(np.random.default_rng(uni), uni, bi, size, compressed)
        few = texts if uni < 1000 else texts[:24]
        with tempfile.TemporaryDirectory() as folder:
            difference, compared = check(clickvec, Path(folder), published, few)
        print(f"uni {uni}, bi {bi} + {bi}, words {size}: {compared} cosines, largest difference {difference:.1e}")
        worst = max(worst, difference)
    if worst > TOLERANCE:
        sys.exit(f"expected differences of at most {TOLERANCE:.0e}, found {worst:.1e}")


if __name__ == "__main__":
    main()
