"""`clickvec export --to onnx`: onnxruntime gives the vectors of the model, from rows that Python and JavaScript find."""

import importlib.util
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import SHOP

import clickvec

ENCODERS = {
    "lstm": {"encoder": {"cells": 16}},
    "forget": {"encoder": {"cells": 16, "forget_gate": True}},
    "diagonal": {"encoder": {"cells": 16, "peephole": "diagonal"}},
    "both": {"encoder": {"cells": 16, "peephole": "diagonal", "forget_gate": True}},
    "stacked": {"encoder": {"kind": "stacked", "layers": [16, 12]}},
    "members": {"encoder": {"kind": "members", "cells": 8, "members": 3}},
    "projected": {"encoder": {"kind": "members", "cells": 8, "members": 3, "dimension": 10}},
    "bilstm": {"encoder": {"kind": "bilstm", "cells": 12}},
    "gru": {"encoder": {"kind": "gru", "cells": 16}},
    "rnn": {"encoder": {"kind": "rnn", "hidden": 16}},
    "clsm": {"encoder": {"kind": "clsm", "convolution": 24, "semantic": 16}},
    "clsm, more layers": {"encoder": {"kind": "clsm", "convolution": 24, "hidden": [16], "semantic": 12, "window": 5}},
    "clsm of the paper": {"encoder": {"kind": "clsm", "convolution": 24, "semantic": 16, "window": 1, "bias": False}},
    "dssm": {"encoder": {"kind": "dssm", "layers": [24, 16]}},
    "merged tails": {"encoder": {"cells": 16}, "tail": "merge", "max_words": 4},
    "short": {"encoder": {"cells": 16}, "max_words": 1},
    "whole words": {"encoder": {"cells": 16}, "word_count": 2, "tail": "merge", "max_words": 4},
}


@pytest.fixture
def export(program, tmp_path):
    """Exports a model; returns the folder and its Python code as a module."""

    def run(model):
        path, folder = tmp_path / "m.safetensors", tmp_path / "onnx"
        path.write_bytes(model.to_bytes())
        report = json.loads(program("export", path, "--to", "onnx", "--output", folder, "--json").stdout)
        assert report == {"output": str(folder), "dimension": model.dimension, "model": model.fingerprint}
        spec = importlib.util.spec_from_file_location("encode", folder / "encode.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return folder, module

    return run


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "towers"])
@pytest.mark.parametrize("name", ENCODERS)
def test_onnxruntime_gives_the_vectors_of_the_model(export, titles, name, shared):
    pytest.importorskip("onnxruntime")
    settings = {"epochs": 1, "seed": 3, "shared_towers": shared, "progress": False, **ENCODERS[name]}
    model = clickvec.train(SHOP / "clicks.tsv", **settings)
    folder, module = export(model)
    assert (folder / "model.onnx").exists() == shared and (folder / "title.onnx").exists() != shared
    expected = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
    texts = [of["text"] for of in expected]
    assert [[sorted(word) for word in module.rows(text)] for text in texts] == [of["rows"] for of in expected]
    more = [text for _, text in titles]
    for side, encode in (("query", model.encode_query), ("title", model.encode_title)):
        vectors = np.array([of[side] for of in expected], np.float32)
        assert np.array_equal(vectors, encode(texts))
        assert np.allclose(module.encode(texts, side), vectors, atol=2e-6), np.abs(module.encode(texts, side) - vectors).max()
        assert np.allclose(module.encode(more, side), encode(more), atol=2e-6)
        # One by one, without the places of longer texts.
        assert np.allclose(np.concatenate([module.encode([text], side) for text in texts]), vectors, atol=2e-6)
        assert module.encode([], side).shape == (0, model.dimension)
    onnx = pytest.importorskip("onnx")
    for graph in folder.glob("*.onnx"):
        onnx.checker.check_model(graph, full_check=True)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
@pytest.mark.parametrize("settings", [{}, {"tail": "merge", "max_words": 3}], ids=["cut", "merged"])
def test_javascript_finds_the_same_rows(export, settings):
    model = clickvec.train(SHOP / "clicks.tsv", epochs=1, encoder={"cells": 4}, progress=False, **settings)
    folder, module = export(model)
    script = """
        import { readFileSync } from "node:fs";
        import { reader } from "./encode.mjs";
        const { rows, inputs } = reader(JSON.parse(readFileSync("trigrams.json", "utf-8")));
        const texts = JSON.parse(readFileSync("vectors.json", "utf-8")).map(({ text }) => text);
        const { features, lengths } = inputs(texts);
        const plain = ({ data, dims }) => ({ data: Array.from(data, Number), dims });
        console.log(JSON.stringify([texts.map(rows), plain(features), plain(lengths)]));
    """
    command = ["node", "--input-type=module", "-e", script]
    rows, features, lengths = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)
    expected = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
    assert [[sorted(word) for word in text] for text in rows] == [of["rows"] for of in expected]
    of_python = module.inputs([of["text"] for of in expected])
    for name, found in (("features", features), ("lengths", lengths)):
        assert np.array_equal(np.array(found["data"]).reshape(found["dims"]), of_python[name])


@pytest.mark.skipif("CLICKVEC_NODE_MODULES" not in os.environ, reason="there is no onnxruntime of Node.js")
@pytest.mark.parametrize("name", ["lstm", "clsm", "members", "whole words"])
def test_javascript_gives_the_vectors_of_the_model(export, name):
    model = clickvec.train(SHOP / "clicks.tsv", epochs=1, progress=False, shared_towers=False, **ENCODERS[name])
    folder, _ = export(model)
    (folder / "node_modules").symlink_to(os.environ["CLICKVEC_NODE_MODULES"])
    script = """
        import { readFileSync } from "node:fs";
        import ort from "onnxruntime-node";
        import { createXXHash3 } from "hash-wasm";
        import { reader } from "./encode.mjs";
        const hash = await createXXHash3();
        const settings = JSON.parse(readFileSync("trigrams.json", "utf-8"));
        const { inputs } = reader(settings, (word) => hash.init().update(word).digest());
        const texts = JSON.parse(readFileSync("vectors.json", "utf-8")).map(({ text }) => text);
        const tensor = ({ data, dims }) => new ort.Tensor("int64", data, dims);
        const { features, lengths } = inputs(texts);
        const found = {};
        for (const side of ["query", "title"]) {
            const session = await ort.InferenceSession.create(`${side}.onnx`);
            const { vectors } = await session.run({ features: tensor(features), lengths: tensor(lengths) });
            found[side] = { data: Array.from(vectors.data), dims: vectors.dims.map(Number) };
        }
        console.log(JSON.stringify(found));
    """
    command = ["node", "--input-type=module", "-e", script]
    found = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)
    expected = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
    for side in ("query", "title"):
        vectors = np.array(found[side]["data"]).reshape(found[side]["dims"])
        assert np.allclose(vectors, [of[side] for of in expected], atol=2e-6)


def test_what_onnx_cannot_express_is_refused(program, tmp_path):
    path, folder = tmp_path / "full.safetensors", tmp_path / "full"
    encoder = {"cells": 4, "peephole": "full"}
    clickvec.train(SHOP / "clicks.tsv", path, epochs=1, encoder=encoder, progress=False)
    refused = program("export", path, "--to", "onnx", "--output", folder, status=2)
    words = "expected an LSTM without peepholes or with diagonal ones, found full ones"
    assert words in refused.stderr.replace("\n", " ") and not folder.exists()


def test_the_code_as_a_program(export, model):
    pytest.importorskip("onnxruntime")
    import sys

    folder, _ = export(model)
    done = subprocess.run([sys.executable, folder / "encode.py", "query", "red shoes"], capture_output=True, check=True)
    assert np.allclose(json.loads(done.stdout), model.encode_query("red shoes"), atol=2e-6)
