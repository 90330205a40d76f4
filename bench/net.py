#!/usr/bin/env python3
"""Compares what two versions of the program do: python3 bench/net.py PROGRAM FOLDER [--against FOLDER] [--only PATTERN]

Runs the commands of CHECKS on testdata/shop and writes what each gives to FOLDER, one text file a check: a hash of the bytes of each
tensor of a model, the ids and scores of hits, JSON, and the lines or hashes of other files. Times, versions, fingerprints and headers of
models are left out, so that a new version of a format does not count. With --against, compares with the files of an earlier run, says
of each check whether it is the same, different or missing. Exits with 1 on a difference, or if a command fails.

If the command line of a check changes, change it here and leave its name.
"""
import argparse
import difflib
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

# The name of each check, what is compared, and its commands, which bash runs in a folder with `shop` (testdata/shop), `specs`, and what the
# checks before it wrote. What is compared:
#   hits     the query, rank, id and score of each title in the JSON of standard output
#   json     all of standard output, as JSON, one object a line
#   text     the lines of standard output
#   PATH     a file, by its name: tensors of .safetensors, JSON of .json, otherwise lines, or a hash if it is large or binary;
#            of a folder, all files
TRAIN = "clickvec train --clicks shop/clicks.tsv --epochs 2 --held-out 0"
JUDGED = "--judged shop/judged.tsv --titles shop/titles.tsv"
CHECKS = r"""
# Logs become clicks.
check: json
    clickvec inspect shop/log.csv shop/titles.tsv shop/clicks.tsv shop/judged.tsv --json || [ $? = 1 ]
prepare: json, clicks.tsv
    clickvec prepare shop/log.csv --columns item=sku --titles shop/titles.tsv --output clicks.tsv --json
prepare-private: json, private.tsv
    clickvec prepare shop/log.csv --columns item=sku --titles shop/titles.tsv --private --output private.tsv --json
prepare-all: json, all.tsv
    clickvec prepare shop/log.csv --columns item=sku --titles shop/titles.tsv --min-users 1 --keep case --output all.tsv --json
prepare-items: json, items.tsv
    clickvec prepare shop/log.csv --columns item=sku --item-as-title --output items.tsv --json
prepare-pipe: text
    gzip -c shop/log.csv | clickvec prepare - --format csv --columns item=sku --titles shop/titles.tsv --output -

# A log with known truth, and its position bias.
simulate: json, log
    clickvec lab simulate --output log --set titles=1500 --set pairs=4000 --set impressions=true --json
simulate-titles: json, travel
    clickvec lab simulate --titles shop/titles.tsv --output travel --set pairs=2000 --set judged=20 --json
prepare-bias: json, weighted.tsv
    clickvec prepare log/log.tsv --columns item=id --titles log/titles.tsv --min-users 1 --correct-position-bias \
        --output weighted.tsv --json

# Training: each encoder, and each setting that changes what is learnt.
train: json, shop.safetensors
    clickvec train --clicks shop/clicks.tsv --validation shop/validation.tsv --output shop.safetensors --json
train-prepared: json, prepared.safetensors
    clickvec train --clicks clicks.tsv --output prepared.safetensors --json
train-private: private.safetensors
    clickvec train --clicks private.tsv --epochs 2 --held-out 0 --output private.safetensors
train-held-out: json, heldout.safetensors
    clickvec train --clicks shop/clicks.tsv --output heldout.safetensors --json
train-titles: json, both.safetensors
    clickvec train --titles shop/titles.tsv --clicks shop/clicks.tsv --output both.safetensors --json
train-cold: cold.safetensors
    clickvec train --titles shop/titles.tsv --output cold.safetensors
train-lstm-gates: lstm.safetensors
    $TRAIN --encoder lstm --set encoder.cells=32 --set encoder.forget_gate=true --set encoder.peephole=diagonal --output lstm.safetensors
train-lstm-peephole: peephole.safetensors
    $TRAIN --set encoder.cells=32 --set encoder.peephole=full --set bptt.signals=per-gate --output peephole.safetensors
train-lstm-layers: layers.safetensors
    $TRAIN --encoder stacked --set encoder.layers=32,24 --set bptt.words=3 --output layers.safetensors
train-bilstm: bilstm.safetensors
    $TRAIN --encoder bilstm --set encoder.cells=24 --output bilstm.safetensors
train-gru: gru.safetensors
    $TRAIN --encoder gru --set encoder.cells=32 --output gru.safetensors
train-rnn: rnn.safetensors
    $TRAIN --encoder rnn --set encoder.hidden=32 --output rnn.safetensors
train-clsm: clsm.safetensors
    $TRAIN --encoder clsm --set encoder.convolution=64 --set encoder.semantic=32 --set encoder.window=5 --output clsm.safetensors
train-dssm: dssm.safetensors
    $TRAIN --encoder dssm --set encoder.layers=64,48,32 --set shared_towers=false --output dssm.safetensors
train-preset-lstm: preset.safetensors
    $TRAIN --preset lstm-dssm --set encoder.cells=32 --set batch_size=256 --output preset.safetensors
train-preset-clsm: presetclsm.safetensors
    $TRAIN --preset clsm --set batch_size=256 --output presetclsm.safetensors
train-members: members.safetensors
    $TRAIN --encoder members --set encoder.cells=24 --set encoder.members=2 --set encoder.dimension=32 --output members.safetensors
train-nce: nce.safetensors
    $TRAIN --set loss.kind=nce --set negatives=4 --set negative_source=uniform --set optimizer=momentum \
        --set encoder.cells=24 --output nce.safetensors
train-words: words.safetensors
    $TRAIN --set encoder.cells=24 --set word_count=3 --set max_trigrams=800 --set max_words=4 --set tail=merge --output words.safetensors
train-augment: augment.safetensors
    $TRAIN --set encoder.cells=24 --set augment.drop=0.1 --set augment.swap=0.1 --set augment.misspell=0.1 --set init_range=fan \
        --set clip_norm=1 --set weighting=linear --set seed=7 \
        --output augment.safetensors
train-init: tomorrow.safetensors
    clickvec train --init shop.safetensors --clicks clicks.tsv --epochs 1 --held-out 0 --output tomorrow.safetensors
train-resume: resumed.safetensors
    $TRAIN --set encoder.cells=24 --checkpoint-every 10 --output resumed.safetensors
    $TRAIN --set encoder.cells=24 --checkpoint-every 10 --resume --output resumed.safetensors
train-threads: threads.safetensors
    $TRAIN --set encoder.cells=24 --threads 1 --output threads.safetensors
train-pipe: piped.safetensors
    gzip -c shop/clicks.tsv | clickvec train --clicks - --epochs 1 --held-out 0 --set encoder.cells=24 --output piped.safetensors

# Texts become vectors; a teacher's vectors become a model.
embed-json: text
    printf 'lether couch\noak sink cabinet\n\n' | clickvec embed shop.safetensors --side query
embed-raw: text
    printf 'lether couch\n' | clickvec embed dssm.safetensors --side query --raw
embed-npy: titles.npy
    clickvec embed both.safetensors --side title --format npy --output titles.npy shop/titles.tsv
    tail -n +2 shop/titles.tsv | cut -f 2 >titles.txt
embed-word2vec: titles.w2v
    clickvec embed shop.safetensors --side title --format word2vec --output titles.w2v shop/titles.tsv
train-teacher: json, taught.safetensors
    clickvec train --titles shop/titles.tsv --clicks shop/clicks.tsv --teacher titles.npy --held-out 0 --epochs 1 \
        --output taught.safetensors --json
train-teacher-random: taughtrandom.safetensors
    clickvec train --titles shop/titles.tsv --teacher titles.npy --set teacher.start=random --set encoder.cells=24 --encoder lstm \
        --output taughtrandom.safetensors
train-scores: scored.safetensors
    awk -F '\t' 'NR == 1 { print "query\ttitle\tscore"; next } { print $1 "\t" $2 "\t" length($2) % 7 }' shop/clicks.tsv >scores.tsv
    clickvec train --clicks shop/clicks.tsv --teacher scores.tsv --held-out 0 --epochs 1 --output scored.safetensors

# What a file is.
inspect-model: json
    clickvec inspect shop.safetensors --json

# Judged titles.
evaluate: json
    clickvec evaluate $JUDGED bm25 trigram shop.safetensors --json
evaluate-text: text
    clickvec evaluate $JUDGED bm25 trigram shop.safetensors
evaluate-encoders: json
    clickvec evaluate $JUDGED lstm.safetensors bilstm.safetensors gru.safetensors \
        rnn.safetensors clsm.safetensors dssm.safetensors members.safetensors --json
evaluate-files: runs
    clickvec evaluate $JUDGED bm25 shop.safetensors --output runs
evaluate-runs: json
    clickvec evaluate --judged runs/judged.qrels runs/bm25.run runs/shop.run --trec-eval --json
evaluate-saved: json, trained
    clickvec evaluate $JUDGED bm25 shop.safetensors --save-rankers trained --json
evaluate-papers: json
    clickvec lab table $JUDGED --clicks shop/clicks.tsv --ranker ulm --ranker lsa:dimensions=50 \
        --ranker plsa:topics=10,iterations=20 --ranker lda:topics=10,sweeps=30 --ranker bltm:topics=10,iterations=20 \
        --ranker wtm --ranker ptm --ranker mrf --ranker lce --ranker doc2vec:size=20,epochs=5 --cache rankers --json
evaluate-restored: json
    clickvec evaluate $JUDGED rankers/models/ptm-*.safetensors rankers/models/lsa-*.safetensors \
        trained/bm25.safetensors --json
evaluate-better: json
    clickvec evaluate $JUDGED bm25 shop.safetensors --require shop:better:bm25 \
        --require shop:not-worse:bm25 --json
evaluate-not-better: json
    clickvec evaluate $JUDGED bm25 shop.safetensors --require bm25:better:shop --json || [ $? = 1 ]
evaluate-overlap: json
    clickvec lab table --judged shop/validation.tsv --titles shop/titles.tsv --clicks shop/clicks.tsv --ranker wtm --json

# The whole collection.
full: json
    clickvec evaluate --full $JUDGED bm25:k1=0.5,stem=1,split=1 trigram shop.safetensors --json
full-text: text
    clickvec evaluate --full $JUDGED bm25 shop.safetensors --measures ndcg@10,recall@100,map
full-files: json, fullruns
    clickvec evaluate --full=50 $JUDGED bm25 shop.safetensors --output fullruns --json
full-runs: json
    clickvec evaluate --full $JUDGED fullruns/bm25.run fullruns/shop.run --measures ndcg@10,recall@100 --json

# Search, in each mode of each kind of index.
index: json
    clickvec index --model shop.safetensors --titles shop/titles.tsv --output shop.index --json
inspect-index: json
    clickvec inspect shop.index --json
search: hits
    queries | clickvec search shop.index --mode vectors --json
search-vectors: hits
    clickvec search shop.index --mode vectors -k 5 --json 'lether couch' '12in sofas' 'oak sink cabinet'
search-text: text
    clickvec search shop.index --mode vectors -k 3 'lether couch'
search-words: hits
    queries | clickvec search shop.index --mode words --json
search-both: hits
    queries | clickvec search shop.index --mode fused --json
search-page: hits
    clickvec search shop.index --mode fused -k 5 --offset 5 --json 'leather sofa'
search-trec: text
    clickvec search shop.index --mode fused -k 20 --trec --topics shop/judged.tsv
search-nothing: text
    clickvec search shop.index --mode words 'zzyzx' || [ $? = 1 ]
full-index: json
    clickvec evaluate --full --judged shop/judged.tsv bm25 shop.index --json
index-fused: hits
    clickvec index --model shop.safetensors --titles shop/titles.tsv --weights words=0.05,trigrams=0.1 --output fused.index
    queries | clickvec search fused.index --json
full-fused-index: json
    clickvec evaluate --full --judged shop/judged.tsv bm25 fused.index --json
index-words: hits
    clickvec index --model shop.safetensors --titles shop/titles.tsv --words stem,split --output stems.index
    clickvec search stems.index --mode words --json sofas '2seat' 'oak sinks'
index-f16: hits
    clickvec index --model shop.safetensors --titles shop/titles.tsv --vectors f16 --output small.index
    clickvec search small.index --mode vectors --json 'lether couch' 'oak sink cabinet'
index-store: hits
    sed '1s/$/\tbrand/; 2,$s/\t\([A-Z][a-z]*\)\(.*\)/\t\1\2\t\1/' shop/titles.tsv >stored.tsv
    clickvec index --model shop.safetensors --titles stored.tsv --store brand --output stored.index
    clickvec search stored.index --mode fused --filter brand=Norrland --json 'leather sofa'
index-shards: hits
    clickvec index --model shop.safetensors --titles shop/titles.tsv --shard 1/2 --output part1.index
    clickvec index --model shop.safetensors --titles shop/titles.tsv --shard 2/2 --output part2.index
    clickvec index --join part1.index part2.index --output joined.index
    queries | clickvec search joined.index --mode fused --json
index-update: hits
    printf 'id\ttitle\nn1\tGreen Leather Couch\np076\tNorrland Sofa Bed\n' >new.tsv
    echo p029 >gone.txt
    cp -r shop.index changed.index
    clickvec update changed.index --add new.tsv --delete gone.txt
    for mode in vectors words fused; do clickvec search changed.index --mode $mode --json 'lether couch' sofa; done
index-compact: hits
    clickvec update changed.index --compact
    for mode in vectors words fused; do clickvec search changed.index --mode $mode --json 'lether couch' sofa; done

# The service.
serve: hits
    start shop.index
    ask '/search?q=lether+couch&k=5'
    for mode in vectors words fused; do ask "/search?q=leather+sofa&k=5&mode=$mode"; done
    stop
serve-fused: hits
    start fused.index
    ask '/search?q=lether+couch&k=5'
    ask '/search?q=oak+sink+cabinet&k=5'
    stop
serve-embed: json
    start shop.index
    ask /v1/embeddings '{"model": "shop:query", "input": ["lether couch"]}'
    stop
serve-explain: json
    start shop.index
    ask /explain '{"query": "lether couch", "id": "p076"}'
    stop

# Explanations.
explain-match: json
    clickvec explain match shop.index 'lether couch' 'Norrland 3-Seat Leather Sofa with Mounting Kit' --json
explain-match-text: text
    clickvec explain match lstm.safetensors --compare rnn.safetensors \
        'lether couch' 'Norrland 3-Seat Leather Sofa with Mounting Kit'
explain-match-encoders: json
    for model in bilstm gru clsm dssm; do
        clickvec explain match $model.safetensors 'lether couch' 'Norrland 3-Seat Leather Sofa' --json
    done
explain-match-judged: json
    clickvec explain match shop.safetensors --pairs shop/judged.tsv --limit 5 --json
explain-keywords: json
    clickvec explain keywords bilstm.safetensors 'lether couch' 'oak sink cabinet' --json
explain-keywords-claims: json
    tail -n +2 shop/titles.tsv | cut -f 2 >texts.txt
    for model in lstm rnn; do clickvec lab claims $model.safetensors --file texts.txt --side title --json; done
explain-keywords-search: json
    clickvec index --model clsm.safetensors --titles shop/titles.tsv --output clsm.index
    clickvec explain keywords --search clsm.index 'leather sofa' --json
explain-topics: json
    queries >judged.txt
    clickvec lab topics lstm.safetensors --file judged.txt --json
explain-topics-table: text
    clickvec lab topics lstm.safetensors --file judged.txt --table 20
explain-context: json
    clickvec lab context clsm.safetensors leather 'leather sofa' 'leather shoe' --json
explain-neighbours: json
    clickvec lab neighbours shop.index sofa --json
explain-rank: json
    clickvec explain rank shop.index 'lether couch' --json
explain-rank-fused: json
    clickvec explain rank fused.index 'leather couch' --json
explain-errors: json
    clickvec lab errors shop.safetensors $JUDGED --clicks shop/clicks.tsv --json

# The papers' tables, and the demo.
table: json, table.md
    clickvec lab table specs/quick.toml --judged shop/judged.tsv --clicks shop/clicks.tsv --titles shop/titles.tsv \
        --cache cache --output table.md --json
demo: text, demo/clicks.tsv
    clickvec demo --pairs 4000 --keep demo --output demo.html

# Other systems' forms.
export-pgvector: pg
    clickvec export shop.index --to pgvector --name titles --output pg
export-qdrant: qdrant
    clickvec export shop.index --to qdrant --name titles --output qdrant
export-opensearch: os
    clickvec export shop.index --to opensearch --name titles --output os
export-svmrank: ltr
    clickvec export shop.index --to svmrank --judged shop/judged.tsv --output ltr
export-onnx: onnx
    clickvec export shop.safetensors --to onnx --output onnx

# Judgments.
judge-pool: sheet.tsv
    clickvec judge shop.index --against bm25 --queries shop/clicks.tsv --output sheet.tsv &
    until [ -s sheet.tsv ]; do sleep 0.1; done
    kill $! && wait $!
judge-read: json
    sed '2,$s/$/3/' sheet.tsv >filled.tsv
    clickvec judge shop.index --against bm25 --queries shop/clicks.tsv --output filled.tsv --json

# The nightly job.
update: json, updated.safetensors
    head -n 1500 shop/clicks.tsv >day1.tsv
    { head -n 1 shop/clicks.tsv; tail -n 1500 shop/clicks.tsv; } >day2.tsv
    cp shop.safetensors updated.safetensors
    clickvec update updated.safetensors --clicks day1.tsv day2.tsv --titles shop/titles.tsv --set error_rate=1 --json || [ $? = 1 ]
update-index: json, nightly.index.update.json
    cp -r fused.index nightly.index
    clickvec update nightly.index --clicks day1.tsv day2.tsv --titles shop/titles.tsv --judged shop/judged.tsv \
        --trust-clicks --set error_rate=1 --json || [ $? = 1 ]
update-index-hits: hits
    clickvec search nightly.index --json 'lether couch' 'oak sink cabinet'
"""

# Fields of JSON that differ from run to run, from machine to machine, or with the version of a format.
LEFT_OUT = {
    "seconds", "milliseconds", "pairs_per_second", "version", "fingerprint", "level", "time", "bytes", "timings", "request_id",
    "log_fingerprint", "validation_fingerprint", "files", "train_seconds", "peak_bytes",
}
FINGERPRINT = re.compile(r"\b(?=[0-9]*[a-f])(?:[0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{64})\b")
MEASURED = re.compile(r"\d[\d.,]*\s?(?:µs|ms|s|seconds?|minutes?|pairs/s|KB|MB)\b")
LARGEST_TEXT = 1 << 16

# Functions for the commands: a service for an index, a request to it, and its end.
PRELUDE = """
set -euo pipefail
queries() { tail -n +2 shop/judged.tsv | cut -f 1 | uniq; }
start() {
    rm -f address
    clickvec serve "$1" --listen 127.0.0.1:0 >address 2>service.log & service=$!
    for _ in $(seq 200); do grep -qs http address && return; sleep 0.05; done
}
ask() { curl -sS "$(cat address)$1" ${2:+-H 'Content-Type: application/json' -d "$2"}; echo; }
stop() { kill $service; wait $service || true; }
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="where to write the results")
    parser.add_argument("--against", type=pathlib.Path, help="the results of an earlier run")
    parser.add_argument("--only", help="run checks up to the last whose name has this form, such as 'train*'", metavar="PATTERN")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    checks = table()
    if arguments.only:
        last = max((i for i, check in enumerate(checks) if fnmatch.fnmatch(check[0], arguments.only)), default=-1)
        checks = checks[: last + 1]
    with tempfile.TemporaryDirectory() as folder:
        work = prepare(pathlib.Path(folder), arguments.program)
        failed = 0
        for name, compared, command in checks:
            status, text = run(work, name, compared, command)
            failed += status != 0
            (arguments.folder / f"{name}.txt").write_text(text, encoding="utf-8")
    same = not arguments.against or compare(arguments.folder, arguments.against, [name for name, _, _ in checks])
    sys.exit(0 if same and not failed else 1)


def table():
    """The checks of CHECKS: name, what is compared, commands."""
    checks = []
    for line in CHECKS.splitlines():
        if line.startswith(" "):
            checks[-1][2].append(line.strip())
        elif line and not line.startswith("#"):
            name, compared = line.split(": ")
            checks.append((name, compared.split(", "), []))
    return [(name, compared, "\n".join(commands)) for name, compared, commands in checks]


def prepare(folder, program):
    """Makes the folder in which the commands run."""
    root = pathlib.Path(__file__).resolve().parent.parent
    (folder / "bin").mkdir()
    (folder / "bin" / "clickvec").symlink_to(program.resolve())
    work = folder / "work"
    work.mkdir()
    (work / "shop").symlink_to(root / "testdata" / "shop")
    # A copy, since tables keep finished rows next to their spec.
    (work / "specs").mkdir()
    for spec in (root / "specs").iterdir():
        (work / "specs" / spec.name).write_bytes(spec.read_bytes())
    return work


def run(work, name, compared, command):
    """Runs a command. Returns its exit status and what is compared."""
    environment = {**os.environ, "TRAIN": TRAIN, "JUDGED": JUDGED, "PATH": f"{work.parent / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", PRELUDE + command], cwd=work, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print(f"{name}: exit status {done.returncode}: {done.stderr.decode(errors='replace').strip()[-500:]}", file=sys.stderr)
    parts = [f"exit status {done.returncode}"]
    for part in compared:
        parts.append(f"== {part}")
        if part == "hits":
            parts.extend(hits(done.stdout))
        elif part == "json":
            parts.extend(flat_json(done.stdout))
        elif part == "text":
            parts.extend(lines(done.stdout))
        else:
            parts.extend(path_lines(work / part, part))
    return done.returncode, "\n".join(parts) + "\n"


def path_lines(path, shown):
    """The lines that stand for a file, or for all files of a folder."""
    if path.is_dir():
        result = []
        for inner in sorted(p for p in path.rglob("*") if p.is_file()):
            result.append(f"-- {inner.relative_to(path)}")
            result.extend(path_lines(inner, shown))
        return result
    if not path.exists():
        return ["missing"]
    data = path.read_bytes()
    if path.suffix == ".safetensors":
        return tensors(data)
    if path.suffix == ".json":
        return flat_json(data)
    if len(data) > LARGEST_TEXT or b"\0" in data:
        return [f"{len(data)} bytes, {digest(data)}"]
    return lines(data)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:24]


def tensors(data):
    """The name, type, shape and hash of each tensor of a safetensors file. Its header begins with its length in eight bytes."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    result = []
    for name, tensor in sorted(header.items()):
        if name != "__metadata__":
            begin, end = tensor["data_offsets"]
            result.append(f"{name} {tensor['dtype']} {tensor['shape']} {digest(body[begin:end])}")
    return result


def lines(data):
    """Lines of text without fingerprints and times, and without the padding of columns."""
    result = []
    for line in data.decode(errors="replace").splitlines():
        line = MEASURED.sub("MEASURED", FINGERPRINT.sub("FINGERPRINT", line))
        result.append(re.sub(r" {2,}", "  ", line.rstrip()))
    return result


def documents(data):
    """The JSON values in some text, whatever stands between them; text that is none is a value too."""
    text, decoder, at = data.decode(errors="replace"), json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            value, at = text[at:end], end
        yield value


def flat_json(data):
    """A line for each number, text or truth in some JSON, with the way to it."""
    result = []
    for place, value in enumerate(documents(data)):
        flatten(value, str(place), result)
    return result


def flatten(value, way, result):
    if isinstance(value, dict):
        for key in sorted(value):
            if key not in LEFT_OUT:
                flatten(value[key], f"{way}.{key}", result)
    elif isinstance(value, list):
        if value and all(isinstance(item, (int, float)) for item in value):
            result.append(f"{way} = {json.dumps(value)}")
            return
        for place, item in enumerate(value):
            flatten(item, f"{way}[{place}]", result)
    else:
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, str):
            text = MEASURED.sub("MEASURED", FINGERPRINT.sub("FINGERPRINT", text))
        result.append(f"{way} = {text}")


def hits(data):
    """The query, rank, id and score of each title in some JSON."""
    result = []
    for value in documents(data):
        collect_hits(value, None, result)
    return result


def collect_hits(value, query, result):
    if isinstance(value, dict):
        query = value.get("query", query)
        for key in value:
            collect_hits(value[key], query, result)
    elif isinstance(value, list):
        for rank, item in enumerate(value, 1):
            if isinstance(item, dict) and "id" in item and "score" in item:
                result.append(f"{query}\t{item.get('rank', rank)}\t{item['id']}\t{item['score']}")
            else:
                collect_hits(item, query, result)
    elif isinstance(value, str) and query is None:
        result.append(value)


def compare(folder, against, names):
    """Prints for each check whether its result is that of the earlier run, with the first lines that differ."""
    counts = {"same": 0, "different": 0, "missing": 0}
    for name in names:
        old, new = against / f"{name}.txt", folder / f"{name}.txt"
        if not old.exists():
            state, shown = "missing", []
        elif old.read_bytes() == new.read_bytes():
            state, shown = "same", []
        else:
            state = "different"
            before, after = (p.read_text(encoding="utf-8").splitlines() for p in (old, new))
            changes = [line for line in difflib.unified_diff(before, after, lineterm="", n=0) if line[:3] not in ("---", "+++")]
            shown = [line[:200] for line in changes if not line.startswith("@@")]
        counts[state] += 1
        print(f"{state:9}  {name}")
        for line in shown[:8]:
            print(f"               {line}")
        if len(shown) > 8:
            print(f"               … {len(shown) - 8} more lines")
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return counts["different"] == counts["missing"] == 0


if __name__ == "__main__":
    main()
