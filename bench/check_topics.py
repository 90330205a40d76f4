#!/usr/bin/env python3
"""Compare clickvec's topic models with gensim's and with the topics that texts were drawn from.

python3 bench/check_topics.py CLICKVEC [--ours PARAMETERS]

Needs numpy, scipy, safetensors and gensim. Draws titles from an LDA, and a query for each from the same mixture of topics
in words of its own; trains `plsa`, `lda` and `bltm` on them, and gensim's LdaModel with the priors of `lda`; and prints

- how far the learnt topics are from the true ones, matched one to one (total variation, 0 to 1);
- the perplexity of titles that nobody has seen: topics are inferred from half of a title's words, by one and the same
  code for all, and the other half is predicted;
- coherence (U_mass) of the ten first words of each topic;
- how far the program's scores are from those computed again, in float64, from the numbers in the ranker's file.

Fails where topics are farther from the true ones, or predict worse, than BOUNDS says, where `lda` is clearly worse than
gensim, and where a score differs. --ours gives clickvec other parameters than gensim and the recomputed scores, such
as `alpha=50` or `iterations=2,sweeps=2`; the check must then fail.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import lab_rankers
import needed

needed.packages("numpy", "gensim", "safetensors", "scipy")

import numpy as np
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel, LdaModel
from safetensors.numpy import load_file
from scipy.optimize import linear_sum_assignment

TOPICS, WORDS, TITLES, HELD_OUT = 10, 300, 3000, 500
ALPHA, BETA = 1.0, 0.01
LENGTH, QUERY_LENGTH = 12, 3
MU = 20.0
# The weight of ULM.
WEIGHT = 0.4
ABSENT = 2**32 - 1
# The largest distance from the true topics, and the largest perplexity as a multiple of theirs. EM ends in a smaller
# maximum than sampling. BLTM's queries have three words, whose topics need not have the proportions of the title, as
# it assumes.
BOUNDS = {"plsa": (0.12, 1.09), "lda": (0.1, 1.03), "bltm": (0.1, 1.06)}
QUERY_SIDE = 0.35
# The allowed relative difference of scores, since the file has 32-bit numbers.
SCORES = 1e-5


def draw(random, topics, theta, length, side):
    z = random.choice(TOPICS, size=length, p=theta)
    return [f"{side}{random.choice(WORDS, p=topics[k])}" for k in z]


def perplexity(topics, row_of, titles):
    """topics [T, words]; the first half of each title gives the mixture (EM, with the prior), the second is predicted."""
    logarithm = count = 0
    for title in titles:
        rows = [row_of.get(word) for word in title]
        seen = [row for row in rows[: len(rows) // 2] if row is not None]
        asked = [row for row in rows[len(rows) // 2:] if row is not None]
        theta = np.full(len(topics), 1 / len(topics))
        for _ in range(200):
            joint = topics[:, seen] * theta[:, None]
            theta = (joint / joint.sum(0)).sum(1) + ALPHA / len(topics)
            theta /= theta.sum()
        logarithm += np.log(theta @ topics[:, asked]).sum()
        count += len(asked)
    return np.exp(-logarithm / count)


def distance(truth, topics, row_of, side):
    """The mean total variation between true topics and those matched to them."""
    places = [row_of.get(f"{side}{word}") for word in range(WORDS)]
    aligned = np.stack([topics[:, place] if place is not None else np.zeros(len(topics)) for place in places], axis=1)
    costs = 0.5 * np.abs(truth[:, None, :] - aligned[None, :, :]).sum(2)
    return costs[linear_sum_assignment(costs)].mean()


def coherence(topics, row_of, dictionary, corpus):
    words = {row: word for word, row in row_of.items()}
    best = [[words[row] for row in np.argsort(-topic)[:10]] for topic in topics]
    model = CoherenceModel(topics=best, corpus=corpus, dictionary=dictionary, coherence="u_mass")
    return model.get_coherence()


class File:
    """The file of a trained ranker."""

    def __init__(self, path):
        tensors = load_file(path)
        self.words = bytes(tensors["words"]).decode().split("\n")[:-1]
        self.frequency = dict(zip(self.words, tensors["collection_frequency"].astype(float)))
        self.total = sum(self.frequency.values())
        self.title = self.side(tensors, "title")
        self.query = self.side(tensors, "query") if "query_topics" in tensors else self.title

    def side(self, tensors, side):
        rows = tensors[f"{side}_rows"].astype(np.int64)
        row_of = {word: row for word, row in zip(self.words, rows) if row != ABSENT}
        return tensors[f"{side}_topics"].astype(float).T, row_of

    def fold(self, title, mean):
        topics, row_of = self.title
        rows = [row_of[word] for word in title if word in row_of]
        theta = np.full(len(topics), 1 / len(topics))
        prior = ALPHA / len(topics)
        counts, of_words = np.full(len(topics), prior), np.zeros((len(rows), len(topics)))
        for _ in range(100_000 if rows else 0):
            if mean:
                for i, row in enumerate(rows):
                    counts -= of_words[i]
                    of_words[i] = topics[:, row] * counts / (topics[:, row] @ counts)
                    counts += of_words[i]
                following = counts / counts.sum()
            else:
                following = sum(topics[:, row] * theta / (topics[:, row] @ theta) for row in rows) + prior
                following /= following.sum()
            moved = np.abs(following - theta).sum()
            theta = following
            if moved <= 1e-10:
                break
        return theta

    def score(self, query, title, mean, weight):
        theta, (topics, row_of), sum_of_logarithms = self.fold(title, mean), self.query, 0
        for word in query:
            frequency = self.frequency.get(word, 0)
            if frequency == 0 and word not in row_of:
                continue
            ulm = (title.count(word) + MU * frequency / self.total) / (len(title) + MU)
            of_topics = topics[:, row_of[word]] @ theta if word in row_of else 0
            sum_of_logarithms += np.log(weight * ulm + (1 - weight) * of_topics)
        return sum_of_logarithms


def read_run(path):
    """(query id, title id) to score."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {(fields[0], fields[2]): float(fields[4]) for fields in lines}


def write(path, header, rows):
    path.write_text("\n".join("\t".join(row) for row in [header, *rows]) + "\n")


def spec(name, ours):
    """The parameters for clickvec, with `ours` replacing those that gensim and the formulas here use."""
    settings = {"topics": TOPICS, "alpha": ALPHA, "beta": BETA, "lambda": WEIGHT, "mu": MU}
    settings |= {"sweeps": 600} if name == "lda" else {"iterations": 100}
    given = dict(setting.split("=") for setting in ours.split(",") if setting)
    if unknown := given.keys() - {*settings, "sweeps", "iterations"}:
        sys.exit(f"expected names of settings in --ours, found {', '.join(sorted(unknown))}")
    # Only LDA has sweeps, and only the others have iterations.
    settings |= {key: value for key, value in given.items() if key in settings}
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in settings.items())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("clickvec")
    arguments.add_argument("--ours", default="", metavar="NAME=VALUE,…")
    args = arguments.parse_args()
    random = np.random.default_rng(1)
    truth = {side: random.dirichlet(np.full(WORDS, 0.05), size=TOPICS) for side in "tq"}
    mixtures = random.dirichlet(np.full(TOPICS, ALPHA / TOPICS), size=TITLES + HELD_OUT)
    titles = [draw(random, truth["t"], theta, LENGTH, "t") for theta in mixtures]
    queries = [draw(random, truth["q"], theta, QUERY_LENGTH, "q") for theta in mixtures]
    held_out = titles[TITLES:]
    titles, queries, asked = titles[:TITLES], queries[:TITLES], queries[TITLES:]
    faults = []

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write(folder / "titles.tsv", ["id", "title"], [[f"t{i}", " ".join(title)] for i, title in enumerate(titles)])
        pairs = [[" ".join(query), " ".join(title)] for query, title in zip(queries, titles)]
        write(folder / "clicks.tsv", ["query", "title"], pairs)
        # Queries have words of both sides; titles are some that were learnt from and some that were not.
        judged = []
        for i, (query, title) in enumerate(zip(asked, held_out)):
            for j, other in enumerate([title, titles[i], held_out[i - 1]]):
                judged.append([" ".join(query + title[:1]), " ".join(other), "012"[j]])
        write(folder / "judged.tsv", ["query", "title", "grade"], judged)

        specs = {name: spec(name, args.ours) for name in BOUNDS}
        data = ["--judged", folder / "judged.tsv", "--titles", folder / "titles.tsv", "--clicks", folder / "clicks.tsv"]
        trained = lab_rankers.train(args.clickvec, specs.values(), folder / "rankers", *data)
        lab_rankers.judge(args.clickvec, trained, folder / "runs", folder / "judged.tsv")

        dictionary = Dictionary(titles)
        corpus = [dictionary.doc2bow(title) for title in titles]
        gensim = LdaModel(corpus, num_topics=TOPICS, id2word=dictionary, alpha=[ALPHA / TOPICS] * TOPICS, eta=BETA,
                          passes=60, iterations=200, random_state=1)
        models = {"gensim LdaModel": (gensim.get_topics().astype(float), dictionary.token2id)}
        files = {}
        for name in specs:
            files[name] = File(next((folder / "rankers").glob(f"{name}*.safetensors")))
            models[f"clickvec {name}"] = files[name].title
        models["the true topics"] = (truth["t"], {f"t{word}": word for word in range(WORDS)})

        print(f"{TITLES} titles of {LENGTH} words, {TOPICS} topics, {WORDS} words")
        print(f"{'':20}{'distance':>10}{'perplexity':>12}{'coherence':>11}")
        found = {}
        for name, (topics, row_of) in models.items():
            known = {word: row for word, row in row_of.items() if word in dictionary.token2id}
            numbers = (distance(truth["t"], topics, row_of, "t"), perplexity(topics, row_of, held_out),
                       coherence(topics[:, sorted(known.values())], {word: place for place, (word, _) in enumerate(
                           sorted(known.items(), key=lambda item: item[1]))}, dictionary, corpus))
            found[name] = numbers
            print(f"{name:20}{numbers[0]:>10.3f}{numbers[1]:>12.2f}{numbers[2]:>11.3f}")
        topics, row_of = files["bltm"].query
        query_side = distance(truth["q"], topics, row_of, "q")
        print(f"{'… its query side':20}{query_side:>10.3f}")
        if not query_side < QUERY_SIDE:
            faults.append(f"bltm: expected its query topics less than {QUERY_SIDE} from the true ones, found {query_side:.3f}")
        for name, (farthest, worst) in BOUNDS.items():
            away, ratio = found[f"clickvec {name}"][0], found[f"clickvec {name}"][1] / found["the true topics"][1]
            if not away < farthest:
                faults.append(f"{name}: expected topics less than {farthest} from the true ones, found {away:.3f}")
            if not ratio < worst:
                faults.append(f"{name}: expected less than {worst} times the true topics' perplexity, found {ratio:.3f}")
        ours, theirs = found["clickvec lda"], found["gensim LdaModel"]
        if ours[0] > theirs[0] + 0.03 or ours[1] > 1.02 * theirs[1]:
            faults.append("lda: expected it to be as near and as good a prediction as gensim's, found it worse")

        ids = [line.split() for line in (folder / "runs" / "judged.qrels").read_text().splitlines()]
        for name in specs:
            run = read_run(next((folder / "runs").glob(f"{name}*.run")))
            scored = zip(ids, judged, strict=True)
            pairs = [(run[query, title], files[name].score(row[0].split(), row[1].split(), name == "lda", WEIGHT))
                     for (query, _, title, _), row in scored]
            largest = max(abs(score - anew) for score, anew in pairs)
            relative = max(abs(score / anew - 1) for score, anew in pairs)
            print(f"{name}: {len(pairs)} scores, the largest difference {largest:.2e}, {relative:.2e} of its size")
            if not relative < SCORES:
                faults.append(f"{name}: expected scores within {SCORES} of their size, found {relative:.2e}")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
