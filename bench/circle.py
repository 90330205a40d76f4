#!/usr/bin/env python3
"""The whole circle on simulated users: python3 bench/circle.py PROGRAM [--days N] [--searches N]

A model that has learnt from a few clicks is served. Each day users search through the service, look at the titles it shows from
the top down, and click; their clicks are kept by the service. In the evening `prepare` reads the day's clicks, `update` learns
from them and puts a new index in the place of the old one, and the running service takes it. Prints how good the titles for judged
queries are each day, which nobody clicks, and fails if they do not become better or a request is lost.
"""
import argparse
import collections
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

SHOWN = 10
# Users look at place r with probability r^-BIAS.
BIAS, CLICK, NOISE = 0.6, 0.9, 0.02
FIRST_CLICKS = 800
KINDS = ("plain", "synonym", "misspelt")


def rows(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"))) for line in lines[1:]]


class Service:
    def __init__(self, program, folder):
        self.log = open(folder / "serve.log", "w")
        command = [program, "serve", "shop.index", "--listen", "127.0.0.1:0", "--record", "record", "--limit", "watch=0.2"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), (folder / "serve.log").read_text()

    def search(self, query, mode):
        parameters = urllib.parse.urlencode({"q": query, "k": SHOWN, "mode": mode})
        with urllib.request.urlopen(f"{self.url}/search?{parameters}") as answer:
            return json.load(answer)

    def click(self, body):
        request = urllib.request.Request(self.url + "/click", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["rows"]

    def generation(self):
        with urllib.request.urlopen(self.url + "/indexes") as answer:
            return json.load(answer)["indexes"][0]["current"]["generation"]


def quality(service, judged):
    """The mean nDCG@10 of the titles that the service finds by vectors."""
    total = 0.0
    for query, grades in judged.items():
        found = [grades.get(hit["title"], 0) for hit in service.search(query, "vectors")["results"]]
        gain = lambda grades: sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))
        total += gain(found) / gain(sorted(grades.values(), reverse=True)[:SHOWN])
    return total / len(judged)


def day(service, number, wanted, relevant, searches, rng):
    """Users search and click; returns the number of clicks."""
    clicks = 0
    for search in range(searches):
        query = rng.choice(wanted)
        hits = service.search(query, "fused")["results"]
        body = {"query": query, "shown": [hit["id"] for hit in hits], "session": f"{number}-{search}"}
        for place, hit in enumerate(hits, 1):
            looks = rng.random() < place**-BIAS
            if looks and rng.random() < (CLICK if hit["title"] in relevant[query] else NOISE):
                body["id"] = hit["id"]
                clicks += 1
                break
        if body["shown"]:
            assert service.click(body) == len(body["shown"])
    return clicks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--days", type=int, default=5)
    parser.add_argument("--searches", type=int, default=2000)
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).absolute())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run = lambda *command, ok=(0,): check(subprocess.run([program, *map(str, command)], cwd=folder, capture_output=True, text=True), ok)
        run("lab", "simulate", "--output", "world", "--set", "pairs=60000", "--set", "titles=3000", "--set", "seed=5")
        world = folder / "world"
        judged = collections.defaultdict(dict)
        for kind in KINDS:
            for row in rows(world / f"judged-{kind}.tsv"):
                judged[row["query"]][row["title"]] = int(row["grade"])
        judged = {query: grades for query, grades in judged.items() if any(grades.values())}
        relevant, wanted = collections.defaultdict(set), []
        clicks = [row for row in rows(world / "clicks.tsv") if row["query"] not in judged]
        for row in clicks:
            relevant[row["query"]].add(row["title"])
            wanted += [row["query"]] * int(row["count"])
        (folder / "first.tsv").write_text("query\ttitle\n" + "".join(f"{row['query']}\t{row['title']}\n" for row in clicks[:FIRST_CLICKS]))
        run("train", "--clicks", "first.tsv", "--output", "model.safetensors", "--set", "encoder.cells=32", "--epochs", 4, "--set", "batch_size=64")
        run("index", "--model", "model.safetensors", "--titles", "world/titles.tsv", "--output", "shop.index")
        service, rng, qualities, read = Service(program, folder), random.Random(1), [], 0
        lost, searching = [], threading.Event()

        def keep_asking():
            # Nobody may notice that the index is replaced.
            while not searching.is_set():
                try:
                    service.search("desk", "fused")
                except OSError as error:
                    lost.append(str(error))
                time.sleep(0.01)

        asking = threading.Thread(target=keep_asking)
        asking.start()
        try:
            qualities.append(quality(service, judged))
            print(f"day 0  nDCG@10 {qualities[0]:.3f}  {FIRST_CLICKS} clicks from elsewhere", flush=True)
            for number in range(1, args.days + 1):
                clicked = day(service, number, wanted, relevant, args.searches, rng)
                # What came since the evening before; the service goes on writing.
                with open(folder / "record" / "clicks.jsonl", "rb") as log:
                    log.seek(read)
                    lines = log.read()
                assert lines.endswith(b"\n")
                read += len(lines)
                (folder / f"day-{number}.jsonl").write_bytes(lines)
                run("prepare", f"day-{number}.jsonl", "--min-users", 1, "--output", f"day-{number}.tsv")
                days = ["first.tsv", *(f"day-{past}.tsv" for past in range(1, number + 1))]
                before = service.generation()
                done = run("update", "shop.index", "--clicks", *days, "--titles", "world/titles.tsv", "--set", "epochs=3", "--set", "error_rate=1", ok=(0, 1))
                end = time.time() + 60
                while done.returncode == 0 and service.generation() == before:
                    assert time.time() < end, "the new index was not taken: " + (folder / "serve.log").read_text()[-2000:]
                    time.sleep(0.05)
                qualities.append(quality(service, judged))
                told = "a new model" if done.returncode == 0 else "the day is refused"
                print(f"day {number}  nDCG@10 {qualities[-1]:.3f}  {clicked} clicks in {args.searches} searches, {told}", flush=True)
        finally:
            searching.set()
            asking.join()
            service.process.terminate()
            service.process.wait(30)
        assert not lost, lost[:3]
        assert service.process.returncode == 0
        assert qualities[-1] > qualities[0] + 0.05 and qualities[-1] > max(qualities) - 0.05, qualities


def check(done, ok):
    if done.returncode not in ok:
        sys.exit(f"{' '.join(done.args)}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


if __name__ == "__main__":
    main()
