"""The program that comes with the wheel, and the commands that run it."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import warnings

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
    with pytest.raises(clickvec.ProgramError, match="unexpected argument '--item-colum'"):
        clickvec.prepare(SHOP / "log.csv", output, item_colum="sku")


def test_simulate(tmp_path):
    settings = dict(set={"pairs": 500, "titles": 300, "judged": 5, "validation": 5, "seed": 3})
    first = clickvec.simulate(tmp_path / "a", **settings)
    clickvec.simulate(tmp_path / "b", **settings)
    assert first["pairs"] == 500
    for name in os.listdir(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_table(tmp_path):
    spec = tmp_path / "spec.toml"
    shutil.copy(ROOT / "specs" / "quick.toml", spec)
    data = dict(judged=SHOP / "judged.tsv", clicks=SHOP / "clicks.tsv", titles=SHOP / "titles.tsv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = clickvec.table(spec, cache=tmp_path / "cache", **data)
        again = clickvec.table(spec, cache=tmp_path / "cache", **data)
    assert [system["name"] for system in made["systems"]] == [system["name"] for system in again["systems"]]
    assert made["tests"] == again["tests"] != []
    with pytest.raises(FileNotFoundError, match="spec"):
        clickvec.table(tmp_path / "no spec.toml")
