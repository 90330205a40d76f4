#!/usr/bin/env python3
"""Give clickvec judged data in every form it takes, and read what it writes with the public tools of each form.

python3 bench/check_forms.py CLICKVEC [--without-parquet]

Needs numpy, pytrec_eval (or pytrec-eval-terrier), gensim and, unless CLICKVEC was built without it, pyarrow. Makes the
shop of testdata a table with ids, TREC qrels with topics, and a BEIR folder; evaluates a model and BM25 on each; and
compares every query's numbers with pytrec_eval's, read from the run that was written and the qrels that were given, for
the same where all titles are searched. Then embeds texts, and compares the vectors that numpy, gensim and pyarrow read with the JSON lines, bit for
bit. Exits with 1 on a difference.
"""
import argparse
import csv
import json
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import needed

needed.packages("gensim", "numpy", "pytrec_eval")

import gensim
import numpy as np
import pytrec_eval

SHOP = Path(__file__).resolve().parent.parent / "testdata" / "shop"
TOLERANCE = 1e-9
MEASURES = {
    "ndcg@1": "ndcg_cut_1",
    "ndcg@3": "ndcg_cut_3",
    "ndcg@10": "ndcg_cut_10",
    "mrr": "recip_rank",
    "map": "map",
    "precision@10": "P_10",
    "recall@10": "recall_10",
}
SEARCH_MEASURES = {
    "ndcg@1": "ndcg_cut_1",
    "ndcg@10": "ndcg_cut_10",
    "recall@5": "recall_5",
    "recall@100": "recall_100",
    "precision@5": "P_5",
    "map": "map",
    "mrr@1000": "recip_rank",
    "bpref": "bpref",
}
SYSTEMS = ["bm25", "model"]
TEXTS = ["leather couch", "", "Hartwell 6 ft. Aluminum Ladder", "  grüne\tSofas  ", "leather_couch", "leather couch", "白い靴", "zzqqx"]


def run(program, folder, *arguments, text=None):
    done = subprocess.run([program, *arguments], cwd=folder, input=text, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"clickvec {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def make_forms(folder):
    """Writes the judged shop in every form; returns the flags for each."""
    with open(SHOP / "judged.tsv", encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
    queries = {text: f"q{place}" for place, text in enumerate(dict.fromkeys(row["query"] for row in rows))}
    titles = {text: f"dé{place}" for place, text in enumerate(dict.fromkeys(row["title"] for row in rows))}
    # A title with a negative grade was pooled and not judged; a table has no such grades.
    grades = [-1 if row["grade"] == "0" and place % 3 == 0 else int(row["grade"]) for place, row in enumerate(rows)]
    judged = [(queries[row["query"]], titles[row["title"]], grade) for row, grade in zip(rows, grades)]

    def write(name, lines):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    table = [
        f"{queries[row['query']]}\t{row['query']}\t{titles[row['title']]}\t{row['title']}\t{row['grade']}" for row in rows
    ]
    write("judged.tsv", ["query_id\tquery\ttitle_id\ttitle\tgrade", *table])
    write("titles.tsv", ["id\ttitle", *(f"{name}\t{text}" for text, name in titles.items())])
    write("qrels.txt", [f"{query} 0 {title} {grade}" for query, title, grade in judged])
    write("topics.tsv", [f"{name}\t{text}" for text, name in queries.items()])
    write("topics.txt", [
        f"<top>\n<num> Number: {name}\n<title> {text.replace('&', '&amp;').replace('<', '&lt;')}\n\n<desc> Description:\n-\n</top>\n"
        for text, name in queries.items()
    ])
    write("beir/queries.jsonl", [json.dumps({"_id": name, "text": text, "metadata": {}}) for text, name in queries.items()])
    write("beir/corpus.jsonl", [json.dumps({"_id": name, "title": "", "text": text}) for text, name in titles.items()])
    write("beir/qrels/test.tsv", ["query-id\tcorpus-id\tscore", *(f"{query}\t{title}\t{grade}" for query, title, grade in judged)])
    return {
        "table": ["--judged", "judged.tsv", "--titles", "titles.tsv"],
        "TREC, topics in a table": ["--judged", "qrels.txt", "--topics", "topics.tsv", "--titles", "titles.tsv"],
        "TREC, topics between tags": ["--judged", "qrels.txt", "--topics", "topics.txt", "--titles", "titles.tsv"],
        "BEIR folder": ["--judged", "beir"],
    }


def check_judging(program, folder, forms):
    """The largest difference between our numbers and pytrec_eval's for each form."""
    with open(folder / "qrels.txt", encoding="utf-8") as lines:
        given = pytrec_eval.parse_qrel(lines)
    worst = {}
    for form, flags in forms.items():
        evaluator = pytrec_eval.RelevanceEvaluator(given, {"ndcg_cut.1,3,10", "recip_rank", "map", "P.10", "recall.10"})
        run(program, folder, "evaluate", *flags, "bm25", "model", "--trec-eval",
            "--output", "runs", "--json")
        with open(folder / "runs" / "per-query.tsv", encoding="utf-8", newline="") as table:
            ours = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
        with open(folder / "runs" / "judged.qrels", encoding="utf-8") as lines:
            written = pytrec_eval.parse_qrel(lines)
        if written != {query: {title: max(grade, 0) for title, grade in grades.items() if form == "table" or grade >= 0}
                       for query, grades in given.items()}:
            sys.exit(f"{form}: pytrec_eval reads other qrels than those that were given")
        for system in SYSTEMS:
            with open(folder / "runs" / f"{system}.run", encoding="utf-8") as lines:
                theirs = evaluator.evaluate(pytrec_eval.parse_run(lines))
            rows = [row for row in ours if row["system"] == system]
            if len(rows) != len(given) or {row["query_id"] for row in rows} != set(theirs):
                sys.exit(f"{form}: {len(rows)} queries of {system}, {len(theirs)} of pytrec_eval, {len(given)} given")
            for row in rows:
                for name, measure in MEASURES.items():
                    difference = abs(float(row[name]) - theirs[row["query_id"]][measure])
                    if difference > TOLERANCE:
                        sys.exit(f"{form}, {system}, {row['query_id']}: {name} is {row[name]}, "
                                 f"pytrec_eval's {theirs[row['query_id']][measure]}")
                    worst[form] = max(worst.get(form, 0.0), difference)
    return worst


def check_searching(program, folder, forms):
    """The largest difference between our numbers and pytrec_eval's where all titles are searched."""
    worst = 0.0
    names = {"bm25": "bm25", "trigram": "trigram", "model": "model"}
    for form, flags in forms.items():
        run(program, folder, "evaluate", "--full", *flags, "bm25", "trigram", "model",
            "--trec-eval", "--measures", ",".join(SEARCH_MEASURES),
            "--output", "runs", "--json")
        with open(folder / "runs" / "judged.qrels", encoding="utf-8") as lines:
            given = pytrec_eval.parse_qrel(lines)
        asked = {"ndcg_cut.1,10", "recip_rank", "map", "P.5", "recall.5,100", "bpref"}
        evaluator = pytrec_eval.RelevanceEvaluator(given, asked)
        with open(folder / "runs" / "per-query.tsv", encoding="utf-8", newline="") as table:
            ours = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
        for system, file in names.items():
            with open(folder / "runs" / f"{file}.run", encoding="utf-8") as lines:
                theirs = evaluator.evaluate(pytrec_eval.parse_run(lines))
            for row in (row for row in ours if row["system"] == system):
                for name, measure in SEARCH_MEASURES.items():
                    # A query for which nothing was found is not in the run.
                    expected = theirs.get(row["query_id"], {}).get(measure, 0.0)
                    difference = abs(float(row[name]) - expected)
                    if difference > TOLERANCE:
                        sys.exit(f"{form}, {system}, {row['query_id']}: {name} is {row[name]}, "
                                 f"pytrec_eval's {expected}")
                    worst = max(worst, difference)
    return worst


def check_vectors(program, folder, with_parquet):
    """Compares the vectors that each tool reads with the JSON lines."""
    text = "".join(line + "\n" for line in TEXTS)

    def embed(form, *output):
        return run(program, folder, "embed", "model", "--side", "title", "--format", form, *output, text=text)

    lines = [json.loads(line) for line in embed("jsonl").splitlines()]
    texts = [line["text"] for line in lines]
    if texts != TEXTS:
        sys.exit(f"jsonl: expected the texts that were given, found {texts}")
    expected = np.array([line["vector"] for line in lines], dtype=np.float32)
    dimension = expected.shape[1]

    def equal(form, found):
        if found.dtype != np.float32 or found.shape != expected.shape or found.tobytes() != expected.tobytes():
            sys.exit(f"{form}: expected {expected.shape} 32-bit floats, the same as in the JSON lines, found others")

    embed("npy", "--output", "v.npy")
    equal("npy", np.load(folder / "v.npy"))
    equal("npy, mapped", np.array(np.load(folder / "v.npy", mmap_mode="r")))

    embed("word2vec", "--output", "v.txt")
    keyed = gensim.models.KeyedVectors.load_word2vec_format(str(folder / "v.txt"), binary=False)
    keys = ["_".join(line.split()) or "_" for line in TEXTS]
    if keyed.index_to_key != list(dict.fromkeys(keys)) or keyed.vector_size != dimension:
        sys.exit(f"word2vec: expected {dimension} numbers for each of {list(dict.fromkeys(keys))}, found {keyed.index_to_key}")
    equal("word2vec", np.array([keyed[key] for key in keys]))

    if with_parquet:
        import pyarrow
        import pyarrow.parquet

        embed("parquet", "--output", "v.parquet")
        table = pyarrow.parquet.read_table(folder / "v.parquet")
        list_of = pyarrow.list_(pyarrow.field("element", pyarrow.float32(), nullable=False), dimension)
        schema = pyarrow.schema([pyarrow.field("text", pyarrow.string(), False), pyarrow.field("vector", list_of, False)])
        if not table.schema.equals(schema):
            sys.exit(f"parquet: expected {schema}, found {table.schema}")
        if table["text"].to_pylist() != TEXTS:
            sys.exit(f"parquet: expected the texts that were given, found {table['text'].to_pylist()}")
        numbers = table["vector"].combine_chunks().flatten().to_numpy()
        equal("parquet", numbers.reshape(-1, dimension))


def version_of(*names):
    for name in names:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return f"{names[0]} of unknown version"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clickvec", type=Path)
    parser.add_argument("--without-parquet", action="store_true", help="for a program that was built without it")
    arguments = parser.parse_args()
    program = str(arguments.clickvec.resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(program, folder, "train", "--clicks", str(SHOP / "clicks.tsv"), "--output", "model", "--epochs", "2",
            "--set", "encoder.cells=24", "--set", "seed=1")
        forms = make_forms(folder)
        for form, difference in check_judging(program, folder, forms).items():
            print(f"{form}: every query's numbers within {difference:.1e} of pytrec_eval's")
        print(f"all titles: every query's numbers within {check_searching(program, folder, forms):.1e} of pytrec_eval's")
        check_vectors(program, folder, not arguments.without_parquet)
    print("vectors: the same bits in npy, word2vec" + ("" if arguments.without_parquet else ", parquet") + " and JSON lines")
    tools = [version_of("pytrec-eval-terrier", "pytrec_eval"), version_of("numpy"), version_of("gensim")]
    print("read by " + ", ".join(tools + ([] if arguments.without_parquet else [version_of("pyarrow")])))


if __name__ == "__main__":
    main()
