"""Mistakes that are easily made: each is refused in words that help, or does what was meant."""

import subprocess
import sys

import pytest
from conftest import SHOP

import clickvec
from clickvec import rankers

JUDGED, TITLES, CLICKS = SHOP / "judged.tsv", SHOP / "titles.tsv", SHOP / "clicks.tsv"
QUICK = {"cells": 4, "epochs": 1, "held_out": 0, "progress": False}


def test_every_error_about_a_value_is_ours(model, tmp_path):
    pandas = pytest.importorskip("pandas")
    for wrong in (
        lambda: clickvec.train([("a", "b", -1)], **QUICK),
        lambda: clickvec.train(pandas.DataFrame({"query": ["a"]}), **QUICK),
        lambda: clickvec.evaluate(["bm25", "bm25"], JUDGED),
        lambda: rankers.Fusion([model], weights=[1, 2]),
        lambda: clickvec.set_threads(5000),
    ):
        with pytest.raises(clickvec.Error):
            wrong()
    with pytest.raises(FileNotFoundError) as raised:
        clickvec.prepare(tmp_path / "nope.csv", tmp_path / "o")
    assert isinstance(raised.value, clickvec.Error) and raised.value.filename == str(tmp_path / "nope.csv")
    with pytest.raises(FileNotFoundError) as raised:
        model.save(tmp_path / "none" / "x")
    assert isinstance(raised.value, clickvec.FileError) and raised.value.errno == 2


SCRIPT = """
import sys, time, threading, os, signal, clickvec
model = clickvec.load(sys.argv[1])
clickvec.set_threads(1)
texts = [f"red shoes {number} for {number // 7}" for number in range(int(sys.argv[3]))]
work = {"encode": model.encode, "search": lambda texts: clickvec.Searcher(model, texts)}[sys.argv[2]]
threading.Timer(0.2, lambda: (print(time.monotonic(), flush=True), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    work(texts)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """The file of a model that encodes slowly."""
    path = tmp_path_factory.mktemp("slow") / "m.safetensors"
    clickvec.train([("red shoes", "shoes for all")] * 9, path, **{**QUICK, "cells": 512})
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="no signals here")
@pytest.mark.parametrize("work", ["encode", "search"])
def test_ctrl_c_ends_the_first_work_of_a_process(work, slow):
    command = [sys.executable, "-c", SCRIPT, str(slow), work, "120000"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    pressed, raised = map(float, done.stdout.split())
    # The whole takes some 9 s, what is encoded between two looks a few tenths.
    assert raised - pressed < 4
