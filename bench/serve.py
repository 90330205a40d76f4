#!/usr/bin/env python3
"""How much a running service answers: python3 bench/serve.py PROGRAM INDEX QUERIES.txt [--seconds N] [--requests N] [--peer NAME:COMMAND]

Starts `clickvec serve` on a copy of the index and lets oha (cargo install oha --locked) ask it queries, one a
line of the file, over 1, 8, 64 and 512 connections. First as fast as it answers, which says how much it can do; then at a fixed rate,
by default 0.7 of that, whether it keeps up or not: a request's time counts from when it should have been sent, so that waiting is
seen. The same while the index is reloaded every second, and while titles are added every second; then at 1.5 times of what it can do.
Last as many requests as --requests says, with the memory at intervals. Prints tables. Any answer but 200, 429 and 503 is a
failure, and so is a connection that breaks. oha and the service share the machine's cores.

--peer also measures another server, which prints its address and answers GET /search?q=…; it may be given several times:

    --peer tantivy:"target/release/serve_tantivy TITLES.tsv"
    --peer sentence-transformers:"python3 bench/serve_peer.py TITLES.tsv"
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

CONNECTIONS = (1, 8, 64, 512)
TOKEN = "a-token-for-administration"
ADDED = 100
# The share of what was answered as fast as possible that is then asked at a fixed rate, and the one that is too much.
SHARE, TOO_MUCH = 0.7, 1.5
MEMORY_EVERY = 20


class Service:
    def __init__(self, command, folder):
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            sys.exit((folder / "log").read_text()[-3000:])

    def get(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return answer.read().decode()

    def post(self, path):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, b"", headers)) as answer:
            return json.load(answer)

    def memory(self):
        """MB in memory: all, and without the pages of mapped files."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return [int(re.search(rf"{name}:\s+(\d+)", status)[1]) // 1024 for name in ("VmRSS", "RssAnon")]

    def processor(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def ask(service, paths, connections, seconds, rate=None):
    """What oha saw: answers with 200 a second, the times of all answers at the 50th and 99th hundredth in ms, the service's
    processor time for an answer in ms, and the number of answers with 429 and 503."""
    urls = paths.with_suffix(".urls")
    urls.write_text("".join(f"{service.url}{path}\n" for path in paths.read_text().splitlines()))
    command = ["oha", "--no-tui", "--output-format", "json", "--urls-from-file", "--redirect", "0", "-c", str(connections)]
    # Without `-w`, what is under way at the end would count as an error.
    command += ["-z", f"{seconds}s", "-w", "-t", "20s"]
    if rate:
        command += ["-q", str(max(1, round(rate))), "--latency-correction"]
    used = service.processor()
    done = subprocess.run([*command, str(urls)], capture_output=True, text=True)
    used = service.processor() - used
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")
    seen = json.loads(done.stdout)
    statuses = {status: int(count) for status, count in seen["statusCodeDistribution"].items()}
    bad = {status: count for status, count in statuses.items() if status not in ("200", "429", "503")}
    assert not bad and not seen["errorDistribution"], (bad, seen["errorDistribution"])
    answers, refused = sum(statuses.values()), statuses.get("429", 0) + statuses.get("503", 0)
    times = [seen["latencyPercentiles"][name] * 1e3 for name in ("p50", "p99")]
    return statuses.get("200", 0) / seen["summary"]["total"], *times, used / max(answers, 1) * 1e3, refused


def row(name, connections, rate, seen):
    answered, p50, p99, used, refused = seen
    offered = f"{rate:9,.0f}" if rate else f"{'as fast':>9}"
    print(f"{name:24} {connections:5} {offered} {answered:9,.1f} {p50:9.2f} {p99:9.2f} {used:11.3f} {refused:8,}", flush=True)


def head():
    print(f"{'':24} {'conn.':>5} {'offered/s':>9} {'200s/s':>9} {'p50 ms':>9} {'p99 ms':>9} {'CPU ms/req':>11} {'429/503':>8}")


def every_second(work):
    """Does the work each second on a thread, and returns what ends that."""
    end, failed = threading.Event(), []

    def run():
        while not end.wait(1):
            try:
                work()
            except Exception as error:
                failed.append(error)
                return

    thread = threading.Thread(target=run)
    thread.start()

    def stop():
        end.set()
        thread.join()
        assert not failed, failed

    return stop


def clickvec(args, paths, folder):
    index, tokens = folder / "shop.index", folder / "tokens"
    shutil.copytree(args.index, index)
    tokens.write_text(f"admin {TOKEN}\n")
    serve = [args.program, "serve", index, "--listen", "127.0.0.1:0", "--tokens", tokens, "--limit", "watch=0.5"]
    began = time.perf_counter()
    service = Service(serve, folder)
    service.get(paths.read_text().split("\n", 1)[0])
    print(f"first answer {time.perf_counter() - began:.2f} s after the start")
    fields = (index / "titles.tsv").open(encoding="utf-8").readline().rstrip("\n").split("\t")
    numbers = iter(range(1 << 30))

    def add(count):
        new = folder / "new.tsv"
        lines = ["\t".join([f"new{next(numbers)}", f"Oak table with {place} drawers", *["0"] * (len(fields) - 2)]) for place in range(count)]
        new.write_text("\n".join(["\t".join(fields), *lines]) + "\n", encoding="utf-8")
        subprocess.run([args.program, "update", index, "--add", new], check=True, capture_output=True)

    def reload():
        add(1)
        service.post("/admin/reload")

    try:
        if not args.only_requests:
            head()
            rates = {}
            for connections in CONNECTIONS:
                seen = ask(service, paths, connections, args.seconds)
                row("steady", connections, None, seen)
                rates[connections] = args.rate or seen[0] * SHARE
                row("steady", connections, rates[connections], ask(service, paths, connections, args.seconds, rates[connections]))
            for name, work in [("reloaded every second", reload), (f"{ADDED} titles a second", lambda: add(ADDED))]:
                for connections in CONNECTIONS:
                    stop = every_second(work)
                    try:
                        row(name, connections, rates[connections], ask(service, paths, connections, args.seconds, rates[connections]))
                    finally:
                        stop()
            too_much = rates[CONNECTIONS[-1]] / SHARE * TOO_MUCH
            row("too much", CONNECTIONS[-1], too_much, ask(service, paths, CONNECTIONS[-1], args.seconds, too_much))
        if args.requests:
            memory(args, service, paths)
    finally:
        status = service.stop()
    assert status == 0, status


def memory(args, service, paths):
    """Prints the memory while many requests are answered."""
    connections, asked, began = 64, 0, time.perf_counter()
    print(f"{'requests':>12} {'seconds':>8} {'MB':>6} {'without maps':>12}")
    while True:
        total, anonymous = service.memory()
        print(f"{asked:12,} {time.perf_counter() - began:8.0f} {total:6,} {anonymous:12,}", flush=True)
        if asked >= args.requests:
            return
        start = time.perf_counter()
        seen = ask(service, paths, connections, MEMORY_EVERY)
        asked += round(seen[0] * (time.perf_counter() - start)) + seen[4]


def peer(args, name, command, paths, folder):
    """The same of another server."""
    service = Service(shlex.split(command), folder)
    try:
        service.get(paths.read_text().split("\n", 1)[0])
        for connections in CONNECTIONS[:3]:
            seen = ask(service, paths, connections, args.seconds)
            row(name, connections, None, seen)
            rate = seen[0] * SHARE
            row(name, connections, rate, ask(service, paths, connections, args.seconds, rate))
    finally:
        service.process.kill()
        service.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("index", type=pathlib.Path)
    parser.add_argument("queries", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=float, help="requests a second, instead of a share of what is possible")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--only-requests", action="store_true", help="nothing but --requests")
    parser.add_argument("--mode", default="fused", help="fused, vectors or words; all asks them in turn")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME:COMMAND")
    parser.add_argument("--only-peers", action="store_true", help="nothing but --peer")
    args = parser.parse_args()
    if not shutil.which("oha"):
        sys.exit("error: expected `oha` on the path, found none; run cargo install oha --locked")
    with tempfile.TemporaryDirectory(dir=args.index.absolute().parent) as folder:
        folder = pathlib.Path(folder)
        paths = folder / "paths"
        lines = [line for line in args.queries.read_text(encoding="utf-8").splitlines() if line.strip()]
        modes = ["fused", "vectors", "words"] if args.mode == "all" else [args.mode]
        path = lambda number, line: f"/search?{urllib.parse.urlencode({'q': line, 'mode': modes[number % len(modes)]})}\n"
        paths.write_text("".join(path(number, line) for number, line in enumerate(lines)))
        if not args.only_peers:
            clickvec(args, paths, folder)
        if args.peer:
            head()
        for given in args.peer:
            peer(args, *given.split(":", 1), paths, folder)


if __name__ == "__main__":
    main()
