"""Models: vectors, arguments of sentence-transformers, threads, forks and pickles."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import FROZEN

import clickvec


def test_vectors_are_those_of_the_program(model, titles, program, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"{title}\n" for _, title in titles), encoding="utf-8")
    program("embed", model.path, "--side", "title", "--format", "npy", "--output", tmp_path / "v.npy", texts)
    ours = model.encode_title([title for _, title in titles])
    assert ours.dtype == np.float32 and ours.shape == (len(titles), model.dimension)
    assert np.array_equal(ours, np.load(tmp_path / "v.npy"))


def test_shapes_and_kinds_of_texts(model):
    one = model.encode("red shoes")
    assert one.shape == (model.dimension,)
    assert np.isclose(np.linalg.norm(one), 1.0)
    for texts in (["red shoes"], ("red shoes",), np.array(["red shoes"]), iter(["red shoes"]), {"red shoes"}):
        assert np.array_equal(model.encode(texts), one[None])
    assert model.encode([]).shape == (0, model.dimension)
    assert not model.encode(["", "?!"]).any()
    assert np.array_equal(model.encode([np.str_("red shoes")])[0], one)


def test_columns(model):
    texts = ["red shoes", "grüne Lampe", "", "紅い靴"]
    expected = model.encode(texts)
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(texts)
    assert np.array_equal(model.encode(series), expected)
    assert np.array_equal(model.encode(series.astype("category")), expected)
    with pytest.raises(TypeError, match="found a table"):
        model.encode(pandas.DataFrame({"a": texts}))
    arrow = pytest.importorskip("pyarrow")
    for kind in (arrow.string(), arrow.large_string(), arrow.string_view()):
        array = arrow.array(texts, kind)
        assert np.array_equal(model.encode(array), expected)
        assert np.array_equal(model.encode(array[1:3]), expected[1:3])
        assert np.array_equal(model.encode(arrow.chunked_array([array[:1], array[1:]])), expected)
    assert np.array_equal(model.encode(arrow.array(texts).dictionary_encode()), expected)
    with pytest.raises(TypeError, match="text 1: expected a text, found null"):
        model.encode(arrow.array(["a", None]))
    with pytest.raises(TypeError, match="expected texts, found an Arrow array of Int64"):
        model.encode(arrow.array([1, 2]))
    polars = pytest.importorskip("polars")
    assert np.array_equal(model.encode(polars.Series(texts)), expected)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (None, "expected a text or texts, found None"),
        (3, "expected a text or texts, found int"),
        (b"a", "expected a text or texts, found bytes"),
        ({"a": "b"}, "expected a text or texts, found dict"),
        (["a", None], "text 1: expected a text, found None"),
        (["a", float("nan")], r"text 1: expected a text, found float \(NaN\)"),
        (["a", np.float64("nan")], r"text 1: expected a text, found float64 \(NaN\)"),
        (np.array([1.0]), "text 0: expected a text, found float64"),
        ([["a"]], "text 0: expected a text, found list"),
    ],
)
def test_what_is_no_text(model, texts, words):
    with pytest.raises(TypeError, match=words):
        model.encode(texts)


def test_a_generator_that_raises(model):
    def texts():
        yield "a"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        model.encode(texts())


def test_arguments_of_sentence_transformers(model):
    texts = ["red shoes", "lamp"]
    plain = model.encode(texts)
    same = model.encode(texts, batch_size=1, device="cpu", normalize_embeddings=True, show_progress_bar=True)
    assert np.array_equal(plain, same)
    assert np.array_equal(model.encode(texts, tower="query"), model.encode_query(texts))
    assert model.encode(texts, precision="float16").dtype == np.float16
    eight = model.encode(texts, precision="int8")
    assert eight.dtype == np.int8 and np.abs(eight / 127 - plain).max() <= 0.5 / 127 + 1e-6
    assert model.get_embedding_dimension() == model.get_sentence_embedding_dimension() == model.dimension
    refused = {
        "device": "cuda", "normalize_embeddings": False, "output_value": "token_embeddings", "truncate_dim": 3,
        "precision": "binary", "tower": "passage",
    }  # fmt: skip
    for name, value in refused.items():
        with pytest.raises(clickvec.Error, match=name):
            model.encode(texts, **{name: value})
    for name in ("prompt", "pool", "chunk_size"):
        with pytest.raises(TypeError, match=name):
            model.encode(texts, **{name: "x"})
        model.encode(texts, **{name: None})


def test_similarity(model):
    a, b = model.encode(["red shoes", "lamp"]), model.encode(["shoes", "desk", "lamp"])
    assert np.allclose(model.similarity(a, b), a @ b.T)
    assert model.similarity(a[0], b).shape == (1, 3)
    assert np.allclose(model.similarity_pairwise(a, b[:2]), (a * b[:2]).sum(1))


def test_two_towers(tmp_path):
    model = clickvec.train([("a b", "c d")] * 20, shared_towers=False, encoder={"cells": 8}, epochs=1, progress=False)
    assert not model.shared_towers
    assert not np.array_equal(model.encode_query("a"), model.encode_title("a"))
    assert np.array_equal(model.encode("a"), model.encode_title("a"))


def test_what_a_model_says(model):
    assert repr(model).startswith("Model(lstm") and model.fingerprint in repr(model)
    assert model.training["config"]["seed"] == 7
    assert clickvec.Model.load(model.path) == model
    assert clickvec.Model.from_bytes(model.to_bytes()) == model
    assert len({model, clickvec.load(model.path)}) == 1


def test_pickles_are_the_model(model, tmp_path):
    mine = clickvec.load(model.path)
    mine.save(tmp_path / "m.safetensors")
    data = pickle.dumps(mine)
    # On another machine there is no such file.
    (tmp_path / "m.safetensors").unlink()
    first, second = pickle.loads(data), pickle.loads(data)
    assert copy.deepcopy(mine) is mine and first == mine and first.path == mine.path and first._native is second._native
    assert pickle.loads(pickle.dumps(clickvec.Model.from_bytes(model.to_bytes()))) == model


def test_a_file_in_use_is_loaded_once(model, tmp_path):
    path = tmp_path / "m.safetensors"
    clickvec.load(model.path).save(path)
    first = clickvec.load(path)
    assert clickvec.load(str(path))._native is first._native
    other = clickvec.train([("a", "b")] * 9, path, progress=False, epochs=1, encoder={"cells": 4})
    assert clickvec.load(path) == other != first


def test_damaged_files(model, tmp_path):
    data = bytearray(model.to_bytes())
    for place in (3, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        path = tmp_path / "damaged.safetensors"
        path.write_bytes(damaged)
        with pytest.raises(clickvec.Error):
            clickvec.load(path)
    with pytest.raises(FileNotFoundError) as raised:
        clickvec.load(tmp_path / "none")
    assert isinstance(raised.value, (clickvec.Error, OSError)) and raised.value.errno == 2
    assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args
    with pytest.raises(clickvec.Error, match="expected a file, found a folder"):
        clickvec.load(tmp_path)


def test_many_threads_use_one_model(model):
    texts = [f"red shoes {number}" for number in range(5000)]
    expected = model.encode(texts)
    failed = []

    def work():
        for _ in range(5):
            if not np.array_equal(model.encode(texts), expected):
                failed.append("vectors")
            if not np.array_equal(model.encode_query(texts[3]), expected[3]):
                failed.append("vector")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_the_interpreter_runs_on_meanwhile(model):
    texts = [f"red shoes {number}" for number in range(400_000)]
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    model.encode(texts[:100])
    thread.start()
    before = counted[0]
    model.encode(texts)
    after = counted[0]
    stop.set()
    thread.join()
    assert after - before > 1000


def child(model, queue):
    texts = [f"red shoes {number}" for number in range(5000)]
    queue.put(model.encode(texts).sum())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forks(model):
    texts = [f"red shoes {number}" for number in range(5000)]
    expected = model.encode(texts).sum()
    busy = threading.Event()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            model.encode(texts)
            model.encode(texts[0])
            busy.set()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    busy.wait()
    context = multiprocessing.get_context("fork")
    waited = 0.0
    try:
        for _ in range(10):
            queue = context.Queue()
            process = context.Process(target=child, args=(model, queue))
            begun = time.monotonic()
            process.start()
            waited += time.monotonic() - begun
            assert np.isclose(queue.get(timeout=60), expected)
            process.join(timeout=60)
            assert process.exitcode == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert np.isclose(model.encode(texts).sum(), expected)
    # Busy threads let a fork through.
    assert waited < 60


def test_spawned_processes(model):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        rows = pool.map(model.encode_query, ["red shoes", "lamp"])
    assert np.array_equal(np.stack(rows), model.encode_query(["red shoes", "lamp"]))


def test_memory_stays_flat(model):
    resource = pytest.importorskip("resource")
    texts = [f"red shoes {number % 300}" for number in range(20_000)]
    for _ in range(5):
        model.encode(texts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        model.encode(texts)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 * 1024, f"{grown} KiB"
    assert sys.getrefcount(texts[0]) < 10


def test_a_million_texts():
    arrow = pytest.importorskip("pyarrow")
    model = clickvec.train([("red shoes", "lamp")] * 20, encoder={"cells": 4}, epochs=1, progress=False)
    words = arrow.DictionaryArray.from_arrays(np.arange(1_000_000, dtype=np.int32) % 2, ["red shoes", "lamp"])
    vectors = model.encode(words.cast(arrow.string()))
    assert vectors.shape == (1_000_000, 4)
    assert np.array_equal(vectors.reshape(-1, 2, 4)[[0, -1]], [model.encode(["red shoes", "lamp"])] * 2)
    assert (vectors.reshape(-1, 2, 4) == vectors[:2]).all()


def test_the_number_of_threads(model):
    texts = [f"red shoes {number}" for number in range(2000)]
    expected = model.encode(texts)
    for threads in (1, 3, 0):
        clickvec.set_threads(threads)
        assert np.array_equal(model.encode(texts), expected)
    with pytest.raises(ValueError, match="expected 0 to 1024 threads, found 1000000"):
        clickvec.set_threads(1_000_000)


def test_a_frozen_model():
    assert clickvec.load(FROZEN / "lstm.safetensors").encode("oak").any()


def test_importing_is_quick():
    code = "import time; t = time.perf_counter(); import clickvec; print(time.perf_counter() - t)"
    seconds = float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)
    assert seconds < 5
