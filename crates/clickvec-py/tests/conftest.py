"""What the tests share: the invented shop, and a small model of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clickvec

ROOT = Path(os.environ.get("CLICKVEC_ROOT", Path(__file__).resolve().parents[3]))
SHOP = ROOT / "testdata" / "shop"
FROZEN = ROOT / "testdata" / "frozen" / "format-1"
SETTINGS = {"epochs": 2, "encoder": {"cells": 16}, "seed": 7}


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A small model with a file."""
    path = tmp_path_factory.mktemp("model") / "shop.safetensors"
    return clickvec.train(SHOP / "clicks.tsv", path, progress=False, **SETTINGS)


@pytest.fixture(scope="session")
def titles():
    """The shop's titles, as (id, title)."""
    lines = (SHOP / "titles.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [tuple(line.split("\t")[:2]) for line in lines]


@pytest.fixture(scope="session")
def program():
    """Runs the program in a process of its own."""

    def run(*arguments, status=0):
        command = [sys.executable, "-m", "clickvec", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture(scope="session")
def raw_log(tmp_path_factory):
    """A raw log of invented searches with positions, users, a robot and what logs have instead of users; and its folder, in
    which there is also a table of the titles."""
    folder = tmp_path_factory.mktemp("raw")
    clickvec.simulate(folder / "world", settings={"pairs": 6000, "titles": 500, "judged": 5, "validation": 5, "impressions": True, "seed": 5})
    (folder / "titles.tsv").write_bytes((folder / "world" / "titles.tsv").read_bytes())
    lines = (folder / "world" / "log.tsv").read_text(encoding="utf-8").splitlines()
    names = lines[0].split("\t")
    rows = []
    for number, line in enumerate(lines[1:]):
        row = dict(zip(names, line.split("\t"), strict=True))
        who, query = row["user"], row["query"]
        if number % 50 == 0:
            who, query = ("NULL", "-", "0", "Anonymous", "", "\\N")[number // 50 % 6], f"  {query.upper()}  "
        if number % 61 == 0:
            query = query.replace(" ", "   ")
        if number % 97 == 0:
            row["id"] = f"gone{number}"
        rows.append((query, row["id"], row["position"], row["clicked"], who, row["time"]))
    robot = [(f"{rows[0][0]} {number}", rows[0][1], "1", "1", "robot", "2026-03-02T10:00:00Z") for number in range(300)]
    log = folder / "log.tsv"
    head = "query\titem\tposition\tclicked\twho\ttime\n"
    log.write_text(head + "".join("\t".join(row) + "\n" for row in [*rows, *robot]), encoding="utf-8")
    return log, folder
