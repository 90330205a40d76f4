#!/usr/bin/env python3
"""Compare three rules of replacing a model, over thirty simulated days: python3 bench/thirty_days.py [--seeds N] [--days N]

A shop of 672 titles is searched by an index. Its customers see what that index finds, look at rank r with probability 1/r, and
click what they look at more often the better it is; so clicks lean to the model that is there, as real ones do. Every night a
rule may replace the model:

- never: the model of the first day stays.
- always: `clickvec update --set error_rate=1 --trust-clicks`, every new model is taken.
- clicks: `clickvec update`, as it is by default. What it refuses (exit status 1) is not learnt later either.
- judged: the same with `--judged`, 60 queries of the first day with the true grades of all titles.

In one setting nothing drifts; in the other, up to 60 % of what customers call things gives way to new words within the
month. New titles arrive in both, and on one day robots click anything. How good a day's index is, is nDCG@10 by the true
grades of all titles, of 60 queries in the words of that day that no log has.

Environment: CLICKVEC is the program [target/debug/clickvec].
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from make_shop import BRANDS, THINGS, grade, misspell

PROGRAM = os.environ.get("CLICKVEC", str(Path(__file__).parent.parent / "target/debug/clickvec"))
RULES = ["never", "always", "clicks", "judged"]
SEARCHES, WINDOW, JUDGED, POISONED = 400, 10, 60, 14
MISSPELT, DRIFT = 0.15, 0.6


def run(folder, *arguments, given=None, codes=(0,)):
    done = subprocess.run([PROGRAM, "--threads", "1", *map(str, arguments)], cwd=folder, input=given, text=True, capture_output=True)
    if done.returncode not in codes:
        sys.exit(f"clickvec {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr}")
    return done


def shop(rng):
    """All products; the last fifth comes during the month."""
    made = []
    for noun, (_, adjectives, sizes, _) in THINGS.items():
        for adjective in adjectives:
            for size in sizes:
                for brand in BRANDS[:4]:
                    title = f"{brand} {size} {adjective} {noun}"
                    made.append({"title": title, "noun": noun, "adjective": adjective, "size": size})
    rng.shuffle(made)
    return [dict(product, id=f"p{number:04}") for number, product in enumerate(made)]


def renamed(word, share):
    """A word of a customer, or the one that took its place: the same words give way, each from the same day on."""
    hashed = zlib.crc32(word.encode())
    if (hashed % 1000) / 1000 >= share:
        return word
    made = random.Random(hashed)
    return "".join(made.choice("bdfgklmnprstvz") + made.choice("aeiou") for _ in range(2 + hashed % 2))


def query(rng, product, share):
    """The query of a customer who wants `product`, on a day on which a share of the words of things are new."""
    name = rng.choice(THINGS[product["noun"]][0])
    parts = [" ".join(renamed(word, share) for word in name.split())]
    if rng.random() < 0.6:
        parts.insert(0, product["adjective"].lower())
    if rng.random() < 0.25:
        parts.append(product["size"].lower().replace(".", ""))
    text = " ".join(parts)
    return misspell(rng, text) if rng.random() < MISSPELT else text


class Market:
    """The truth: products, days and what customers want. The same for every rule."""

    def __init__(self, seed, drifts, days):
        rng = random.Random(seed)
        self.seed, self.drifts, self.days = seed, drifts, days
        self.products = shop(rng)
        self.by_id = {product["id"]: product for product in self.products}
        # Some things sell far better than others.
        self.weights = [1 / (1 + rng.randrange(200)) for _ in self.products]
        self.first = len(self.products) * 4 // 5

    def share(self, day):
        return DRIFT * day / self.days if self.drifts else 0.0

    def on_sale(self, day):
        return self.first + (len(self.products) - self.first) * day // self.days

    def wants(self, day):
        """The queries of a day with what their customers want."""
        rng = random.Random(f"{self.seed} {day}")
        count = self.on_sale(day)
        wanted = rng.choices(self.products[:count], self.weights[:count], k=SEARCHES)
        return [(query(rng, product, self.share(day)), product) for product in wanted]

    def judged(self, day, purpose="test", count=JUDGED):
        """Queries of a day that are in no log because nobody clicks for them."""
        rng = random.Random(f"{self.seed} {day} {purpose}")
        wanted = rng.choices(self.products[: self.on_sale(day)], k=count)
        return [(query(rng, product, self.share(day)), product) for product in wanted]

    def grade(self, text, wanted, shown):
        return grade(wanted, shown, text)


def search(folder, texts):
    """The first ten ids for each text."""
    texts = list(dict.fromkeys(texts))
    lines = run(folder, "search", "shop", "-k", 10, "--json", given="".join(f"{text}\n" for text in texts)).stdout.splitlines()
    return {text: [hit["id"] for hit in json.loads(line)["results"]] for text, line in zip(texts, lines, strict=True)}


def quality(market, folder, day):
    """nDCG@10 by the true grades of all titles."""
    judged = market.judged(day)
    found = search(folder, [text for text, _ in judged])
    on_sale = market.products[: market.on_sale(day)]
    total = 0.0
    for text, wanted in judged:
        discount = [1 / math.log2(rank + 2) for rank in range(10)]
        gains = [2 ** market.grade(text, wanted, market.by_id[id]) - 1 for id in found[text]]
        ideal = sorted((2 ** market.grade(text, wanted, product) - 1 for product in on_sale), reverse=True)[:10]
        total += sum(map(float.__mul__, map(float, gains), discount)) / sum(map(float.__mul__, map(float, ideal), discount))
    return total / len(judged)


def clicks(market, folder, day, poisoned):
    """The clicks of a day on what the index finds, as the rows of a table."""
    rng = random.Random(f"{market.seed} {day} clicks")
    wants = market.wants(day)
    found = search(folder, [text for text, _ in wants])
    counts = {}
    for text, wanted in wants:
        for rank, id in enumerate(found[text]):
            likely = 0.05 + 0.95 * (2 ** market.grade(text, wanted, market.by_id[id]) - 1) / 15
            if rng.random() < likely / (rank + 1):
                key = (text, market.by_id[id]["title"])
                counts[key] = counts.get(key, 0) + 1
    if poisoned:
        on_sale = market.products[: market.on_sale(day)]
        robots = {(text, rng.choice(on_sale)["title"]): rng.randrange(1, 4) for text, _ in wants for _ in range(2)}
        counts = counts | robots
    return "query\ttitle\tcount\n" + "".join(f"{text}\t{title}\t{count}\n" for (text, title), count in counts.items())


def titles(market, day):
    return "id\ttitle\n" + "".join(f"{product['id']}\t{product['title']}\n" for product in market.products[: market.on_sale(day)])


def month(rule, drifts, seed, days):
    """nDCG@10 of each day after the first, and what happened on it."""
    market = Market(seed, drifts, days)
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "titles.tsv").write_text(titles(market, 0))
        # Before the first day, an engine that has seen titles alone.
        settings = ["--encoder", "dssm", "--set", "encoder.layers=64,32", "--set", f"seed={seed}"]
        run(folder, "train", "--titles", "titles.tsv", "--output", "m", *settings)
        run(folder, "index", "--model", "m", "--titles", "titles.tsv", "--output", "shop")
        (folder / "day00.tsv").write_text(clicks(market, folder, 0, False))
        run(folder, "train", "--clicks", "day00.tsv", "--output", "m", "--epochs", 8, "--set", "batch_size=64", *settings)
        run(folder, "index", "--model", "m", "--titles", "titles.tsv", "--output", "shop")
        judged = [
            f"{text}\t{product['title']}\t{market.grade(text, wanted, product)}\n"
            for text, wanted in dict(market.judged(0, "judge", 60)).items()
            for product in market.products[: market.on_sale(0)]
        ]
        (folder / "judged.tsv").write_text("query\ttitle\tgrade\n" + "".join(judged))
        files, values, events = ["day00.tsv"], [], []
        for day in range(1, days):
            (folder / "titles.tsv").write_text(titles(market, day))
            values.append(quality(market, folder, day))
            if rule == "never":
                run(folder, "update", "shop", "--add", "titles.tsv")
            else:
                file = f"day{day:02}.tsv"
                (folder / file).write_text(clicks(market, folder, day, day == POISONED))
                more = {"always": ["--set", "error_rate=1", "--trust-clicks"], "judged": ["--judged", "judged.tsv"]}.get(rule, [])
                done = run(folder, "update", "shop", "--titles", "titles.tsv", "--json", *more, "--clicks", *files[-WINDOW + 1 :], file,
                           codes=(0, 1))
                told = json.loads(done.stdout)
                if not told["suspicion"]:
                    files.append(file)
                events.append("refused" if told["suspicion"] else told["reason"] or ("worse" if told["worse_on"] else "kept"))
                churn = (told["churn"] or {"titles": 0.0})["titles"]
                pooled = told["pooled"] or {"evidence": 0.0, "gain": None}
                print(f"{rule} {'drift' if drifts else 'steady'} {seed}, day {day}: {values[-1]:.3f} {events[-1]}, "
                      f"evidence {pooled['evidence']:.2f}, gain {pooled['gain']}, churn {churn:.2f}",
                      file=sys.stderr, flush=True)
        return values, events
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2, help="how many months to simulate at once")
    args = parser.parse_args()
    settings = [(drifts, rule, seed) for drifts in (False, True) for rule in RULES for seed in range(1, args.seeds + 1)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        months = dict(zip(settings, pool.map(lambda setting: month(setting[1], setting[0], setting[2], args.days), settings)))
    print("| words of customers | rule | nDCG@10, mean of the days | regret | worst day | last day | models taken | days refused |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for drifts in (False, True):
        rows = {}
        for rule in RULES:
            found = [months[drifts, rule, seed] for seed in range(1, args.seeds + 1)]
            values = [value for month, _ in found for value in month]
            taken = sum(event in ("gain", "judged", "drift", "always") for _, events in found for event in events) / len(found)
            refused = sum(event == "refused" for _, events in found for event in events) / len(found)
            last = sum(month[-1] for month, _ in found) / len(found)
            rows[rule] = (sum(values) / len(values), min(values), last, taken, refused)
        best = max(mean for mean, *_ in rows.values())
        for rule, (mean, worst, last, taken, refused) in rows.items():
            words = "drift" if drifts else "steady"
            print(f"| {words} | {rule} | {mean:.3f} | {best - mean:.3f} | {worst:.3f} | {last:.3f} | {taken:.1f} | {refused:.1f} |")


if __name__ == "__main__":
    main()
