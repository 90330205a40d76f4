"""What the program does to files, as functions: the same results."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
from conftest import FROZEN, SHOP

import clickvec

JUDGED, TITLES, CLICKS = SHOP / "judged.tsv", SHOP / "titles.tsv", SHOP / "clicks.tsv"


@pytest.fixture(scope="module")
def index(model, tmp_path_factory):
    return clickvec.Index.encode(model, TITLES, tmp_path_factory.mktemp("index") / "all.index")


def test_evaluating_in_the_whole_collection(model, index, program, tmp_path):
    found = clickvec.evaluate([index, "bm25", model], JUDGED, titles=TITLES, full=50, output=tmp_path / "ours")
    arguments = [index.path, "bm25", model.path, "--judged", JUDGED, "--titles", TITLES, "--full=50", "--json", "--output", tmp_path / "theirs"]
    theirs = json.loads(program("evaluate", *arguments).stdout)
    assert found.metrics == theirs["metrics"] and "recall@100" not in found.metrics
    # The model has one name here and there: that of its file.
    for system, expected in zip(found.systems, theirs["systems"], strict=True):
        assert found.means[system] == {name: expected[name] for name in found.metrics}, system
    names = sorted(os.listdir(tmp_path / "ours"))
    assert names == sorted(os.listdir(tmp_path / "theirs")) and "bm25.run" in names
    for name in names:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    run = tmp_path / "ours" / "bm25.run"
    back = clickvec.evaluate([run], JUDGED, titles=TITLES, full=True, measures=["ndcg@10", "recall@100"])
    assert back.metrics == ["ndcg@10", "recall@100"]
    assert back.means["bm25"]["ndcg@10"] == found.means["bm25"]["ndcg@10"]
    assert "recall@100" in str(back)
    with pytest.raises(clickvec.Error, match="lists of at least 100 titles for `recall@100`, found 50; set `full` to 100"):
        clickvec.evaluate(["bm25"], JUDGED, titles=TITLES, full=50, measures="recall@100")
    with pytest.raises(clickvec.Error, match="a run or an index to search a collection, found a function"):
        clickvec.evaluate([lambda query, titles: np.zeros(len(titles))], JUDGED, titles=TITLES, full=True)
    with pytest.raises(clickvec.Error, match="expected a model, found an index; add `full`"):
        clickvec.evaluate([index], JUDGED)


def test_updating_a_model(program, tmp_path):
    lines = CLICKS.read_text(encoding="utf-8").splitlines()
    first, second = [lines[0], *lines[1::2]], [lines[0], *lines[2::2]]
    for name, day in (("1.tsv", first), ("2.tsv", second)):
        (tmp_path / name).write_text("\n".join(day) + "\n", encoding="utf-8")
    days = [tmp_path / "1.tsv", tmp_path / "2.tsv"]
    for target in ("ours.safetensors", "theirs.safetensors"):
        clickvec.train(days[0], tmp_path / target, epochs=1, encoder={"cells": 8}, seed=1, progress=False)
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    events = []
    report = clickvec.update(ours, days, TITLES, trust_clicks=True, settings={"error_rate": 1}, progress=events.append)
    arguments = ["--clicks", *days, "--titles", TITLES, "--trust-clicks", "--set", "error_rate=1", "--json"]
    expected = json.loads(program("update", theirs, *arguments).stdout)
    assert report["promoted"] and report["fingerprint"] == expected["fingerprint"] == clickvec.load(ours).fingerprint
    assert ours.read_bytes() == theirs.read_bytes()
    assert {event["event"] for event in events} >= {"epoch"}
    with pytest.raises(TypeError, match="^clicks: expected a list of logs, one for each day, found dict"):
        clickvec.update(ours, {"query": ["a"], "title": ["b"]}, TITLES)
    with pytest.raises(clickvec.Error, match="half_life"):
        clickvec.update(ours, days, TITLES, settings={"half_life": 0})


def ask(address, **step):
    request = urllib.request.Request(address + "step", json.dumps(step).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def test_judging(index, tmp_path):
    queries = [("grey sofa", 3), ("desk lamp", 1)]
    how = {"sheet": tmp_path / "sheet.tsv", "write": {"quepid": tmp_path / "ratings.csv"}}
    rows = {"query": [query for query, _ in queries], "count": [count for _, count in queries]}
    drawn = clickvec.judge(index, "bm25", rows, page=False, **how)
    assert drawn.finding == "open" and {row.query for row in drawn.rows} == {"grey sofa", "desk lamp"}
    assert all(row.grade is None and row.title for row in drawn.rows)

    def grade(event):
        if event["event"] != "page":
            return

        def person():
            for row in drawn.rows:
                ask(event["address"], step="grade", query=row.query, id=row.id, grade=4 if row.query.split()[1] in row.title else 0)
            ask(event["address"], step="finish")

        threading.Thread(target=person).start()

    verdict = clickvec.judge(index, "bm25", rows, progress=grade, **how)
    assert verdict.queries == 2 and list(verdict.systems) == ["all", "bm25"]
    assert all(row.grade in (0, 4) for row in verdict.rows) and verdict.sheet == str(tmp_path / "sheet.tsv")
    assert "difference of NDCG@10" in str(verdict) and (tmp_path / "ratings.csv").exists()
    with pytest.raises(clickvec.Error, match="another system to compare with, found the index itself; name another as `against`"):
        clickvec.judge(index, index, rows, **how)


@pytest.mark.skipif(sys.platform == "win32", reason="no signals here")
def test_ctrl_c_ends_the_page(index, tmp_path):
    code = (
        f"import clickvec\nfound = clickvec.judge({index.path!r}, 'bm25', {{'query': ['grey sofa']}}, sheet={str(tmp_path / 's.tsv')!r})\n"
        "print(found.finding)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[1]
        assert ask(address, step="look")["query"] == "grey sofa"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10)[0] == "open\n" and process.returncode == 0


def test_exporting(model, index, program, tmp_path):
    for which in ("ours", "theirs"):
        (tmp_path / which).mkdir()
    for form in ("pgvector", "qdrant", "opensearch", "elasticsearch", "onnx", "parquet", "svmrank"):
        source = model if form == "onnx" else index
        judged = {"judged": JUDGED} if form == "svmrank" else {}
        report = clickvec.export(source, tmp_path / "ours" / form, form, name="shop", **judged)
        options = ["--judged", JUDGED] if judged else []
        command = ["export", source.path, "--to", form, "--name", "shop", "--output", tmp_path / "theirs" / form, "--json", *options]
        expected = json.loads(program(*command).stdout)
        assert report == {name: value for name, value in expected.items() if name != "output"}, form
        if form != "parquet":
            for name in os.listdir(tmp_path / "theirs" / form):
                files = [tmp_path / which / form / name for which in ("ours", "theirs")]
                assert files[0].read_bytes() == files[1].read_bytes(), files
    with pytest.raises(clickvec.Error, match="name: expected at most 48 lowercase letters.*, found `a-b`"):
        clickvec.export(index, tmp_path / "o", "qdrant", name="a-b")
    with pytest.raises(clickvec.Error, match="expected a form of pgvector, .*, found `solr`"):
        clickvec.export(index, tmp_path / "o", "solr")
    with pytest.raises(clickvec.Error, match="expected judged titles, because .* found none; name them as `judged`"):
        clickvec.export(index, tmp_path / "o", "svmrank")


def test_inspecting(model, index, program, tmp_path):
    (tmp_path / "bad.tsv").write_text("query\ttitle\tgrade\na\tb\t99\n")
    files = [SHOP / "log.csv", TITLES, CLICKS, JUDGED, model.path, index.path, tmp_path / "bad.tsv", FROZEN / "lstm.safetensors"]
    found = clickvec.inspect(*files)
    done = program("inspect", *files, "--json", status=1).stdout.splitlines()
    for one, expected in zip(found, map(json.loads, done), strict=True):
        assert {"file": one.path, "kind": one.kind, "next": one.next, **one.facts} == expected
    assert [one.is_well for one in found] == [True] * 6 + [False, True]
    assert "\n".join(map(str, found)) == program("inspect", *files, status=1).stdout.rstrip()
    with pytest.raises(FileNotFoundError):
        clickvec.inspect(tmp_path / "no such file")
