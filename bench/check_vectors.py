#!/usr/bin/env python3
"""Write vectors of words with gensim, in word2vec's text and binary forms, and check that clickvec reads the same numbers.

python3 bench/check_vectors.py CLICKVEC

Needs gensim and numpy. The vectors are random, of words in several scripts and spellings. Each file is read by
`clickvec evaluate vectors`, which saves what it read; that must be the same numbers, bit for bit (a number as
text is the shortest that reads back to it). What clickvec ranks is checked against cosines computed here. The same goes
for a file without a header, compressed ones, and for `.npy` with texts next to it.
"""
import gzip
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import needed

needed.packages("numpy", "gensim")

import numpy as np
from gensim.models import KeyedVectors

DIMENSION = 50


def ranker_of(clickvec, folder, path):
    """The words and numbers that clickvec has of a file, and its scores by query and title."""
    out = folder / "out"
    command = [clickvec, "evaluate", "--judged", folder / "judged.tsv", "--titles", folder / "titles.tsv",
               f"vectors:file={path}", "--save-rankers", out, "--output", folder / "runs", "--json"]
    subprocess.run(command, check=True, capture_output=True)
    (saved,) = out.glob("*.safetensors")
    data = saved.read_bytes()
    saved.unlink()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])

    def array(name, kind):
        start, end = header[name]["data_offsets"]
        return np.frombuffer(data[8 + length + start:8 + length + end], kind).reshape(header[name]["shape"])

    found = array("words", "u1").tobytes().decode().split("\n")[:-1]
    (run,) = (folder / "runs").glob("*.run")
    runs = [line.split() for line in run.read_text().splitlines()]
    run.unlink()
    return dict(zip(found, array("word_vectors", "<f4"))), array("text_vectors", "<f4"), [float(run[4]) for run in runs]


def main():
    clickvec = Path(sys.argv[1])
    random = np.random.default_rng(3)
    words = [f"word{i}" for i in range(2000)] + ["caf\u00e9", "\u043a\u043e\u0448\u043a\u0430", "\u732b"]
    vectors = random.standard_normal((len(words), DIMENSION)).astype(np.float32) * 0.1
    vectors[0, :3] = [np.finfo(np.float32).tiny, 1 / 3, 16777217]
    # Spelt as another program might.
    spelt = [word.upper() if i % 3 == 0 and word.isascii() else word for i, word in enumerate(words)]
    expected = dict(zip(words, vectors))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        titles = [" ".join(random.choice(words, 6)) for _ in range(50)]
        (folder / "titles.tsv").write_text("id\ttitle\n" + "".join(f"{i}\t{t}\n" for i, t in enumerate(titles)))
        query = " ".join(random.choice(words, 3))
        (folder / "judged.tsv").write_text("query\ttitle\tgrade\n" + "".join(f"{query}\t{t}\t{i % 5}\n" for i, t in enumerate(titles)))
        mean = lambda text: np.sum([expected[word].astype(float) for word in text.split()], axis=0)
        cosine = lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b))
        cosines = sorted((cosine(mean(query), mean(title)) for title in titles), reverse=True)

        keyed = KeyedVectors(DIMENSION)
        keyed.add_vectors(spelt, vectors)
        keyed.save_word2vec_format(folder / "text.vec", binary=False)
        keyed.save_word2vec_format(folder / "binary.bin", binary=True)
        text = (folder / "text.vec").read_bytes()
        (folder / "plain.txt").write_bytes(text.split(b"\n", 1)[1])
        (folder / "text.vec.gz").write_bytes(gzip.compress(text))
        # word2vec's own program ends each vector of a binary file with a line end, and puts a mark first.
        with open(folder / "marked.bin", "wb") as file:
            file.write(b"%d %d\n" % (len(words) + 1, DIMENSION))
            for word, vector in zip(["</s>"] + spelt, np.vstack([np.ones(DIMENSION, np.float32), vectors])):
                file.write(word.encode() + b" " + vector.tobytes() + b"\n")
        np.save(folder / "words.npy", vectors)
        (folder / "words.txt").write_text("".join(f"{word}\n" for word in spelt))
        np.save(folder / "wide.npy", vectors.astype(np.float64))
        (folder / "wide.txt").write_text("".join(f"{word}\n" for word in spelt))
        for name in ("text.vec", "text.vec.gz", "plain.txt", "binary.bin", "marked.bin", "words.npy", "wide.npy"):
            found, _, scores = ranker_of(clickvec, folder, folder / name)
            same = found.keys() == expected.keys() and all((found[w] == expected[w]).all() for w in expected)
            far = np.max(np.abs(np.array(scores) - cosines))
            print(f"{name:12} {len(found)} words, the same numbers: {same}; cosines differ by at most {far:.1e}")
            if not same or not far < 1e-6:
                sys.exit(f"{name}: expected the numbers that were written, found others")

        # For whole texts, scores are the cosines of their own vectors.
        texts = titles + [query]
        whole = random.standard_normal((len(texts), DIMENSION)).astype(np.float32)
        np.save(folder / "whole.npy", whole)
        (folder / "whole.txt").write_text("".join(f"{text.capitalize()}!\n" for text in texts))
        _, found, scores = ranker_of(clickvec, folder, folder / "whole.npy")
        wide = whole.astype(float)
        cosines = sorted((cosine(wide[-1], row) for row in wide[:-1]), reverse=True)
        far = np.max(np.abs(np.array(scores) - cosines))
        same = len(found) == len(texts) and (found == whole).all()
        print(f"whole.npy    {len(found)} texts, the same numbers: {same}; cosines differ by at most {far:.1e}")
        if not same or not far < 1e-6:
            sys.exit("whole.npy: expected the numbers that were written, found others")


if __name__ == "__main__":
    main()
