"""The program that comes with the wheel, and the commands that run it."""

import os
import signal
import subprocess
import sys
import sysconfig
import warnings

import numpy as np
import pytest
from conftest import ROOT, SHOP

import clickvec


def test_the_program_is_installed(program):
    assert program("--version").stdout.strip() == f"clickvec {clickvec.__version__}"
    script = os.path.join(sysconfig.get_path("scripts"), "clickvec")
    if os.path.exists(script):
        done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"clickvec {clickvec.__version__}"


def test_exit_statuses(program, tmp_path):
    usage = program("train", status=2)
    assert "error:" in usage.stderr and "Usage: clickvec train" in usage.stderr
    assert "no such" in program("inspect", tmp_path / "no such", status=2).stderr
    command = [sys.executable, "-m", "clickvec", "evaluate", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.wait() == 0 and process.stderr.read() == ""


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="no signals here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(number, tmp_path):
    arguments = ["train", "--clicks", SHOP / "clicks.tsv", "--output", tmp_path / "model", "--epochs", "100000", "--json"]
    command = [sys.executable, "-m", "clickvec", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert '"event":"log"' in process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert not (tmp_path / "model").exists()


def test_prepare(tmp_path):
    output = tmp_path / "clicks.tsv"
    report = clickvec.prepare(SHOP / "log.csv", output, columns="item=sku", titles=SHOP / "titles.tsv")
    assert report["training"]["pairs"] == 1031 and output.exists()
    assert clickvec.train(output, encoder={"cells": 4}, epochs=1, progress=False).dimension == 4
    with pytest.raises(FileNotFoundError, match="no such file"):
        clickvec.prepare(tmp_path / "no such file", output)
    with pytest.raises(TypeError, match="unexpected keyword argument 'item_colum'"):
        clickvec.prepare(SHOP / "log.csv", output, item_colum="sku")
    with pytest.raises(clickvec.Error, match="^min_users: expected a whole number from 1 to 1000, found `x`$"):
        clickvec.prepare(SHOP / "log.csv", output, min_users="x")
    (tmp_path / "bad.csv").write_text("query,title,time\na,b,yesterday\n")
    with pytest.raises(clickvec.Error, match="expected at most 1 % broken rows, found 1 of 1 row .*allow more as `max_bad`$"):
        clickvec.prepare(tmp_path / "bad.csv", output)


def test_what_a_log_loses_is_a_warning(tmp_path):
    (tmp_path / "log.csv").write_text("query,title,visitor\na,b,u\nc,d,v\n")
    page, told = tmp_path / "report.html", []
    with pytest.warns(UserWarning, match="^`visitor` may identify users and is not used; name one as `user=NAME` in `columns`$") as warned:
        clickvec.prepare(tmp_path / "log.csv", tmp_path / "clicks.tsv", report=page, progress=told.append)
    assert warned[0].filename == __file__ and not told
    assert page.read_text().startswith("<!doctype html>")
    for output, words in (("log.csv", "an output that is not an input"), ("report.html", "to replace, found another file")):
        with pytest.raises(clickvec.Error, match=words):
            clickvec.prepare(tmp_path / "log.csv", tmp_path / output)
    with pytest.raises(clickvec.Error, match=r"raise `min_users`, or leave `private` out$"):
        clickvec.prepare(tmp_path / "log.csv", tmp_path / "o", columns={"user": "visitor"}, private=True, min_users=1)
    with pytest.raises(clickvec.Error, match=r"^keep: expected case or personal, found `all`$"):
        clickvec.prepare(tmp_path / "log.csv", tmp_path / "o", keep="all")
    # Numbers of NumPy, and limits as numbers.
    several = dict(columns={"user": "visitor"}, min_users=np.int64(1), max_queries=0, keep=["case", "personal"], max_bad="2%")
    assert clickvec.prepare([tmp_path / "log.csv"], tmp_path / "o", **several)["training"]["pairs"] == 2


def test_simulate(tmp_path):
    settings = dict(settings={"pairs": 500, "titles": 300, "judged": 5, "validation": 5, "seed": 3})
    first = clickvec.simulate(tmp_path / "a", **settings)
    clickvec.simulate(tmp_path / "b", **settings)
    assert first["pairs"] == 500
    own = {"id": range(300), "title": [f"sofa {number} of oak {number % 7}" for number in range(300)]}
    few = {"pairs": 200, "judged": 2, "validation": 2, "seed": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert clickvec.simulate(tmp_path / "own", titles=own, settings=few)["titles"] == 300
    with pytest.raises(clickvec.Error, match="pairz"):
        clickvec.simulate(tmp_path / "c", settings={"pairz": 1})
    for name in os.listdir(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_table(tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        """
        [[system]]
        name = "BM25"
        ranker = "bm25"
        [[system]]
        name = "DSSM"
        train = { encoder.kind = "dssm", encoder.layers = [16, 8], epochs = 1 }
        """
    )
    data = dict(judged=SHOP / "judged.tsv", clicks=SHOP / "clicks.tsv", titles=SHOP / "titles.tsv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = clickvec.table(spec, cache=tmp_path / "cache", **data)
        again = clickvec.table(spec, cache=tmp_path / "cache", **data)
    assert [system["name"] for system in made["systems"]] == [system["name"] for system in again["systems"]]
    assert made["tests"] == again["tests"] != []
    with pytest.raises(clickvec.Error, match="^expected a system of the table, found `bm25`; name another as `against`$"):
        clickvec.table(spec, cache=tmp_path / "cache", against="bm25", **data)
    two = clickvec.table(rankers=["bm25", "trigram"], cache=tmp_path / "two", output=tmp_path / "two.md", judged=data["judged"])
    assert [system["name"] for system in two["systems"]] == ["bm25", "trigram"]
    assert "| bm25 |" in (tmp_path / "two.md").read_text()
    with pytest.raises(clickvec.Error, match="^expected a spec or rankers, found neither$"):
        clickvec.table(judged=data["judged"])
    with pytest.raises(FileNotFoundError, match="spec"):
        clickvec.table(tmp_path / "no spec.toml")
