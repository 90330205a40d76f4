#!/usr/bin/env python3
"""Make clicks, judged titles and titles of the Home Depot Product Search Relevance competition's train.csv.

python3 bench/home_depot.py train.csv FOLDER [--draw | --judged-queries N --seed N]

Needs nothing but Python. The competition's data page has train.csv (columns product_uid, product_title, search_term and
relevance) for those who accept its terms. Writes to FOLDER:

- judged.tsv: N queries (1,603 unless said) drawn by a hash of their text, each with its rated titles. The mean rating of 1 to
  3 becomes a grade: 2 x (rating - 1), rounded, a half upwards. So 1 is 0, 1.33 and 1.67 are 1, 2 is 2, 2.33 and 2.67 are 3,
  3 is 4.
- clicks.tsv: of all other queries, the pairs with a rating of 2.67 or more. They stand in for clicks.
- titles.tsv: every title once, with its product's number as the id; of products with one title, the first.

`--draw` takes the queries of the published results instead: those whose hashes are in home_depot_queries.txt, beside this script.
bench/results/README.md has the checksums of judged.tsv and clicks.tsv then. titles.tsv has the titles of these queries alone; the
published one has some more. With another draw, expect NDCG to change by about one standard error, .01 at @1.
"""
import argparse
import csv
import hashlib
import sys
from pathlib import Path

COLUMNS = ("product_uid", "product_title", "search_term", "relevance")
CLICKED = 2.67
# A line for each query: `j` if it is judged, `c` if it was clicked, and the first 8 digits of the SHA-256 of its text.
DRAWN = Path(__file__).with_name("home_depot_queries.txt")


def fail(message):
    sys.exit(f"error: {message}")


def rows(path):
    """Query, id, title and rating of each row. Line ends and tabs inside texts become spaces."""
    try:
        # The file has letters that are not UTF-8.
        with open(path, encoding="latin-1", newline="") as file:
            reader = csv.DictReader(file)
            lacking = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
            if lacking:
                fail(f"{path}: expected the columns {', '.join(COLUMNS)}, found no {', '.join(lacking)}")
            for row in reader:
                where = f"{path}:{reader.line_num}"
                try:
                    rating = float(row["relevance"])
                except (TypeError, ValueError):
                    fail(f"{where}: expected a rating from 1 to 3, found {row['relevance']!r}")
                if not 1 <= rating <= 3:
                    fail(f"{where}: expected a rating from 1 to 3, found {rating}")
                query, title = (" ".join(row[name].split()) for name in ("search_term", "product_title"))
                if not query or not title:
                    fail(f"{where}: expected a query and a title, found none")
                yield query, row["product_uid"].strip(), title, rating
    except OSError as error:
        fail(f"{path}: cannot be read: {error.strerror}")


def drawn(queries):
    """The queries of the published results among these: the judged and the clicked."""
    kinds = {"j": set(), "c": set()}
    of_hash = dict(reversed(line.split()) for line in DRAWN.read_text(encoding="ascii").splitlines())
    for query in queries:
        kind = of_hash.get(hashlib.sha256(query.encode()).hexdigest()[:8])
        if kind:
            kinds[kind].add(query)
    found = sum(map(len, kinds.values()))
    if found != len(of_hash):
        fail(f"expected the {len(of_hash):,} queries of {DRAWN.name}, found {found:,}; is this the whole train.csv?")
    return kinds["j"], kinds["c"]


def grade(rating):
    return int(2 * (rating - 1) + 0.5)


def write(path, header, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\t".join(header) + "\n")
        file.writelines("\t".join(map(str, line)) + "\n" for line in lines)
    print(f"{path}: {len(lines):,} rows")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("train", type=Path, metavar="train.csv")
    arguments.add_argument("folder", type=Path, metavar="FOLDER")
    arguments.add_argument("--draw", action="store_true", help="take the queries of the published results")
    arguments.add_argument("--judged-queries", type=int, default=1603, metavar="N", help="queries to judge [1603]")
    arguments.add_argument("--seed", default="1", metavar="N", help="decides which queries are judged [1]")
    arguments = arguments.parse_args()
    pairs, titles = {}, {}
    for query, product, title, rating in rows(arguments.train):
        titles.setdefault(title, product)
        # A pair that is there twice keeps its first rating.
        pairs.setdefault((query, title), rating)
    if not pairs:
        fail(f"{arguments.train}: expected rated pairs, found none")
    order = sorted({query for query, _ in pairs}, key=lambda query: hashlib.sha256(f"{arguments.seed}\t{query}".encode()).digest())
    if not 0 < arguments.judged_queries < len(order) and not arguments.draw:
        fail(f"expected fewer judged queries than the {len(order):,} of the file, found {arguments.judged_queries:,}")
    judged = set(order[: arguments.judged_queries])
    clicked = set(order) - judged
    if arguments.draw:
        judged, clicked = drawn(order)
        pairs = {pair: rating for pair, rating in pairs.items() if pair[0] in judged | clicked}
        shown = {title for _, title in pairs}
        titles = {title: product for title, product in titles.items() if title in shown}
    arguments.folder.mkdir(parents=True, exist_ok=True)
    folder = arguments.folder
    write(folder / "judged.tsv", ("query", "title", "grade"), [(q, t, grade(r)) for (q, t), r in pairs.items() if q in judged])
    write(folder / "clicks.tsv", ("query", "title"), [pair for pair, r in pairs.items() if pair[0] in clicked and r >= CLICKED])
    taken = set()
    first = [(product, title) for title, product in titles.items() if not (product in taken or taken.add(product))]
    write(folder / "titles.tsv", ("id", "title"), first)


if __name__ == "__main__":
    main()
