"""Evaluation: the figures and p-values of the program; rankers of every kind."""

import json
import shutil
import threading

import numpy as np
import pytest
from conftest import SHOP

import clickvec
from clickvec import _clickvec, rankers

JUDGED, TITLES, CLICKS = SHOP / "judged.tsv", SHOP / "titles.tsv", SHOP / "clicks.tsv"


@pytest.fixture(scope="module")
def judged():
    lines = JUDGED.read_text(encoding="utf-8").splitlines()
    header = lines[0].split("\t")
    rows = [line.split("\t") for line in lines[1:]]
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def trained_ptm(program, folder, clicks=CLICKS, *more):
    """Returns the file of a `ptm` that the program has trained."""
    arguments = ["--judged", JUDGED, "--titles", TITLES, "--clicks", clicks, "--ranker", "ptm", "--cache", folder / "cache"]
    program("lab", "table", *arguments, *more)
    [trained] = (folder / "cache" / "models").glob("ptm-*.safetensors")
    return shutil.copy(trained, folder / "ptm.safetensors")


@pytest.fixture(scope="module")
def ptm(program, tmp_path_factory):
    return trained_ptm(program, tmp_path_factory.mktemp("ptm"))


def theirs(program, *systems_and_options):
    arguments = ["--judged", JUDGED, "--titles", TITLES, "--clicks", CLICKS, "--json"]
    return json.loads(program("evaluate", *systems_and_options, *arguments).stdout)


def same(ours, expected):
    assert ours.systems == [system["name"] for system in expected["systems"]]
    for system in expected["systems"]:
        means = {name: value for name, value in system.items() if name != "name"}
        assert ours.means[system["name"]] == means
    assert [vars(test) for test in ours.tests] == expected["tests"]
    assert len(ours.queries) == expected["queries"]


def test_the_program_finds_the_same(model, program, ptm, judged):
    expected = theirs(program, "bm25:k1=1.2", ptm, model.path)
    same(clickvec.evaluate(["bm25:k1=1.2", "ptm", model], JUDGED, titles=TITLES, clicks=CLICKS), expected)
    in_memory = [rankers.Bm25(k1=1.2), rankers.Ptm(), model]
    lines = CLICKS.read_text(encoding="utf-8").splitlines()
    header = lines[0].split("\t")
    clicks = {name: [line.split("\t")[place] for line in lines[1:]] for place, name in enumerate(header)}
    titles = [tuple(line.split("\t")[:2]) for line in TITLES.read_text(encoding="utf-8").splitlines()[1:]]
    same(clickvec.evaluate(in_memory, judged, titles=titles, clicks=clicks), expected)


def test_each_query(model):
    result = clickvec.evaluate({"words": "bm25", "ours": model}, JUDGED)
    columns = result.columns()
    assert len(columns["query"]) == 2 * len(result.queries)
    of_words = [value for name, value in zip(columns["system"], columns["ndcg@10"], strict=True) if name == "words"]
    assert np.isclose(np.mean(of_words), result.means["words"]["ndcg@10"])
    scipy = pytest.importorskip("scipy.stats")
    of_ours = columns["ndcg@10"][len(result.queries) :]
    assert np.isclose(result.t_test("ours", "words").p, scipy.ttest_rel(of_ours, of_words).pvalue, rtol=1e-9)
    assert result.t_test("ours", "words").difference == -result.t_test("words", "ours").difference
    assert "NDCG@10" in str(result) and "<table>" in result._repr_html_()
    # Small p-values read as in the program.
    small = clickvec.evaluate({"words": "bm25", "none": lambda query, titles: range(len(titles))}, JUDGED)
    assert small.t_test("none", "words").p < 0.0001
    assert "p <0.0001" in str(small) and "<td>&lt;0.0001</td>" in small._repr_html_()
    pandas = pytest.importorskip("pandas")
    frame = result.per_query()
    assert isinstance(frame, pandas.DataFrame)
    assert np.isclose(frame.groupby("system")["mrr"].mean()["ours"], result.means["ours"]["mrr"])


def test_functions_are_systems(model, judged):
    def length(query, titles):
        return [-len(title) for title in titles]

    result = clickvec.evaluate([length, "bm25"], judged)
    assert set(result.systems) == {"length", "bm25"}
    cosine = clickvec.evaluate(
        {"mine": lambda query, titles: model.similarity(model.encode_query(query), model.encode_title(titles))[0]},
        judged,
    )
    assert np.isclose(cosine.means["mine"]["ndcg@10"], clickvec.evaluate([model], judged).means["shop"]["ndcg@10"])

    class Broken(Exception):
        pass

    def broken(query, titles):
        raise Broken

    with pytest.raises(Broken):
        clickvec.evaluate([broken], judged)
    with pytest.raises(ValueError, match="expected a score for each of"):
        clickvec.evaluate([lambda query, titles: []], judged)
    with pytest.raises(ValueError, match="expected scores that are numbers, found NaN"):
        clickvec.evaluate([lambda query, titles: [float("nan")] * len(titles)], judged)


def test_functions_are_called_in_order_on_this_thread():
    # Many queries: on all threads they would come in another order.
    rows = [(f"query {number}", title, 1) for number in range(2000) for title in ("red shoes", "a lamp")]
    seen, threads = [], set()

    def recorder(query, titles):
        assert titles == ["red shoes", "a lamp"]
        seen.append(query)
        threads.add(threading.get_ident())
        return [0.0, 1.0]

    expected = [f"query {number}" for number in range(2000)]
    result = clickvec.evaluate(["bm25", recorder], rows)
    assert seen == expected == result.queries and threads == {threading.get_ident()}


def test_the_first_exception_ends_an_evaluation():
    rows = [(f"query {number}", "red shoes", 1) for number in range(2000)]
    seen = []

    def third(query, titles):
        seen.append(query)
        if len(seen) == 3:
            raise LookupError(query)
        return [1.0]

    with pytest.raises(LookupError, match="query 2"):
        clickvec.evaluate([third, "bm25"], rows)
    assert seen == ["query 0", "query 1", "query 2"]


def test_weighting_means_the_same_as_in_the_program(program, tmp_path):
    pairs = [line.split("\t") for line in CLICKS.read_text(encoding="utf-8").splitlines()[1:]]
    counted = [(query, title, 1 + number % 50) for number, (query, title) in enumerate(pairs)]
    path = tmp_path / "counted.tsv"
    path.write_text("query\ttitle\tcount\n" + "".join(f"{q}\t{t}\t{c}\n" for q, t, c in counted), encoding="utf-8")
    means = {}
    for weighting in ("log", "linear", "none", "binary"):
        folder = tmp_path / weighting
        folder.mkdir()
        expected = theirs(program, trained_ptm(program, folder, path, "--weighting", weighting))
        found = clickvec.evaluate(["ptm"], JUDGED, titles=TITLES, clicks=path, weighting=weighting)
        same(found, expected)
        means[weighting] = found.means["ptm"]
        fitted = rankers.Ptm().fit(TITLES, path, weighting=weighting)
        assert clickvec.evaluate({"ptm": fitted}, JUDGED).means["ptm"] == means[weighting]
    assert means["none"] == means["binary"] != means["linear"] != means["log"]
    with pytest.raises(ValueError, match="expected a weighting of log, linear, none or binary, found `some`"):
        clickvec.evaluate(["ptm"], JUDGED, clicks=path, weighting="some")


@pytest.mark.parametrize(
    ("systems", "judgments", "error", "words"),
    [
        (["bm26"], JUDGED, clickvec.Error, "bm26"),
        (["bm25:k3=1"], JUDGED, clickvec.Error, "k3"),
        (["bm25", "bm25"], JUDGED, ValueError, "expected each system once"),
        ([3], JUDGED, TypeError, "expected a model, a ranker, a path or a function, found int"),
        (3, JUDGED, TypeError, "expected a list or a dict of systems"),
        (["bm25"], "none.tsv", FileNotFoundError, "none.tsv"),
        (["bm25"], None, TypeError, "expected judged titles, found None"),
        (["bm25"], [("a", "b", 11)], clickvec.Error, "^judged, row 1: .*11"),
        (["bm25"], [("a", b"b", 1)], clickvec.Error, "^judged, row 1: expected texts or numbers in column `title`, found bytes"),
        (["bm25"], [("a", "b")], clickvec.Error, "^judged, row 1: .*found 2 items"),
        (["none.safetensors"], JUDGED, FileNotFoundError, "none.safetensors"),
    ],
)
def test_bad_evaluations(systems, judgments, error, words):
    with pytest.raises(error, match=words):
        clickvec.evaluate(systems, judgments)


def test_what_raises_or_is_of_another_kind(titles):
    def broken(first):
        yield first
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        clickvec.evaluate(["bm25"], broken(("a", "b", 1)))
    with pytest.raises(LookupError, match="no more"):
        rankers.Bm25().fit(broken("red oak table"))
    with pytest.raises(LookupError, match="no more"):
        rankers.Ptm().fit(titles, broken(("sofa", "blue sofa")))
    ranker = rankers.Bm25().fit(["red oak table", "blue sofa"])
    for query, texts, words in (
        (None, ["a"], "query: expected a text, found NoneType"),
        (3, ["a"], "query: expected a text, found int"),
        ("a", ["b", None], "text 1: expected a text, found None"),
        ("a", [float("nan")], r"text 0: expected a text, found float \(NaN\)"),
        ("a", np.array([1.0]), "text 0: expected a text, found float64"),
        ("a", 3, "expected a text or texts, found int"),
    ):
        with pytest.raises(TypeError, match=words):
            ranker.score(query, texts)


def test_threads_share_a_ranker(titles):
    texts = [title for _, title in titles]
    ranker = rankers.Ptm().fit(TITLES, CLICKS)
    expected = ranker.score("desk lamp", texts)
    found = []
    threads = [threading.Thread(target=lambda: found.append(ranker.score("desk lamp", texts))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(np.array_equal(scores, expected) for scores in found)


def test_progress_of_long_work_is_told():
    events = []
    clicks = [(f"sofa {number % 50} oak", f"oak sofa {number % 70}") for number in range(2000)]
    rankers.Plsa(topics=20, iterations=300).fit([title for _, title in clicks], clicks, progress=events.append)
    assert events and {(event["event"], event["step"], event["of"]) for event in events} == {("progress", "plsa", 300)}
    assert [event["done"] for event in events] == sorted(event["done"] for event in events)


def test_every_system_and_parameter_is_a_class():
    natives = {system["name"]: system for system in _clickvec.systems()}
    assert [system.name for system in rankers.SYSTEMS] == list(natives)
    for system in rankers.SYSTEMS:
        import inspect

        names = [name for name in inspect.signature(system).parameters]
        expected = [rankers._python(parameter["name"]) for parameter in natives[system.name]["parameters"]]
        assert names == expected, system.name
        defaults = {rankers._python(of["name"]): of["default"] for of in natives[system.name]["parameters"]}
        assert rankers.named(str(system(**defaults)))._parameters == system(**defaults)._parameters
        for parameter in natives[system.name]["parameters"]:
            assert f"[default: {rankers._shown(parameter['default'])}]" in system.__doc__.replace("\n        ", " ")


@pytest.mark.parametrize("system", rankers.SYSTEMS, ids=lambda system: system.name)
def test_every_ranker_scores(system, tmp_path, titles):
    quick = {"topics": 5, "iterations": 2, "sweeps": 4, "dimensions": 5, "size": 8, "epochs": 1}
    allowed = {name: value for name, value in quick.items() if name in system.__init__.__annotations__}
    extra = {}
    if system.name == "skip-thought":
        pytest.skip("it only loads what its authors' program trained")
    if system.name == "vectors":
        vectors = tmp_path / "vectors.txt"
        vectors.write_text("3 2\nlamp 1 0\ndesk 0 1\nsofa 1 1\n")
        extra["vectors"] = vectors
    ranker = system(**allowed).fit(TITLES, CLICKS, **extra)
    scores = ranker.score("desk lamp", ["a lamp for desks", "sofa"])
    assert scores.shape == (2,) and np.isfinite(scores).all()
    path = tmp_path / "ranker.safetensors"
    ranker.save(path)
    assert np.allclose(rankers.load(path).score("desk lamp", ["a lamp for desks", "sofa"]), scores)


def test_a_ranker_without_what_it_needs():
    with pytest.raises(clickvec.Error, match="expected clicked pairs to learn from.*give a click log"):
        rankers.Wtm().fit(["a", "b"])
    with pytest.warns(UserWarning, match="left out wtm"):
        result = clickvec.evaluate(["bm25", "wtm"], JUDGED)
    assert result.systems == ["bm25"] and "wtm" in result.left_out[0]
