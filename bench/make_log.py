#!/usr/bin/env python3
"""Write a click log with the statistics of a large one: python3 bench/make_log.py PAIRS OUT.tsv [SEED]

Queries of 3 words and titles of 7.8 words on average, as in figure 2 of the CLSM paper, over 60,000 random words whose
frequencies follow Zipf's law with exponent 1.05; about 49,000 letter trigrams. It says nothing of quality: query and title have
nothing to do with each other. For speed and memory only.
"""
import itertools
import math
import random
import string
import sys

WORDS, EXPONENT = 60_000, 1.05
# (mean of the Poisson number of words beyond the first, most words)
QUERY, TITLE = (2.0, 10), (6.8, 25)


def vocabulary(rng):
    letters = string.ascii_lowercase + string.digits
    return ["".join(rng.choices(letters, k=rng.randint(2, 8))) for _ in range(WORDS)]


def lengths(mean, most):
    """Cumulative weights of 1 … `most` words; what is longer counts as `most`."""
    weights = [math.exp(-mean) * mean**n / math.factorial(n) for n in range(most - 1)]
    return list(itertools.accumulate(weights + [1 - sum(weights)]))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    pairs, path = int(sys.argv[1]), sys.argv[2]
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) == 4 else 0)
    words = vocabulary(rng)
    frequency = list(itertools.accumulate(1 / rank**EXPONENT for rank in range(1, WORDS + 1)))
    shapes = [(range(1, most + 1), lengths(mean, most)) for mean, most in (QUERY, TITLE)]
    with open(path, "w", encoding="ascii") as file:
        file.write("query\ttitle\n")
        for _ in range(pairs):
            sides = (rng.choices(words, cum_weights=frequency, k=rng.choices(counts, cum_weights=c)[0]) for counts, c in shapes)
            file.write("\t".join(map(" ".join, sides)) + "\n")


if __name__ == "__main__":
    main()
