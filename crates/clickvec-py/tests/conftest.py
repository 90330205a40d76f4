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
SETTINGS = {"epochs": 2, "cells": 16, "seed": 7}


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


@pytest.fixture
def program():
    """Runs the program in a process of its own."""

    def run(*arguments, status=0):
        command = [sys.executable, "-m", "clickvec", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    return run
