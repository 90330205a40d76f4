#!/usr/bin/env python3
"""Gives titles bodies: python3 bench/make_bodies.py TITLES.tsv OUT TABLE.tsv... [--seed N]

A body reads like the page of a product: seven tenths of the words of its title, in another order, among the titles of three products
that share its rarest shared word. Writes each table, which has a column `title`, to the folder OUT with a column `body` behind the
others. The same arguments give the same bytes. Python 3.9 or later, nothing else.
"""
import argparse
import collections
import csv
import random
from pathlib import Path

KEPT, RELATED = 0.7, 3


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def titles_of(path):
    table = rows(path)
    at = next(table).index("title")
    return [row[at] for row in table]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("titles")
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    titles = list(dict.fromkeys(titles_of(args.titles)))
    having = collections.defaultdict(list)
    for number, title in enumerate(titles):
        for word in dict.fromkeys(title.lower().split()):
            having[word].append(number)

    def body(title):
        # Of the title alone, so that it is the same in every table.
        rng = random.Random(f"{args.seed} {title}")
        shared = [word for word in dict.fromkeys(title.lower().split()) if len(having[word]) > RELATED]
        others = having[min(shared, key=lambda word: len(having[word]))] if shared else range(len(titles))
        sentences = [titles[number] for number in rng.sample(list(others), min(RELATED, len(others)))]
        own = [word for word in title.split() if rng.random() < KEPT] or title.split()
        rng.shuffle(own)
        sentences.insert(rng.randrange(len(sentences) + 1), " ".join(own))
        return ". ".join(sentences)

    args.folder.mkdir(parents=True, exist_ok=True)
    for path in args.tables:
        table = rows(path)
        header = next(table)
        at = header.index("title")
        with open(args.folder / Path(path).name, "w", encoding="utf-8") as out:
            out.write("\t".join([*header, "body"]) + "\n")
            for row in table:
                out.write("\t".join([*row, body(row[at])]) + "\n")


if __name__ == "__main__":
    main()
