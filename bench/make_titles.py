#!/usr/bin/env python3
"""Write many titles that are like real ones: python3 bench/make_titles.py COUNT OUT.tsv TITLES.tsv... [--seed N]

Each is a real title in which some words were replaced by words that follow the same word in other real titles, so that words keep
their frequencies and neighbours. Also writes a brand (the first word) and a price. The same arguments give the same bytes.
"""
import argparse
import collections
import random


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("path")
    parser.add_argument("titles", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    titles, after = [], collections.defaultdict(list)
    for path in args.titles:
        with open(path, encoding="utf-8") as lines:
            column = next(lines).rstrip("\n").split("\t").index("title")
            for line in lines:
                fields = line.rstrip("\n").split("\t")
                words = fields[column].split() if len(fields) > column else []
                if words:
                    titles.append(words)
                    for first, second in zip(words, words[1:]):
                        after[first].append(second)
    with open(args.path, "w", encoding="utf-8") as out:
        out.write("id\ttitle\tbrand\tprice\n")
        for number in range(args.count):
            words = list(titles[rng.randrange(len(titles))])
            if number >= len(titles):
                for place in range(1, len(words)):
                    if rng.random() < 0.4:
                        words[place] = rng.choice(after[words[place - 1]] or words)
            brand, price = words[0].lower(), f"{rng.lognormvariate(3, 1):.2f}"
            out.write(f"t{number}\t{' '.join(words)}\t{brand}\t{price}\n")


if __name__ == "__main__":
    main()
