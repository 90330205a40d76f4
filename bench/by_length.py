#!/usr/bin/env python3
"""Does it depend on the length of texts which system is best?  python3 bench/by_length.py TABLE.json --judged judged.tsv

TABLE.json is what `clickvec lab table … --json` prints. Prints, for queries of each number of words and for queries whose judged titles
have few or many words, the NDCG of each system and how it differs from that of the first: paired over queries, two-sided, by the
normal distribution, with Holm's correction over all rows and groups of a table. Whether the difference depends on the length is
another test, in the last column: the slope of a line through the differences by the number of words, with Holm's correction over the
rows. Python 3.9 or later, nothing else.
"""
import argparse
import collections
import csv
import json
import math
import statistics


def p_value(differences):
    """Of a mean of zero; None with too few queries to say."""
    if len(differences) < 20:
        return None
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    return 1.0 if error == 0 else math.erfc(abs(statistics.fmean(differences)) / error / math.sqrt(2))


def slope(lengths, differences):
    """The slope of the differences over the lengths, and its p."""
    mean, level = statistics.fmean(lengths), statistics.fmean(differences)
    spread = sum((length - mean) ** 2 for length in lengths)
    found = sum((length - mean) * (difference - level) for length, difference in zip(lengths, differences)) / spread
    rest = sum((difference - level - found * (length - mean)) ** 2 for length, difference in zip(lengths, differences))
    error = math.sqrt(rest / (len(lengths) - 2) / spread)
    return found, math.erfc(abs(found) / error / math.sqrt(2)) if error else 1.0


def holm(values):
    """The p values after Holm's correction."""
    order, least, corrected = sorted(range(len(values)), key=values.__getitem__), 0.0, [1.0] * len(values)
    for place, at in enumerate(order):
        least = max(least, min(1.0, values[at] * (len(values) - place)))
        corrected[at] = least
    return corrected


def print_table(head, groups, lengths, systems, metric):
    """Groups are pairs of a name and the numbers of queries; lengths are by the number of the query."""
    groups = [(name, queries) for name, queries in groups if queries]
    print(f"| {metric.upper()} by {head} | " + " | ".join(f"{name} ({len(queries):,} queries)" for name, queries in groups) + " | slope per word |")
    print("| --- |" + " ---: |" * (len(groups) + 1))
    first = systems[0]["per_query"][metric]
    cells = {}
    for row, system in enumerate(systems[1:], 1):
        for column, (_, queries) in enumerate(groups):
            p = p_value([system["per_query"][metric][q] - first[q] for q in queries])
            if p is not None:
                cells[row, column] = p
    corrected = dict(zip(cells, holm(list(cells.values()))))
    numbers = sorted(lengths)
    differences = [[system["per_query"][metric][q] - first[q] for q in numbers] for system in systems[1:]]
    slopes = [slope([lengths[q] for q in numbers], of_system) for of_system in differences]
    slopes = [None] + list(zip((found for found, _ in slopes), holm([p for _, p in slopes])))
    for row, system in enumerate(systems):
        shown = []
        for column, (_, queries) in enumerate(groups):
            values = system["per_query"][metric]
            text = f"{statistics.fmean(values[q] for q in queries):.3f}"
            if row:
                difference = statistics.fmean(values[q] - first[q] for q in queries)
                p = corrected.get((row, column))
                text += f" ({difference:+.3f}{'' if p is None else f', p {p:.2g}'})"
            shown.append(text.replace("(-", "(−"))
        shown.append(f"{slopes[row][0]:+.4f}, p {slopes[row][1]:.2g}".replace("-", "−", 1) if row else "")
        print(f"| {system['name']} | " + " | ".join(shown) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--judged", required=True, help="the judged titles that the table was made with")
    parser.add_argument("--metric", choices=["ndcg@1", "ndcg@3", "ndcg@10"], default="ndcg@3")
    args = parser.parse_args()
    with open(args.table, encoding="utf-8") as file:
        found = json.load(file)
    systems = [system for system in found["systems"] if "per_query" in system]
    texts = found["query_texts"]
    lengths = [len(text.split()) for text in texts]
    by_words = [(name, [q for q, words in enumerate(lengths) if low <= words <= high])
                for name, low, high in [("1 word", 1, 1), ("2 words", 2, 2), ("3", 3, 3), ("4", 4, 4), ("5 or more", 5, 10**9)]]
    print_table("words of the query", by_words, dict(enumerate(lengths)), systems, args.metric)
    titles = collections.defaultdict(list)
    with open(args.judged, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            titles[row["query"]].append(len(row["title"].split()))
    means = [(statistics.fmean(titles[text]), q) for q, text in enumerate(texts) if text in titles]
    means.sort()
    thirds = [means[len(means) * part // 3:len(means) * (part + 1) // 3] for part in range(3)]
    by_titles = [(f"{part[0][0]:.1f} to {part[-1][0]:.1f}", [q for _, q in part]) for part in thirds if part]
    print_table("mean words of the judged titles", by_titles, {q: words for words, q in means}, systems, args.metric)


if __name__ == "__main__":
    main()
