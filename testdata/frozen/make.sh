#!/usr/bin/env bash
# Writes a file of each form, and what a program reads from it: bash testdata/frozen/make.sh PROGRAM FOLDER
#
# For a new version of a form only, into a new folder beside the others, by the first program that writes it. Once released, what
# lies here is never made anew: it shows that later programs still read what earlier ones wrote.
# A second program, whose `MANY_VECTORS` (crates/clickvec-index/src/parts/vectors) is 0, writes lists of 40 titles, as no other does: make.sh PROGRAM FOLDER PROGRAM_OF_LISTS
set -euo pipefail
program="$(realpath "$1")"
lists_program="$(realpath "${3:-$1}")"
mkdir -p "$2"
shop="$(cd "$(dirname "$0")/../shop" && pwd)"
cd "$2"
# The level that every machine has, so that a run can be resumed everywhere.
export CLICKVEC_LEVEL=plain
work="$(mktemp -d)"
trap 'rm -r "$work"' EXIT

head -n 301 "$shop/clicks.tsv" > clicks.tsv
head -n 41 "$shop/titles.tsv" > titles.tsv
head -n 61 "$shop/judged.tsv" > judged.tsv
cut -f 1 judged.tsv | tail -n +2 | uniq | head -n 8 > texts

# Vectors as another program might have trained them.
cut -f 2 titles.tsv | tail -n +2 | tr ' ' '\n' | tr A-Z a-z | grep '^[a-z]*$' | sort -u | head -n 30 \
    | awk '{ printf "%s", $1; for (i = 0; i < 3; i++) printf " %.1f", (NR * 7 + i * 13) % 19 / 10 - 0.9; print "" }' \
    > words.txt

small=(--clicks clicks.tsv --set max_trigrams=200 --set batch_size=32 --set seed=3)
model() {
    "$program" train "${small[@]}" --epochs 2 --output "$1.safetensors" "${@:2}" 2> "$work/log"
    for side in query title; do
        "$program" embed "$1.safetensors" --side "$side" texts > "$1.$side.jsonl"
    done
}
model dssm --encoder dssm --set encoder.layers=6,4
model clsm --encoder clsm --set encoder.convolution=6 --set encoder.semantic=4
model layers --encoder clsm --set encoder.convolution=6 --set encoder.hidden=5 --set encoder.semantic=4
model rnn --encoder rnn --set encoder.hidden=4
model lstm --set encoder.cells=4 --set encoder.forget_gate=true --set encoder.peephole=full --set shared_towers=false
model bilstm --encoder bilstm --set encoder.cells=3 --set encoder.peephole=diagonal
model gru --encoder gru --set encoder.cells=4
model members --encoder members --set encoder.cells=3 --set encoder.members=2
model stacked --encoder stacked --set encoder.layers=4,3
model words --set encoder.cells=4 --set word_count=3
model projected --encoder members --set encoder.cells=3 --set encoder.members=2 --set encoder.dimension=4

"$program" index --model lstm.safetensors --titles titles.tsv --output index 2> "$work/log"
"$program" search index --mode vectors --json -k 5 < texts > index.search.jsonl

# Indexes with words, a column and an update.
awk '{ print $0 "\t" (NR == 1 ? "brand" : "brand " NR % 3) }' titles.tsv > "$work/stored.tsv"
head -n 32 "$work/stored.tsv" > "$work/first.tsv"
sed '2,29d' "$work/stored.tsv" > "$work/later.tsv"
cut -f 1 titles.tsv | sed -n '3p;5p' > "$work/gone"
for form in f32 f16 int8; do
    "$program" index --model lstm.safetensors --titles "$work/first.tsv" --store brand --vectors $form --output whole-$form 2> "$work/log"
    "$program" update whole-$form --add "$work/later.tsv" --delete "$work/gone" 2> "$work/log"
    for mode in vectors words fused; do
        "$program" search whole-$form --mode $mode --json -k 5 --filter "brand=brand 0|brand 2" < texts > whole-$form.$mode.jsonl
    done
done

# Trains rankers of the lab into a folder, each under its name.
lab() {
    mkdir -p "$1"
    for ranker in "${@:2}"; do
        "$program" lab table --judged judged.tsv --titles titles.tsv --clicks clicks.tsv --ranker "$ranker" --cache "$work/${ranker%%:*}" > "$work/log"
        mv "$work/${ranker%%:*}"/models/*.safetensors "$1/$(tr : _ <<< "$ranker").safetensors"
    done
}
lab rankers ulm lsa:dimensions=4 plsa:topics=3,iterations=5 lda:topics=3,sweeps=10 bltm:topics=3,iterations=5 \
    wtm:iterations=2,prune=0.05 ptm:iterations=2,prune=0.05 mrf lce doc2vec:size=4,epochs=2
cp rnn.safetensors rankers/
"$program" evaluate --judged judged.tsv --titles titles.tsv --clicks clicks.tsv bm25 \
    trigram vectors:file=words.txt \
    --save-rankers rankers --json > "$work/evaluated"
rankers=()
for ranker in rankers/*; do rankers+=("$ranker"); done
"$program" evaluate --judged judged.tsv --titles titles.tsv "${rankers[@]}" --output "$work/judged" > /dev/null
mv "$work/judged/per-query.tsv" rankers.tsv

# A run that was stopped, in a folder: its checkpoint, the best model so far, and what it comes to when it goes on.
stopped() {
    mkdir -p "$1"
    "$program" "${@:2}" --output "$work/whole" 2> "$work/log"
    "$program" "${@:2}" --output "$work/stopped" --checkpoint-every 1 2> "$work/log" &
    while [ ! -e "$work/stopped.partial" ] || [ ! -e "$work/stopped.checkpoint" ]; do sleep 0.01; done
    # Some epochs on, so that the checkpoint knows of a best one.
    sleep 0.3
    kill -9 $!
    wait $! || true
    mv "$work/whole" "$1/whole.safetensors"
    mv "$work/stopped.partial" "$1/stopped.partial"
    mv "$work/stopped.checkpoint" "$1/stopped.checkpoint"
    printf '%s\n' "${@:2}" > "$1/arguments"
}
stopped checkpoint train "${small[@]}" --set encoder.cells=4 --validation judged.tsv --epochs 300

# Rankers with other parameters, and an index with weights of a user and an update.
tiny=(--clicks clicks.tsv --set max_trigrams=100 --set batch_size=32 --set seed=3 --set word_count=none)
"$program" train "${tiny[@]}" --encoder members --set encoder.cells=2 --set encoder.members=2 --epochs 2 --output "$work/tiny.safetensors" 2> "$work/log"
lab three-rankers lda:topics=3,sweeps=10,clicked=1
judge() {
    "$program" evaluate --judged judged.tsv --titles titles.tsv "$1"/* --output "$work/judged" > /dev/null
    mv "$work/judged/per-query.tsv" "$1.tsv"
}
for folder in three-rankers terms-rankers; do
    bm25=bm25
    [ $folder = three-rankers ] || bm25=bm25:k1=0.5,stem=1,split=1
    "$program" evaluate --judged judged.tsv --titles titles.tsv $bm25 trigram --save-rankers $folder --json > "$work/evaluated"
    cp "$work/tiny.safetensors" $folder/
    judge $folder
done
weighted() {
    "$program" index --model "$work/tiny.safetensors" --titles <(head -n 32 titles.tsv) --output "$@" 2> "$work/log"
    "$program" update "$1" --add <(sed '2,29d' titles.tsv) --delete <(sed -n 3p titles.tsv | cut -f 1) 2> "$work/log"
    for mode in vectors words fused; do
        "$program" search "$1" --mode $mode --json -k 5 < texts > "$1.$mode.jsonl"
    done
}
weighted three --words exact --fusion z-score --weights vectors=1,words=1,trigrams=1
weighted linear --words exact --weights vectors=0.8,words=0.01,trigrams=0.2
# `texts` has plurals and numbers with units too.
weighted terms --weights vectors=0.8,words=0.01,trigrams=0.2

# A stopped run of a model with members that learns from titles first.
stopped checkpoint-members train "${tiny[@]}" --titles titles.tsv --encoder members --set encoder.cells=2 --set encoder.members=2 --set titles.epochs=3 --validation judged.tsv --epochs 300

# The two shards of an index.
mkdir -p shards
for shard in 1 2; do
    "$program" index --model lstm.safetensors --titles titles.tsv --shard $shard/2 --output shards/$shard 2> "$work/log"
done
"$program" index --join shards/1 shards/2 --output "$work/joined" 2> "$work/log"
"$program" search "$work/joined" --mode vectors --json -k 5 < texts > shards.search.jsonl

# Vectors in lists, with a column.
"$lists_program" index --model lstm.safetensors --titles "$work/stored.tsv" --store brand --output lists 2> "$work/log"
for mode in vectors words fused; do
    "$lists_program" search lists --mode $mode --json -k 5 --filter "brand=brand 0|brand 2" < texts > lists.$mode.jsonl
done
