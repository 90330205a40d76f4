#!/usr/bin/env python3
"""Kill the program at its system calls, and fill its disk: python3 bench/check_faults.py PROGRAM [--most N] [--only PART]

An index is built, replaced, updated and compacted, a model is exported over another, and clicks are kept. Each time, strace kills
the program at one of the calls that change files (the first, the second, ...), or lets the call fail for want of space. What was
there before must still answer, what was acknowledged must be there, and the next try must succeed and leave nothing behind. As root
also on a file system of a few hundred KiB. Needs strace, and a system that lets it trace. N bounds the places that are tried for
each kind of call. PART is changes, export, disk or clicks.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).parent.parent
MODEL, NEW, OLD = (ROOT / "testdata" / "frozen" / "format-1" / f"{name}.safetensors" for name in ("lstm", "bilstm", "gru"))
CALLS = ["rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "fsync", "fdatasync",
         "ftruncate", "write", "pwrite64"]


def run(command, folder, **more):
    return subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, **more)


def traced(command, *options):
    return ["strace", "-f", "-qq", "--seccomp-bpf", *options, *command]


class Work:
    """An index and what is done to it."""

    output, last = "shop.index", "manifest.json"

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        lines = (ROOT / "testdata" / "shop" / "titles.tsv").read_text().splitlines()
        (folder / "titles.tsv").write_text("\n".join(lines[:100]) + "\n")
        (folder / "other.tsv").write_text("\n".join(lines[:1] + lines[60:]) + "\n")
        # Few enough that the update is not compacted by itself.
        (folder / "new.tsv").write_text(lines[0] + "\n" + "\n".join(f"{line} anew" for line in [*lines[1:10], *lines[110:115]]) + "\n")
        index = [program, "index", "--output", "shop.index"]
        build = [*index, "--model", MODEL, "--titles"]
        self.commands = {
            "first build": (None, [*build, "titles.tsv"]),
            "build in place of another": ("built", [*build, "other.tsv"]),
            "update": ("built", [program, "update", "shop.index", "--add", "new.tsv"]),
            "compaction": ("updated", [program, "update", "shop.index", "--compact"]),
        }
        self.done(self.commands["first build"][1])
        shutil.copytree(folder / "shop.index", folder / "built")
        self.done(self.commands["update"][1])
        shutil.copytree(folder / "shop.index", folder / "updated")

    def done(self, command):
        finished = run(command, self.folder)
        assert finished.returncode == 0, (command, finished.stderr)

    def begin(self, start):
        shutil.rmtree(self.folder / self.output, ignore_errors=True)
        if start:
            shutil.copytree(self.folder / start, self.folder / self.output)

    def answer(self):
        """What a search finds; None if there is no index."""
        if not (self.folder / "shop.index").exists():
            return None
        found = run([self.program, "search", "shop.index", "--mode", "fused", "--json", "-k", "20", "white wool rug"], self.folder)
        assert found.returncode == 0 and not found.stderr, found.stderr
        return found.stdout

    def places(self, start, command):
        """How often each kind of call is made, at most by one thread: strace counts for each."""
        self.begin(start)
        log = self.folder / "calls"
        self.done(traced(command, "-o", log, "-e", "trace=" + ",".join(CALLS)))
        made = collections.Counter(re.findall(r"^(\d+) +(\w+)\(", log.read_text(), re.M))
        return {name: max((n for (_, call), n in made.items() if call == name), default=0) for name in CALLS}

    def check(self, what, before, after, again, command):
        now = self.answer()
        assert now in (before, after), f"{what}: another answer than before and after"
        # The next try is not disturbed by what was left. It is a second one if the first was done: BM25 counts titles that an
        # update replaced until the index is compacted, so scores may differ.
        self.done(command)
        assert self.answer() == (again if now == after else after), f"{what}: another answer after the next try"
        left = [path for path in self.folder.rglob("*") if path.name.startswith(".clickvec") or ".tmp" in path.name]
        assert not left, f"{what}: {left}"
        return now == after


class Export(Work):
    """An export of a model's graphs, which must be those of one model, and the code that goes with them."""

    output, last = "graphs", "export.json"

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        export = [program, "export", "--to", "onnx", "--output", "graphs"]
        self.commands = {"first export": (None, [*export, NEW]), "export in place of another": ("exported", [*export, NEW])}
        self.done([*export, OLD])
        (folder / "graphs").rename(folder / "exported")

    def answer(self):
        """The bytes of each file; None if there is no folder."""
        folder = self.folder / "graphs"
        return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else None


def spread(count, most):
    """At most `most` of 1 to `count`, with the first and the last."""
    return sorted({1 + place * (count - 1) // max(most - 1, 1) for place in range(min(most, count))} | ({count} if count else set()))


def check_changes(work, most):
    for name, (start, command) in work.commands.items():
        places = work.places(start, command)
        after = work.answer()
        work.done(command)
        again = work.answer()
        work.begin(start)
        before = work.answer()
        cases = [(f"{call}:{{}}:when={place}", []) for call, count in places.items() for place in spread(count, most)]
        # The last step is on another thread than the writing of words, whose calls would be counted first.
        cases += [(f"{call}:{{}}", ["-P", path]) for call in ("rename", "renameat2") for path in (work.output, f"{work.output}/{work.last}")]
        tried, ended = 0, 0
        for case, more in cases:
            for fault in ["signal=KILL", "error=ENOSPC"]:
                # What is printed is no file.
                if "error" in fault and case.startswith("unlink"):
                    continue
                work.begin(start)
                done = run(traced(command, "-o", "/dev/null", "-e", "inject=" + case.format(fault), *more), work.folder)
                what = f"{name}, {fault} at {case}"
                assert "panicked" not in done.stderr, (what, done.stderr)
                tried += 1
                is_after = work.check(what, before, after, again, command)
                if "error" in fault:
                    assert done.returncode in (0, 2), (what, done.returncode, done.stderr)
                assert is_after or done.returncode != 0, f"{what}: it said that it was done, and it was not"
                ended += is_after
        print(f"{name}: {tried} faults; the new one was there after {ended}, the old one after {tried - ended}", flush=True)


def check_export(work, most):
    folder = work.folder / "export"
    folder.mkdir()
    check_changes(Export(work.program, folder), most)


def check_disk(work):
    """On a file system that is too small."""
    place = work.folder / "small"
    place.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", place], work.folder).returncode != 0:
        print("NOT TRIED: a small file system, because this user may not mount one")
        return
    try:
        inner = Work(work.program, place)
        for name, (start, command) in inner.commands.items():
            inner.begin(start)
            before, failed = inner.answer(), 0
            inner.done(command)
            after = inner.answer()
            for free in range(0, 2_000_000, 80_000):
                inner.begin(start)
                ballast = place / "ballast"
                ballast.write_bytes(b"")
                size = shutil.disk_usage(place).free - free
                subprocess.run(["fallocate", "-l", str(max(size, 1)), str(ballast)], check=True)
                done = run(command, place)
                ballast.unlink()
                assert done.returncode in (0, 2) and "panicked" not in done.stderr, (name, free, done.stderr)
                assert inner.answer() == (after if done.returncode == 0 else before), (name, free, done.stderr)
                failed += done.returncode == 2
            assert failed, f"{name}: the disk was never full"
            print(f"{name}: the disk was full {failed} times, and the old one was there", flush=True)
    finally:
        run(["umount", place], work.folder)


def check_clicks(work, most):
    """Every click that was acknowledged is in the log, whatever happens."""
    work.begin("built")
    ids = [line.split("\t")[0] for line in (work.folder / "titles.tsv").read_text().splitlines()[1:]]
    tried, lost, kept = 0, 0, 0
    # So often each is made while a dozen posts are kept in files of 1 MiB.
    for call, count in {"write": 12, "fdatasync": 12, "ftruncate": 12, "rename": 3, "openat": 3}.items():
        for place in spread(count, most):
            logs = work.folder / "logs"
            shutil.rmtree(logs, ignore_errors=True)
            logs.mkdir()
            serve = [work.program, "serve", "shop.index", "--listen", "127.0.0.1:0", "--limit", "watch=0", "--limit", "clicks=1048576",
                     "--record", "logs"]
            inject = f"inject={call}:signal=KILL:when={place}"
            # Calls on other files, and on connections, are not counted.
            paths = [part for path in [logs / "clicks.jsonl", "logs/clicks.jsonl", logs] for part in ("-P", path)]
            command = [str(part) for part in traced(serve, "-o", "/dev/null", *paths, "-e", inject)]
            process = subprocess.Popen(command, cwd=work.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
            url = process.stdout.readline().strip()
            acknowledged = []
            for number in range(12 if url else 0):
                # Each row has the query: some 400 KB a post, so that a file is full after two.
                body = json.dumps({"query": f"query {number} " + "x" * 4000, "shown": ids, "id": ids[number]}).encode()
                request = urllib.request.Request(url + "/click", body, {"Content-Type": "application/json"})
                try:
                    with urllib.request.urlopen(request, timeout=20) as answer:
                        assert json.load(answer)["rows"] == len(ids)
                    acknowledged.append(number)
                except urllib.error.HTTPError as error:
                    # Refused by a service that is alive: nothing would be tested.
                    raise AssertionError(f"clicks: {error.code} {error.read().decode()}") from error
                except OSError:
                    break
            tried += 1
            # strace ends a moment after what it traces, so its end says nothing yet.
            lost += len(acknowledged) < 12
            # strace and what it traces; without strace it would go on.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            # The next one mends what was torn.
            again = subprocess.Popen([str(part) for part in serve], cwd=work.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            again.stdout.readline()
            again.terminate()
            assert again.wait(30) == 0
            rows = [json.loads(line) for path in logs.iterdir() for line in path.read_text().splitlines()]
            found = collections.Counter(int(row["query"].split()[1]) for row in rows)
            for number in acknowledged:
                assert found[number] == len(ids), f"{call} {place}: {found[number]} rows of click {number}"
            kept += len(acknowledged)
    assert lost > tried // 2, f"clicks: killed only {lost} times in {tried}"
    assert kept, "clicks: no post was acknowledged, so nothing was tested"
    print(f"clicks: killed {lost} times in {tried}; all of {kept} acknowledged posts were there", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--most", type=int, default=6)
    parts = {"changes": check_changes, "export": check_export, "disk": lambda work, _: check_disk(work), "clicks": check_clicks}
    parser.add_argument("--only", choices=parts)
    args = parser.parse_args()
    if not shutil.which("strace") or run(["strace", "-o", "/dev/null", "true"], ".").returncode != 0:
        sys.exit("error: expected `strace` and a system that lets it trace, found none; install it and run again")
    with tempfile.TemporaryDirectory() as folder:
        work = Work(str(pathlib.Path(args.program).absolute()), pathlib.Path(folder))
        for name, check in parts.items():
            if args.only in (None, name):
                check(work, args.most)


if __name__ == "__main__":
    main()
