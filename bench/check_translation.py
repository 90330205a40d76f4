#!/usr/bin/env python3
"""Compare the translation table of the ranker `wtm` with NLTK's IBM model 1.

python3 bench/check_translation.py CLICKVEC [CLICKS JUDGED]

Needs nltk, numpy and safetensors. Trains `wtm` without a prior and without pruning on the log (default:
testdata/shop/clicks.tsv), opens the saved ranker, and trains NLTK's model on the same pairs. Pairs whose query has a
word twice are left out: NLTK adds up such a word's counts over both of its positions before it divides, which
halves its counts.
"""
import csv
import re
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import lab_rankers
import needed

needed.packages("nltk", "safetensors")

from nltk.translate import AlignedSent, IBMModel1
from safetensors import safe_open

ITERATIONS = 10
TOLERANCE = 1e-9


def words(text):
    """The words of the program in languages with spaces: docs/reference/tables.md has the rule for every script."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    return re.findall(r"[^\W_]+", re.sub("['\u2019\u02bc]", "", text))


def without_repeated_words(clicks, folder):
    """The log without the pairs whose query has a word twice."""
    path = Path(folder) / "clicks.tsv"
    with open(clicks, encoding="utf-8", newline="") as log:
        head, *lines = log.read().splitlines()
    place = head.split("\t").index("query")
    texts = [words(line.split("\t")[place]) for line in lines]
    lines = [line for line, text in zip(lines, texts) if len(set(text)) == len(text)]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def trained_table(clickvec, clicks, judged):
    """P(q|w) by (q, w)."""
    with tempfile.TemporaryDirectory() as folder:
        spec = f"wtm:prior=0,prune=0,iterations={ITERATIONS}"
        (path,) = lab_rankers.train(clickvec, [spec], folder, "--judged", judged, "--clicks", clicks)
        with safe_open(path, framework="numpy") as file:
            vocabulary = file.get_tensor("words").tobytes().decode().split("\n")[:-1]
            starts, columns, probabilities = (
                file.get_tensor(f"translation_{name}") for name in ["starts", "columns", "probabilities"])
    return {(query, vocabulary[columns[place]]): probabilities[place]
            for row, query in enumerate(vocabulary) for place in range(starts[row], starts[row + 1])}


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    shop = Path(__file__).parent.parent / "testdata/shop"
    clicks, judged = sys.argv[2:] or [shop / "clicks.tsv", shop / "judged.tsv"]
    folder = tempfile.TemporaryDirectory()
    clicks = without_repeated_words(clicks, folder.name)
    ours = trained_table(sys.argv[1], clicks, judged)
    with open(clicks, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    pairs = [(words(row["query"]), words(row["title"])) for row in rows]
    pairs = [AlignedSent(query, title) for query, title in pairs if query and title]
    theirs = IBMModel1(pairs, ITERATIONS).translation_table
    seen = {(query, title) for pair in pairs for query in pair.words for title in pair.mots}
    differences = [abs(ours.get(pair, 0.0) - theirs[pair[0]][pair[1]]) for pair in seen]
    print(f"{len(pairs)} pairs, {len(seen)} probabilities: largest difference {max(differences):.1e}")
    if not ours.keys() <= seen or max(differences) > TOLERANCE:
        sys.exit(f"expected the same words and differences of at most {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()
