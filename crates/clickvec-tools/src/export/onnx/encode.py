"""Vectors of texts by the graphs in this folder: python3 encode.py {query,title} "red shoes".

Needs numpy and onnxruntime, and xxhash if the model reads whole words.
"""

import json
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SETTINGS = json.loads((HERE / "trigrams.json").read_text(encoding="utf-8"))
ROW = {feature: row for row, feature in enumerate(SETTINGS["trigrams"] + SETTINGS["words"])}
if SETTINGS["words"]:
    import xxhash
DELETED = re.compile("['\u2019\u02bc\uff07\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
IDEOGRAPH = re.compile(
    "[\u3006\u3007\u3021-\u3029\u3038-\u303a\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9\U00016fe4\U00017000-\U00018d7f"
    "\U0001b170-\U0001b2fb\U00020000-\U0003fffd]"
)


def words(text):
    """Letters, marks and numbers; an ideograph is a word of its own, with the marks that follow it."""
    found, after_ideograph = [""], False
    for c in unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower()):
        kind = unicodedata.category(c)
        if DELETED.match(c) or kind == "Cf":
            continue
        ideograph = bool(IDEOGRAPH.match(c))
        letter, mark = ideograph or kind[0] in "LN", kind[0] == "M" and not ideograph
        if ideograph or (after_ideograph and letter) or not (letter or mark):
            found.append("")
        if letter or mark:
            found[-1] += c
        if not mark:
            after_ideograph = ideograph
    found, most = [word for word in found if word], SETTINGS["max_words"]
    tail = [" ".join(found[most - 1 :])] if SETTINGS["merge_tail"] else found[most - 1 : most]
    return [*found[: most - 1], *filter(None, tail)]


def features(part):
    """The letter trigrams of `#part#`, and the hash of the whole."""
    marked = f"#{part}#"
    whole = [xxhash.xxh3_64_hexdigest(part.encode())] if SETTINGS["words"] else []
    return [marked[i : i + 3] for i in range(len(part))] + whole


def rows(text):
    """For each word the rows of its features."""
    found = [[feature for part in word.split(" ") for feature in features(part)] for word in words(text)]
    return [[ROW[feature] for feature in of_word if feature in ROW] for of_word in found]


def inputs(texts):
    """What the graphs take. Places in which there is nothing have the number of rows."""
    found = [rows(text) for text in texts]
    most = max((len(row) for of_text in found for row in of_text), default=0)
    features = np.full((len(texts), max(1, *map(len, found), 0), max(1, most)), len(ROW), np.int64)
    for text, of_text in enumerate(found):
        for word, of_word in enumerate(of_text):
            features[text, word, : len(of_word)] = of_word
    return {"features": features, "lengths": np.array([len(of_text) for of_text in found], np.int64)}


def encode(texts, side="query"):
    """Vectors of length 1, [texts, dimension]."""
    import onnxruntime

    if not texts:
        return np.zeros((0, SETTINGS["dimension"]), np.float32)
    session = onnxruntime.InferenceSession(HERE / SETTINGS["graphs"][side])
    return session.run(["vectors"], inputs(texts))[0]


if __name__ == "__main__":
    for vector in encode(sys.argv[2:], sys.argv[1]).tolist():
        print(json.dumps(vector))
