#!/usr/bin/env python3
"""Writes a raw log to standard output, to measure `clickvec prepare` with: query, title, user and time.

    python3 bench/make_raw_log.py 20000000 > log.tsv
    python3 bench/make_raw_log.py 1000000 --tripclick FOLDER > logs.json

Queries follow Zipf's law with exponent 1.05, three million of them; there are a million users, some of whom ask far more
than others, and 84 days. Texts are made of 4,000 words that mean nothing. With `--tripclick` the log has the form of
TripClick's, whose articles go to FOLDER/allarticles.txt.
"""

import argparse
import json
import random
import sys
from pathlib import Path

EXPONENT = 1.05
AT_ONCE = 100_000
TITLES = 1_500_000
# Of a search in TripClick's form.
RESULTS = 20


def word(number):
    letters = []
    for _ in range(2 + number % 3):
        letters.append("bdfgklmnprst"[number % 12] + "aeiou"[number // 12 % 5])
        number = number * 2654435761 % 4_294_967_291
    return "".join(letters)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("--queries", type=int, default=3_000_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tripclick", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    draw = random.Random(args.seed).random
    words = [word(number) for number in range(1, 4001)]
    days = [f"2026-{month:02}-{day:02}T" for month in (1, 2, 3) for day in range(1, 29)]
    top = args.queries ** (1 - EXPONENT) - 1

    def text_of(title):
        return " ".join(words[(title * step + title // 4000) % 4000] for step in (1, 3, 7, 11, 17, 29))

    if args.tripclick:
        args.tripclick.mkdir(parents=True, exist_ok=True)
        with open(args.tripclick / "allarticles.txt", "w", encoding="utf-8") as articles:
            articles.write("Id\tTitle\tUrl\n")
            articles.writelines(f"{title + 1}\t{text_of(title)}\thttp://{title}\n" for title in range(TITLES))
    else:
        sys.stdout.write("query\ttitle\tuser\ttime\n")
    for first in range(0, args.rows, AT_ONCE):
        lines = []
        for _ in range(min(AT_ONCE, args.rows - first)):
            # The inverse of the distribution, as if ranks were continuous.
            rank = int((1 + draw() * top) ** (1 / (1 - EXPONENT)))
            query = f"{words[rank % 4000]} {words[rank // 4000 % 4000]}"
            title = (rank * 7919 + int(draw() ** 3 * 8)) % TITLES
            user, day, second = int(draw() ** 2 * args.users), days[int(draw() * len(days))], int(draw() * 86_400)
            if args.tripclick:
                documents = [(rank * 7919 + result) % TITLES + 1 for result in range(RESULTS)]
                search = {"DateCreated": f"/Date({1354314248673 + second})/", "SessionId": f"s{user}", "Keywords": query}
                lines.append(json.dumps({**search, "Documents": documents, "DocumentId": title + 1 if draw() < 0.75 else 0}) + "\n")
                continue
            text = text_of(title)
            lines.append(f"{query}\t{text}\tu{user}\t{day}{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z\n")
        sys.stdout.write("".join(lines))


if __name__ == "__main__":
    main()
