#!/usr/bin/env python3
"""Check that bench/torch_encoders.py and clickvec give a text the same vector.

python3 bench/check_torch.py CLICKVEC [CLICKS]

Needs torch, numpy and safetensors. Trains each encoder for an epoch on the log (default: testdata/shop/clicks.tsv), loads the
weights of the model into the PyTorch encoder, plain and tuned, and compares its vectors with those of `clickvec embed`. So the
network whose speed is compared is the same.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import needed

needed.packages("numpy", "torch", "safetensors")

import numpy as np
import torch

from check_python import Model, trigrams, words
from torch_encoders import SIZES, Kind, build, prepare
from torch_lstm_dssm import Side, Vocabulary

TEXTS = ["couch", "Hartwell 6 ft. Aluminum Ladder", "lether  COUCH!", "white", "2 seat leather sofa with mounting kit white"]
TOLERANCE = 2e-6


def read(model):
    """A vocabulary with the model's trigrams, and the texts."""
    vocabulary, texts = Vocabulary(), []
    vocabulary.trigrams = model.row
    for text in TEXTS:
        texts.append([vocabulary.words.setdefault(word, len(vocabulary.words)) for word in words(text)])
    vocabulary.of_word = [[model.row[three] for three in trigrams(word) if three in model.row] for word in vocabulary.words]
    vocabulary.freeze()
    side = Side(texts)
    prepare(vocabulary, [side])
    return vocabulary, side


def load(encoder, tower, tensors, prefix):
    """Loads the model's matrices into a tower: those of the gates next to each other, dense ones transposed."""
    def of(*names):
        return torch.from_numpy(np.concatenate([tensors[prefix + name] for name in names], axis=1)).float()

    def dense(layer, weights, biases):
        layer.weight.data, layer.bias.data = of(*weights).T.contiguous(), of(*biases)[0]

    if encoder == "dssm":
        tower.table.weight.data, tower.bias.data = of("w1"), of("b1")[0]
        for number, layer in enumerate(tower.layers, 2):
            dense(layer, [f"w{number}"], [f"b{number}"])
    elif encoder == "clsm":
        rows = (of(*(name + str(place) for place in range(tower.window))) for name in ("wc.", "wc.padding."))
        tower.table.weight.data, tower.bias.data = torch.cat(list(rows)), of("bc")[0]
        dense(tower.semantic, ["ws"], ["bs"])
    elif encoder == "rnn":
        tower.table.weight.data = of("w")
        dense(tower.recurrent, ["wrec"], ["b"])
    elif encoder == "gru":
        tower.table.weight.data = of("wz", "wr", "wh")
        dense(tower.gates, ["wrecz", "wrecr"], ["bz", "br"])
        dense(tower.candidate, ["wrech"], ["bh"])
    elif encoder == "lstm":
        tower.table.weight.data = of("w4", "w3", "w1")
        dense(tower.recurrent, ["wrec4", "wrec3", "wrec1"], ["b4", "b3", "b1"])
    else:
        for lstm, direction in zip(tower.directions, ("forward.", "backward.")):
            load("lstm", lstm, tensors, prefix + direction)


def check(clickvec, clicks, folder, encoder):
    path, texts = folder / f"{encoder}.safetensors", folder / "texts"
    texts.write_text("".join(text + "\n" for text in TEXTS))
    run = lambda *args: subprocess.run([clickvec, *map(str, args)], check=True, capture_output=True)
    run("train", "--clicks", clicks, "--encoder", encoder, "--set", "shared_towers=false", "--epochs", 1, "--set", "keep=last", "--output", path)
    model = Model(path)
    vocabulary, side = read(model)
    worst = 0.0
    for distinct in (False, True):
        tower = build(encoder, len(model.row), SIZES[encoder], 3, Kind(distinct=distinct))
        for name, prefix in (("query", "query."), ("title", "document.")):
            load(encoder, tower, model.tensors, prefix)
            run("embed", "--raw", path, "--side", name, "--format", "npy", "--output", folder / "v.npy", texts)
            with torch.no_grad():
                found = tower(*tower.pack(side, np.arange(len(TEXTS)), vocabulary)).numpy()
            worst = max(worst, float(np.abs(found - np.load(folder / "v.npy")).max()))
    print(f"{encoder}: {4 * len(TEXTS)} vectors, largest difference {worst:.1e}")
    assert worst < TOLERANCE, f"{encoder}: expected vectors within {TOLERANCE}, found {worst}"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    clicks = sys.argv[2] if len(sys.argv) == 3 else Path(__file__).parent.parent / "testdata/shop/clicks.tsv"
    with tempfile.TemporaryDirectory() as folder:
        for encoder in SIZES:
            check(sys.argv[1], clicks, Path(folder), encoder)


if __name__ == "__main__":
    main()
