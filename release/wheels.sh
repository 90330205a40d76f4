#!/usr/bin/env bash
# Makes the wheel that is handed out in FOLDER (default: target/release-wheels): bash release/wheels.sh [FOLDER]
#
# For Linux with glibc 2.28 or later, as RHEL 8 has it, on the processor of this machine (x86-64 or aarch64). Builds with `zig cc`,
# which knows the symbols of every glibc. Needs cargo and Python 3.10 or later; fetches maturin and zig into a virtual environment below
# target/. Then it checks what the wheel is for, its size, its licences, and that it works. Writes nothing outside of target/ and FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $*" >&2
    exit 2
}

[ $# -le 1 ] || fail "expected at most one folder, found $# arguments"
[ "$(uname -s)" = Linux ] || fail "expected Linux, found $(uname -s)"
# The largest wheel, in bytes.
MOST=20000000
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
folder="${1:-$CARGO_TARGET_DIR/release-wheels}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
rm -f "$folder"/clickvec-*.whl
tools="$CARGO_TARGET_DIR/wheel-tools"
[ -x "$tools/bin/maturin" ] || python3 -m venv "$tools"
"$tools/bin/pip" --quiet --disable-pip-version-check install "maturin>=1.10,<2" ziglang

PATH="$tools/bin:$PATH" "$tools/bin/maturin" build --locked --profile dist --zig --compatibility manylinux_2_28 \
    --manifest-path crates/clickvec-py/Cargo.toml --out "$folder"

wheel="$(ls "$folder"/clickvec-*.whl)"
case "$wheel" in
    *-abi3-*manylinux_2_28_"$(uname -m)".whl) ;;
    *) fail "expected a wheel of every Python for manylinux_2_28, found $wheel" ;;
esac
size="$(stat -c %s "$wheel")"
[ "$size" -lt "$MOST" ] || fail "expected a wheel of less than $MOST bytes, found $size"
for file in LICENSE-MIT LICENSE-APACHE; do
    "$tools/bin/python" -m zipfile -l "$wheel" | grep -q "licenses/.*$file" || fail "expected $file in the wheel, found none"
done
rm -rf "$tools/try"
python3 -m venv "$tools/try"
"$tools/try/bin/pip" --quiet --disable-pip-version-check install "$wheel"
(cd "$tools" && try/bin/python -c 'import clickvec; print(clickvec.Index.encode(clickvec.train([("couch", "leather sofa")] * 50, epochs=1, held_out=0, progress=False), ["leather sofa"]).search("couch", mode="vectors"))')
[ -z "$(git status --porcelain)" ] || { git status --short >&2; fail "expected a checkout as it was, found the above"; }
echo "$wheel: $size bytes"
