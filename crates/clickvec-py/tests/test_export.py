"""`clickvec export`, loaded into the systems that it is for: the best ten titles are those of a search."""

import http.server
import json
import subprocess
import threading

import numpy as np
import pytest
from conftest import SHOP

import clickvec

QUERIES = ["lether couch", "desk lamp", "red shoes", "garden hose"]


@pytest.fixture
def export(program, model, tmp_path):
    """Exports the shop's titles; returns where to, and the report."""

    def run(form, *more, name="out", titles=SHOP / "titles.tsv", weights=()):
        output, index = tmp_path / name, tmp_path / f"{name}.index"
        program("index", "--model", model.path, "--titles", titles, "--output", index, *weights)
        report = json.loads(program("export", index, "--to", form, "--output", output, "--json", *more).stdout)
        assert report["dimension"] == model.dimension and report["model"] == model.fingerprint
        return output, report

    return run


@pytest.fixture(scope="module")
def best(model, titles):
    """The ids of the best ten titles for each query."""
    found = clickvec.Index.encode(model, titles).search_batch(QUERIES, 10, mode="vectors")
    return found.ids.tolist()


def same(found, best, model, titles):
    """Equal up to titles with equal scores."""
    vectors = dict(zip((id for id, _ in titles), model.encode_title([text for _, text in titles]), strict=True))
    for query, ids, expected in zip(model.encode_query(QUERIES), found, best, strict=True):
        assert len(set(ids)) == 10
        scores = [[query @ vectors[id] for id in list] for list in (ids, expected)]
        assert np.allclose(*scores, atol=1e-5), (ids, expected)


class Stub(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent and is content with everything."""

    def answer(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.got.append((self.command, self.path, self.headers["Content-Type"], body.decode()))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    do_PUT = do_POST = do_PATCH = answer

    def log_message(self, *arguments):
        pass


@pytest.fixture
def load():
    """Runs the script that loads an export; returns the requests that it sends."""

    def run(folder):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub) as server:
            server.got = []
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                url = f"http://127.0.0.1:{server.server_port}"
                subprocess.run(["bash", "load.sh", url], cwd=folder, check=True, capture_output=True)
            finally:
                server.shutdown()
                thread.join()
            return server.got

    return run


def test_parquet(export, model, titles, best):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    output, report = export("parquet", name="titles.parquet")
    table = parquet.read_table(output)
    assert table.schema.field("vector").type == arrow.list_(table.schema.field("vector").type.value_field, 16)
    assert table.num_rows == report["rows"]
    vectors = np.stack(table["vector"].to_numpy())
    assert np.array_equal(vectors, model.encode_title(table["title"]))
    pandas = pytest.importorskip("pandas")
    assert np.array_equal(np.stack(pandas.read_parquet(output)["vector"]), vectors)
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(output).shape == (report["rows"], 3)
    duckdb = pytest.importorskip("duckdb")
    found = []
    for query in model.encode_query(QUERIES):
        sql = f"select id from '{output}' order by list_inner_product(vector::float[], ?::float[]) desc limit 10"
        found.append([str(row[0]) for row in duckdb.execute(sql, [query.tolist()]).fetchall()])
    same(found, best, model, titles)


def test_pgvector(export, model, titles, best, tmp_path):
    pgserver = pytest.importorskip("pgserver")
    strange = tmp_path / "strange.tsv"
    texts = ["red 'shoes' \"x\"", "grüne lamp \\ ß \\N", "lamp\u0000shade", "lamp " + "a" * 5000]
    strange.write_text("id\ttitle\n" + "".join(f"i'{n}\t{text}\n" for n, text in enumerate(texts)), encoding="utf-8")
    server = pgserver.get_server(tmp_path / "pg", cleanup_mode="stop")

    def load(folder):
        # psql's \copy reads a file of the client, here from another folder.
        sql = (folder / "load.sql").read_text(encoding="utf-8")
        return server.psql(sql.replace("'titles.csv'", f"'{folder / 'titles.csv'}'"))

    try:
        output, report = export("pgvector", "--name", "shop_titles")
        load(output)
        assert f" {report['rows']}\n" in server.psql("select count(*) from shop_titles")
        assert "hnsw" in server.psql("select indexdef from pg_indexes where tablename = 'shop_titles'")
        found = []
        for query in model.encode_query(QUERIES):
            vector = "[" + ",".join(repr(float(number)) for number in query) + "]"
            rows = server.psql(f"select '#' || id || '#' from shop_titles order by embedding <#> '{vector}' limit 10")
            found.append(rows.split("#")[1::2])
        same(found, best, model, titles)
        load(export("pgvector", "--name", "user", name="strange", titles=strange)[0])
        rows = server.psql("select '#' || id || '|' || title || '#' from \"user\" order by id").split("#")[1::2]
        assert rows == [f"i'{number}|{text}".replace("\0", " ") for number, text in enumerate(texts)]
        # A table that is there already stays.
        with pytest.raises(subprocess.CalledProcessError):
            load(output)
        assert f" {report['rows']}\n" in server.psql("select count(*) from shop_titles")
    finally:
        server.cleanup()


def test_qdrant(export, load, model, titles, best):
    output, report = export("qdrant", "--name", "shop")
    requests = load(output)
    assert [(method, path) for method, path, _, _ in requests[:2]] == [
        ("PUT", "/collections/shop"),
        ("PUT", "/collections/shop/points?wait=true"),
    ]
    batches = [json.loads(body)["points"] for _, path, _, body in requests if "points" in path]
    assert sum(map(len, batches)) == report["rows"] and max(map(len, batches)) <= 256
    assert [point["id"] for batch in batches for point in batch] == list(range(report["rows"]))
    qdrant = pytest.importorskip("qdrant_client")
    models = qdrant.models
    # The client's types are made from Qdrant's description of its interface, and refuse what is not in it.
    collection = models.CreateCollection(**json.loads(requests[0][3]))
    assert collection.vectors == models.VectorParams(size=16, distance=models.Distance.DOT)
    assert requests[-1][:2] == ("PATCH", "/collections/shop")
    assert models.UpdateCollection(**json.loads(requests[-1][3])).optimizers_config.indexing_threshold > 0
    client = qdrant.QdrantClient(":memory:")
    client.create_collection("shop", collection.vectors)
    for batch in batches:
        client.upsert("shop", [models.PointStruct(**point) for point in batch])
    found = []
    for query in model.encode_query(QUERIES):
        points = client.query_points("shop", query=query.tolist(), limit=10).points
        found.append([point.payload["id"] for point in points])
    same(found, best, model, titles)


def test_qdrants_engine(export, load, model, titles, best, tmp_path):
    # The engine of Qdrant's server, in this process; it takes points, not requests.
    edge = pytest.importorskip("qdrant_edge")
    output, report = export("qdrant", "--name", "shop")
    requests = load(output)
    described = json.loads(requests[0][3])["vectors"]
    distance = {"Dot": edge.Distance.Dot}[described["distance"]]
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=described["size"], distance=distance))
    folder = tmp_path / "shard"
    folder.mkdir()
    shard = edge.EdgeShard.create(str(folder), config)
    try:
        for _, path, _, body in requests:
            if "points" in path:
                points = [edge.Point(of["id"], of["vector"], of["payload"]) for of in json.loads(body)["points"]]
                shard.update(edge.UpdateOperation.upsert_points(points))
        found = []
        for query in model.encode_query(QUERIES):
            request = edge.QueryRequest(query=edge.Query.Nearest(query.tolist()), limit=10, with_payload=True)
            found.append([point.payload["id"] for point in shard.query(request)])
        same(found, best, model, titles)
    finally:
        shard.close()


def test_opensearch(export, load, model, program, tmp_path):
    output, written = export("opensearch", "--name", "shop", weights=("--weights", "words=0.3,vectors=0.9", "--fusion", "min-max"))
    about = json.loads(program("inspect", tmp_path / "out.index", "--json").stdout)
    requests = load(output)
    assert [(method, path.split("?")[0]) for method, path, _, _ in requests] == [
        ("PUT", "/_search/pipeline/shop_hybrid"),
        ("PUT", "/_index_template/shop"),
        ("POST", "/_bulk"),
        ("POST", "/shop/_refresh"),
    ]
    assert requests[2][2] == "application/x-ndjson"
    lines = [json.loads(line) for line in requests[2][3].splitlines()]
    assert len(lines) == 2 * written["rows"]
    assert lines[0]["index"]["_index"] == "shop" and set(lines[1]) == {"title", "embedding"}
    assert np.allclose(lines[1]["embedding"], model.encode_title(lines[1]["title"]))
    template = json.loads(requests[1][3])
    field = template["template"]["mappings"]["properties"]["embedding"]
    assert field["type"] == "knn_vector" and field["dimension"] == 16
    pipeline = json.loads(requests[0][3])
    [processor] = pipeline["phase_results_processors"]
    normalization = processor["normalization-processor"]
    assert normalization["normalization"]["technique"] == "min_max"
    weights = np.array([about["fusion"]["weights"][part] for part in ("words", "vectors")])
    assert np.allclose(normalization["combination"]["parameters"]["weights"], weights / weights.sum())
    query = json.loads((output / "query.json").read_text())
    assert len(query["query"]["hybrid"]["queries"]) == 2


def test_svmrank(export, model):
    lightgbm = pytest.importorskip("lightgbm")

    def read(judged):
        output, report = export("svmrank", "--judged", SHOP / f"{judged}.tsv", name=judged)
        lines = (output / "features.txt").read_text().splitlines()
        assert len(lines) == report["rows"]
        names = (output / "names.txt").read_text().splitlines()
        groups = [int(line) for line in (output / "groups.txt").read_text().splitlines()]
        assert sum(groups) == len(lines)
        grades, features = [], []
        for line in lines:
            grade, query, *pairs = line.split("#")[0].split()
            assert query.startswith("qid:") and [int(pair.split(":")[0]) for pair in pairs] == list(range(1, len(names) + 1))
            grades.append(int(grade))
            features.append([float(pair.split(":")[1]) for pair in pairs])
        return np.array(features), np.array(grades), groups

    features, grades, groups = read("validation")
    ranker = lightgbm.LGBMRanker(n_estimators=50, num_leaves=7, min_child_samples=10, random_state=1, verbose=-1)
    ranker.fit(features, grades, group=groups)
    # Learnt from the validation's queries and judged on others.
    features, _, _ = read("judged")
    predicted = iter(ranker.predict(features))
    learnt = {"lightgbm": lambda query, titles: [next(predicted) for _ in titles], "model": model}
    learnt = clickvec.evaluate(learnt, SHOP / "judged.tsv", titles=SHOP / "titles.tsv")
    assert next(predicted, None) is None
    assert learnt.means["lightgbm"]["ndcg@10"] > 0.9 * learnt.means["model"]["ndcg@10"]


def test_sqlite(model, titles, best):
    sqlite_vec = pytest.importorskip("sqlite_vec")
    # Python's own sqlite3 may have been built without extensions.
    apsw = pytest.importorskip("apsw")
    db = apsw.Connection(":memory:")
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    ids, texts = zip(*titles, strict=True)
    db.execute(f"create virtual table vectors using vec0(embedding float[{model.dimension}] distance_metric=cosine)")
    rows = ((row, of.tobytes()) for row, of in enumerate(model.encode_title(list(texts))))
    db.executemany("insert into vectors(rowid, embedding) values (?, ?)", rows)
    sql = "select rowid, distance from vectors where embedding match ? and k = 10 order by distance"
    found = [[ids[row] for row, _ in db.execute(sql, (of.tobytes(),))] for of in model.encode_query(QUERIES)]
    same(found, best, model, titles)


def test_duckdb(model, titles, best):
    duckdb, arrow = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    ids, texts = zip(*titles, strict=True)
    vectors = model.encode_title(list(texts))
    arrays = arrow.FixedSizeListArray.from_arrays(vectors.reshape(-1), model.dimension)
    table = arrow.table({"id": ids, "vector": arrays})
    db = duckdb.connect()
    db.register("exported", table)
    db.execute("create table titles as from exported")
    score = f"array_inner_product(vector, ?::float[{model.dimension}])"
    found, scores = [], []
    for query in model.encode_query(QUERIES):
        rows = db.execute(f"select id, {score} as score from titles order by score desc limit 10", [query.tolist()]).fetchall()
        found.append([id for id, _ in rows])
        scores.append(rows[0][1])
    same(found, best, model, titles)
    searched = clickvec.Index.encode(model, titles).search_batch(QUERIES, 1, mode="vectors")
    assert np.allclose(scores, searched.scores[:, 0], atol=1e-6)
