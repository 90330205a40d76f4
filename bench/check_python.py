#!/usr/bin/env python3
"""Open what clickvec wrote with Python's own libraries, and compute its vectors again from the numbers in the model.

python3 bench/check_python.py CLICKVEC [CLICKS]

Needs numpy and safetensors, and xxhash for a model with whole words. Trains each encoder for an epoch on the log (default: testdata/shop/clicks.tsv), opens each
model with `safetensors`, embeds a few texts from its tensors in float64, and compares with `clickvec embed`: with the
.npy file, which numpy opens, and with the JSON lines.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import needed

needed.packages("numpy", "safetensors")

import numpy as np
import safetensors
from safetensors import safe_open

TEXTS = ["leather couch", "Hartwell 6 ft. Aluminum Ladder", "lether  COUCH!", "zzqqx", "", "white"]
# Ours are 32-bit floats; the numbers of a vector are around 0.1.
TOLERANCE = 2e-6


def words(text):
    """Enough for ASCII: docs/reference/tables.md and the program have the rule for every script."""
    return re.findall(r"[a-z0-9]+", text.lower().replace("'", ""))


def trigrams(word):
    marked = f"#{word}#"
    return [marked[i:i + 3] for i in range(len(marked) - 2)]


class Model:
    """The tensors of a model file, as 64-bit floats, and its settings."""

    def __init__(self, path):
        with safe_open(path, framework="numpy") as file:
            self.settings = json.loads(file.metadata()["clickvec"])
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}
        rows = self.tensors.pop("trigrams")
        self.row = {"".join(map(chr, three)): number for number, three in enumerate(rows)}
        known = self.tensors.pop("words", [])
        self.word = {int(known): len(rows) + number for number, known in enumerate(known)}
        self.tensors = {name: tensor.astype(np.float64) for name, tensor in self.tensors.items()}

    def counts(self, word):
        counts = np.zeros(len(self.row) + len(self.word))
        for trigram in trigrams(word):
            if trigram in self.row:
                counts[self.row[trigram]] += 1
        if self.word:
            import xxhash
            own = self.word.get(xxhash.xxh3_64_intdigest(word.encode()))
            if own is not None:
                counts[own] += 1
        return counts

    def embed(self, tower, text):
        """The vector of a text; `tower` is `query.` or `document.`, unless one tower reads both."""
        if self.settings["training"]["config"]["shared_towers"]:
            tower = "shared."
        rows = np.array([self.counts(word) for word in words(text)])
        encoder = self.settings["training"]["config"]["encoder"]
        if not len(rows):
            return 0.0
        return getattr(self, encoder["kind"])(tower, rows, encoder)

    def dssm(self, tower, rows, encoder):
        state = rows.sum(axis=0)
        for layer in range(1, 1 + len(encoder["layers"])):
            state = np.tanh(state @ self.tensors[f"{tower}w{layer}"] + self.tensors[f"{tower}b{layer}"][0])
        return state

    def clsm(self, tower, rows, encoder):
        window, reach = encoder["window"], encoder["window"] // 2
        found = []
        for t in range(len(rows)):
            total = self.tensors[tower + "bc"][0]
            for place in range(window):
                at = t - reach + place
                inside = 0 <= at < len(rows)
                total = total + (rows[at] @ self.tensors[f"{tower}wc.{place}"] if inside else self.tensors[f"{tower}wc.padding.{place}"][0])
            found.append(np.tanh(total))
        state = np.max(found, axis=0)
        for layer in ["", *range(2, 2 + len(encoder.get("hidden", [])))]:
            state = np.tanh(state @ self.tensors[f"{tower}ws{layer}"] + self.tensors[f"{tower}bs{layer}"][0])
        return state

    def rnn(self, tower, rows, encoder):
        y = np.zeros(encoder["hidden"])
        for x in rows:
            y = np.tanh(x @ self.tensors[tower + "w"] + y @ self.tensors[tower + "wrec"] + self.tensors[tower + "b"][0])
        return y

    def gru(self, tower, rows, encoder):
        def gate(n, x, y):
            return x @ self.tensors[f"{tower}w{n}"] + y @ self.tensors[f"{tower}wrec{n}"] + self.tensors[f"{tower}b{n}"][0]

        y = np.zeros(encoder["cells"])
        for x in rows:
            z, r = (1 / (1 + np.exp(-gate(n, x, y))) for n in "zr")
            y = (1 - z) * y + z * np.tanh(gate("h", x, r * y))
        return y

    def lstm(self, tower, rows, encoder):
        return self.outputs(tower, rows, encoder["cells"])[-1]

    def stacked(self, tower, rows, encoder):
        for layer, cells in enumerate(encoder["layers"], 1):
            rows = self.outputs(f"{tower}layer{layer}.", rows, cells)
        return rows[-1]

    def outputs(self, tower, rows, cells):
        """y of an LSTM after each word."""

        def gate(n, x, y):
            return x @ self.tensors[f"{tower}w{n}"] + y @ self.tensors[f"{tower}wrec{n}"] + self.tensors[f"{tower}b{n}"][0]

        def sigmoid(x):
            return 1 / (1 + np.exp(-x))

        y = c = np.zeros(cells)
        all_y = []
        for x in rows:
            c = c + sigmoid(gate(3, x, y)) * np.tanh(gate(4, x, y))
            y = sigmoid(gate(1, x, y)) * np.tanh(c)
            all_y.append(y)
        return all_y

    def members(self, tower, rows, encoder):
        vectors = [self.lstm(f"{tower}m{member}.", rows, encoder) for member in range(1, 1 + encoder["members"])]
        vector = np.concatenate([vector / np.linalg.norm(vector) for vector in vectors])
        return vector @ self.tensors[tower + "projection"] if encoder.get("dimension", "none") != "none" else vector

    def bilstm(self, tower, rows, encoder):
        return np.concatenate([self.lstm(tower + "forward.", rows, encoder), self.lstm(tower + "backward.", rows[::-1], encoder)])


def check(clickvec, clicks, folder, kind, shared, sizes=()):
    model_path = folder / f"{kind}.safetensors"
    run = lambda *args: subprocess.run([clickvec, *map(str, args)], check=True, capture_output=True, text=True)
    run("train", "--clicks", clicks, "--encoder", kind, *sizes, "--set", f"shared_towers={shared}", "--epochs", 1, "--output", model_path)
    model = Model(model_path)
    shown = json.loads(run("inspect", "--json", model_path).stdout)
    assert shown["fingerprint"] == model.settings["fingerprint"]
    assert {tensor["name"] for tensor in shown["tensors"]} == set(model.tensors)
    texts = folder / "texts"
    texts.write_text("".join(text + "\n" for text in TEXTS))
    worst = 0.0
    for side, tower in (("query", "query."), ("title", "document.")):
        run("embed", model_path, "--side", side, "--format", "npy", "--output", folder / "v.npy", texts)
        lines = run("embed", model_path, "--side", side, texts).stdout.splitlines()
        raw = map(json.loads, run("embed", "--raw", model_path, "--side", side, texts).stdout.splitlines())
        raw = {line["text"]: line["vector"] for line in raw}
        vectors = np.load(folder / "v.npy")
        assert vectors.dtype == np.float32 and len(vectors) == len(lines) == len(TEXTS)
        for text, vector, line in zip(TEXTS, vectors, map(json.loads, lines)):
            assert line["text"] == text
            assert np.array_equal(np.array(line["vector"], dtype=np.float32), vector), f"{text!r}: npy and JSON differ"
            expected = model.embed(tower, text) * np.ones(len(vector))
            length = np.linalg.norm(expected)
            unit = expected / length if length > 0 else expected
            worst = max(worst, float(np.abs(unit - vector).max()), float(np.abs(expected - raw[text]).max()))
    kind = " ".join([kind, *sizes])
    print(f"{kind}: {len(model.tensors) + 1} tensors; {2 * len(TEXTS)} vectors, largest difference {worst:.1e}")
    assert worst < TOLERANCE, f"{kind}: expected vectors within {TOLERANCE}, found {worst}"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    clicks = sys.argv[2] if len(sys.argv) == 3 else Path(__file__).parent.parent / "testdata/shop/clicks.tsv"
    print(f"python {sys.version.split()[0]}, numpy {np.__version__}, safetensors {safetensors.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("dssm", "clsm", "rnn", "gru", "lstm", "bilstm"):
            for shared in ("true", "false"):
                check(sys.argv[1], clicks, Path(folder), kind, shared)
        check(sys.argv[1], clicks, Path(folder), "stacked", "false", ("--set", "encoder.layers=24,16"))
        check(sys.argv[1], clicks, Path(folder), "members", "false", ("--set", "encoder.cells=24", "--set", "encoder.members=3"))
        check(sys.argv[1], clicks, Path(folder), "members", "false", ("--set", "encoder.cells=24", "--set", "encoder.members=3", "--set", "encoder.dimension=40"))
        check(sys.argv[1], clicks, Path(folder), "clsm", "false", ("--set", "encoder.convolution=48", "--set", "encoder.hidden=24", "--set", "encoder.semantic=16"))


if __name__ == "__main__":
    main()
