"""Explanations."""

import numpy as np
import pytest
from conftest import FROZEN

import clickvec


def test_words_and_score(model):
    why = model.explain("red <b>shoes</b>", "shoes & more")
    score = model.similarity(model.encode_query("red <b>shoes</b>"), model.encode_title("shoes & more"))
    assert np.isclose(why.score, score[0, 0], atol=1e-6)
    assert [word.word for word in why.title_words] == ["shoes", "more"]
    assert np.isclose(sum(word.along for word in why.query_words), why.score, atol=1e-5)
    assert np.isclose(sum(pair.share for pair in why.pairs), why.score, atol=1e-5)
    page = why._repr_html_()
    assert "<b>shoes" not in page and "score" in page
    # Where colours are not shown, numbers are.
    assert all(f"{word.word}&nbsp;<small>{word.without:+.2f}</small>" in page for word in why.title_words)
    assert str(why).startswith("score")


def test_without_words(model):
    why = model.explain("", "shoes")
    assert why.score == 0 and why.query_words == [] and why._repr_html_()


def test_what_is_no_text(model):
    with pytest.raises(TypeError, match="query: expected a text, found NoneType"):
        model.explain(None, "shoes")
    with pytest.raises(TypeError, match="title: expected a text, found float"):
        model.explain("shoes", float("nan"))


def test_every_encoder():
    for path in sorted(FROZEN.glob("*.safetensors")):
        if clickvec._clickvec.load_ranker(str(path))[1] == "model":
            assert clickvec.load(path).explain("oak vanity", "vanity")._repr_html_()
