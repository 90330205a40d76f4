#!/usr/bin/env python3
"""Write a click log with the statistics of a large one: python3 bench/make_log.py PAIRS OUT.tsv [SEED] [options]

Queries of 3 words and titles of 7.8 words on average, as in figure 2 of the CLSM paper, over 60,000 random words whose
frequencies follow Zipf's law with exponent 1.05; about 49,000 letter trigrams. It says nothing about quality: query and title have
nothing to do with each other. For speed and memory only. Options set another number of words, of letters (and so of trigrams: n
letters have about n³ + 2n²) and another length of texts; the same arguments give the same bytes.
"""
import argparse
import itertools
import math
import random
import string

EXPONENT = 1.05
# Latin, digits, Cyrillic, and Greek without the final sigma: letters that lower-casing does not change.
LETTERS = string.ascii_lowercase + string.digits + "".join(map(chr, range(0x430, 0x450))) + "αβγδεζηθικλμνξοπρστυφχψω"


def vocabulary(rng, words, letters):
    return ["".join(rng.choices(LETTERS[:letters], k=rng.randint(2, 8))) for _ in range(words)]


def lengths(mean):
    """Numbers of words and their cumulative weights: 1 plus a Poisson number, cut off at the most."""
    more = mean - 1
    most = 10 if mean <= 3 else round(mean + 6 * math.sqrt(mean))
    weights = [math.exp(n * math.log(more) - more - math.lgamma(n + 1)) for n in range(most - 1)]
    return range(1, most + 1), list(itertools.accumulate(weights + [max(0.0, 1 - sum(weights))]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int)
    parser.add_argument("path")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--words", type=int, default=60_000, help="kinds of words")
    parser.add_argument("--letters", type=int, default=36, help=f"at most {len(LETTERS)}: a–z, 0–9, а–я, α–ω")
    parser.add_argument("--query-words", type=float, default=3.0, help="words of a query, mean, over 1")
    parser.add_argument("--title-words", type=float, default=7.8, help="words of a title, mean, over 1")
    args = parser.parse_args()
    if not 1 <= args.letters <= len(LETTERS):
        parser.error(f"expected 1 to {len(LETTERS)} letters, found {args.letters}")
    rng = random.Random(args.seed)
    words = vocabulary(rng, args.words, args.letters)
    frequency = list(itertools.accumulate(1 / rank**EXPONENT for rank in range(1, args.words + 1)))
    shapes = [lengths(args.query_words), lengths(args.title_words)]
    with open(args.path, "w", encoding="utf-8") as file:
        file.write("query\ttitle\n")
        for _ in range(args.pairs):
            sides = (rng.choices(words, cum_weights=frequency, k=rng.choices(counts, cum_weights=c)[0]) for counts, c in shapes)
            file.write("\t".join(map(" ".join, sides)) + "\n")


if __name__ == "__main__":
    main()
