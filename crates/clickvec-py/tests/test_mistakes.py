"""Mistakes that are easily made: each is refused in words that help, or does what was meant."""


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
