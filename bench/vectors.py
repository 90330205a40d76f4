#!/usr/bin/env python3
"""Measures trainings on development queries, on unseen queries, and among all titles, over several seeds.

    vectors.py DATA --seeds 1,2,3,4,5 "name=options of clickvec train" ...

DATA is a folder with clicks.tsv, titles.tsv and judged.tsv (see bench/table.py). In the options, @T stands for
`--titles DATA/titles.tsv` and @C for `--clicks DATA/clicks.tsv`. A name without options is a ranker that needs no
training, such as `bm25`. A hash of each judged query says whether it is a development query or an unseen one: settings
may be chosen on the former only.

With `--models FOLDER`, models are kept there as NAME-SEED.safetensors and not trained again. With `--other FOLDER`, which
has a titles.tsv and a judged.tsv too, models named OTHER-SEED (see `--other-name`) are judged on those; `@O` stands for
`--titles OTHER/titles.tsv`.

Printed: NDCG@1 and @3 of judged titles, nDCG@10 and recall@100 of a search over all titles (what was not judged counts
as bad, a grade of 2 or more as relevant), the processor seconds of a training; and paired tests of the per-query means over the
seeds, each variant against the baselines and the variants before it. `--bm25` gives BM25 with other parameters a row of its own, and
`--vectors` the vectors of another program. Needs Python 3.9 or
later, and nothing else.
"""

import argparse
import collections
import csv
import hashlib
import json
import math
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile

DEPTH = 100
BM25 = "bm25"
TRIGRAM = "trigram"


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def is_unseen(query):
    return hashlib.sha256(query.encode()).digest()[0] % 2 == 1


def split(judged, folder):
    """Writes the two halves of the judged queries."""
    paths = folder / "development.tsv", folder / "unseen.tsv"
    lines = judged.read_text(encoding="utf-8").splitlines(keepends=True)
    place = lines[0].rstrip("\n").split("\t").index("query")
    for path, unseen in zip(paths, (False, True)):
        path.write_text(
            "".join([lines[0], *(line for line in lines[1:] if is_unseen(line.split("\t")[place]) == unseen)]),
            encoding="utf-8",
        )
    return paths


def run(program, *arguments):
    command = [str(part) for part in [program, *arguments]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: {done.stderr}")
    return done.stdout


def files_of(names):
    """The parameters of the ranker `vectors` for one file, or for those of queries and of titles."""
    files = names.split(",")
    return ",".join(f"{role}={file}" for role, file in zip(["file"] if len(files) == 1 else ["queries", "titles"], files))


def judged(program, path, systems, *more):
    """For each system, in order, NDCG@1 and @3 of each query."""
    with tempfile.TemporaryDirectory() as folder:
        figures = pathlib.Path(folder) / "per-query.tsv"
        run(program, "evaluate", "--judged", path, "--json", "--output", folder, *systems, *more)
        found = collections.OrderedDict()
        for row in rows(figures):
            found.setdefault(row["system"], []).append((float(row["ndcg@1"]), float(row["ndcg@3"])))
    return list(found.values())


def searched(program, path, titles, systems, *more):
    """For each system, nDCG@10 and recall@100 of each query with a relevant title."""
    grades = collections.OrderedDict()
    for row in rows(path):
        grades.setdefault(row["query"], {})[row["title"]] = int(row["grade"])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        titles_of = {row["id"]: row["title"] for row in rows(titles)}
        arguments = ["--full", "--measures", "ndcg@10", "--output", folder / "runs"]
        told = json.loads(run(program, "evaluate", "--judged", path, "--json", *arguments, *systems, *more))
        # As the program names the files of runs.
        files = [re.sub(r"[^\w.=,-]", "_", system["name"]) for system in told["systems"]]
        # As the program numbers the queries of a table.
        numbers = {f"q{number:07}": query for number, query in enumerate(grades)}
        found = []
        for file in files:
            lists = collections.defaultdict(list)
            for line in (folder / "runs" / f"{file}.run").read_text(encoding="utf-8").splitlines():
                query, _, title, *_ = line.split()
                if len(lists[query]) < DEPTH:
                    lists[query].append(titles_of[title])
            found.append([figures(grades[query], lists[number]) for number, query in numbers.items()])
    return found


def figures(grades, found):
    gain = lambda grade, rank: (2**grade - 1) / math.log2(rank + 2)
    best = sorted(grades.values(), reverse=True)
    ideal = sum(gain(grade, rank) for rank, grade in enumerate(best[:10]))
    own = sum(gain(grades.get(title, 0), rank) for rank, title in enumerate(found[:10]))
    relevant = {title for title, grade in grades.items() if grade >= 2}
    recall = len(relevant & set(found)) / len(relevant) if relevant else math.nan
    return own / ideal if ideal else math.nan, recall


def mean(values):
    return statistics.fmean(value for value in values if not math.isnan(value))


def difference(a, b):
    """The mean of a − b and its p, paired; with hundreds of queries the normal distribution is t's."""
    each = [x - y for x, y in zip(a, b) if not math.isnan(x + y)]
    spread = statistics.stdev(each) / math.sqrt(len(each))
    return statistics.fmean(each), math.erfc(abs(statistics.fmean(each)) / spread / math.sqrt(2)) if spread else 1.0


def over_seeds(runs):
    """The mean of each query's figures over the seeds, and the standard deviation of the seeds' means."""
    columns = range(len(runs[0][0]))
    means = [tuple(statistics.fmean(run[query][column] for run in runs) for column in columns) for query in range(len(runs[0]))]
    spread = [statistics.stdev(mean(q[column] for q in run) for run in runs) if len(runs) > 1 else 0.0 for column in columns]
    return means, spread


def trained(program, arguments, name, options, seed):
    """The model of a seed, and the processor seconds of its training if it was trained now."""
    model = arguments.models / f"{name}-{seed}.safetensors"
    if model.exists():
        return model, None
    for sign, flag, path in [
        ("@T", "--titles", arguments.data / "titles.tsv"),
        ("@C", "--clicks", arguments.data / "clicks.tsv"),
        ("@O", "--titles", arguments.other / "titles.tsv" if arguments.other else None),
    ]:
        if path is not None:
            options = options.replace(sign, f"{flag} {shlex.quote(str(path))}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(program, "train", "--output", model, "--set", f"seed={seed}", "--threads", arguments.threads, *shlex.split(options))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return model, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def shown(figures, spread=None, digits=3):
    """Means of two columns, with the seeds' standard deviations."""
    texts = []
    for column in range(len(figures[0])):
        text = f"{mean(figure[column] for figure in figures):.{digits}f}"
        texts.append(text if spread is None else f"{text} ± {spread[column]:.{digits}f}")
    return " / ".join(texts)


class Table:
    def __init__(self, heads):
        self.heads, self.found = heads, collections.OrderedDict()
        print("| system | " + " | ".join(heads) + " | CPU s |")
        print("| --- | " + " ---: |" * (len(heads) + 1), flush=True)

    def add(self, name, columns, seconds=None):
        """`columns`: for each head None, or a list of runs, one for each seed."""
        cells = []
        for head, runs in zip(self.heads, columns):
            if runs is None:
                cells.append("")
                continue
            means, spread = over_seeds(runs)
            self.found[name, head] = means
            cells.append(shown(means, spread if len(runs) > 1 else None))
        print(f"| {name} | " + " | ".join(cells) + f" | {'' if seconds is None else f'{seconds:.0f}'} |", flush=True)

    def tests(self, baselines):
        names = list(dict.fromkeys(name for name, _ in self.found))
        print("\n| difference | " + " | ".join(self.heads) + " |\n| --- |" + " --- |" * len(self.heads))
        for place, name in enumerate(names):
            if name in baselines:
                continue
            for other in names[:place]:
                cells = []
                for head in self.heads:
                    a, b = self.found.get((name, head)), self.found.get((other, head))
                    if a is None or b is None:
                        cells.append("")
                        continue
                    each = [difference([q[c] for q in a], [q[c] for q in b]) for c in range(len(a[0]))]
                    cells.append(" / ".join(f"{by:+.3f} (p {p:.2g})" for by, p in each))
                print(f"| {name} − {other} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("variants", nargs="*", help="name=options of clickvec train")
    parser.add_argument("--program", default="clickvec")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--other", type=pathlib.Path)
    parser.add_argument("--other-name", default="other")
    parser.add_argument("--bm25", default=BM25, help="one more baseline, such as bm25:stem=1,split=1")
    parser.add_argument("--vectors", metavar="QUERIES,TITLES", help="one more baseline: vectors of another program")
    parser.add_argument("--development", action="store_true", help="leave the unseen queries alone")
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        arguments.models = arguments.models or folder
        arguments.models.mkdir(parents=True, exist_ok=True)
        measure(arguments, folder)


def measure(arguments, folder):
    program, seeds = arguments.program, [int(seed) for seed in arguments.seeds.split(",")]
    development, unseen = split(arguments.data / "judged.tsv", folder)
    titles = arguments.data / "titles.tsv"
    heads = ["development, judged titles: NDCG@1/@3", "development, all titles: nDCG@10/recall@100"]
    if not arguments.development:
        heads += ["unseen, judged titles: NDCG@1/@3", "unseen, all titles: nDCG@10/recall@100"]
    heads += ["other shop, judged titles: NDCG@1/@3"] if arguments.other else []
    table = Table(heads)

    def columns(systems, *more):
        """The columns of each system."""
        more = ["--titles", titles, *more]
        halves = [development] if arguments.development else [development, unseen]
        found = [each for half in halves for each in (
            judged(program, half, systems, *more), searched(program, half, titles, systems, *more))]
        return [[column[place] for column in found] for place in range(len(found[0]))]

    baselines = list(dict.fromkeys([BM25, arguments.bm25, TRIGRAM]))
    if arguments.vectors:
        baselines.append(f"vectors:{files_of(arguments.vectors)}")
    of_other = [None] * len(baselines)
    if arguments.other:
        other_titles = ["--titles", arguments.other / "titles.tsv"]
        of_other = judged(program, arguments.other / "judged.tsv", baselines, *other_titles)
    for name, found, other in zip(baselines, columns(baselines), of_other):
        table.add(name, [[each] for each in found] + ([[other]] if arguments.other else []))
    for variant in arguments.variants:
        name, options = variant.split("=", 1)
        models, seconds = zip(*(trained(program, arguments, name, options, seed) for seed in seeds))
        runs = [columns([model])[0] for model in models]
        by_column = [list(each) for each in zip(*runs)]
        if arguments.other:
            others = [arguments.models / f"{arguments.other_name}-{seed}.safetensors" for seed in seeds]
            others = [model for model in others if model.exists()]
            by_column.append(
                [judged(program, arguments.other / "judged.tsv", [model])[0] for model in others] or None
            )
        seconds = None if None in seconds else statistics.fmean(seconds)
        table.add(name, by_column, seconds)
    table.tests(baselines)


if __name__ == "__main__":
    main()
