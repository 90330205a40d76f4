#!/usr/bin/env bash
# Makes the wheel that is handed out in FOLDER (default: target/release-wheels) for MACHINE, x86_64 or aarch64 (default: this one):
# bash release/wheels.sh [FOLDER] [MACHINE]
#
# For Linux with glibc 2.28 or later, as RHEL 8 has it. Builds with `zig cc`, which knows the symbols of every glibc. Needs cargo, for
# another machine than this one with its target (`rustup target add aarch64-unknown-linux-gnu`), and Python 3.10 or later; fetches
# maturin and zig into a virtual environment below target/. Then it checks what the wheel is for, its size, its licences, and that it
# works: for another machine with CLICKVEC_PYTHON, a command that runs that machine's Python (`qemu-aarch64 -L ROOT ROOT/usr/bin/python3`,
# where ROOT has the packages of arm64). Writes nothing outside of target/ and FOLDER.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $*" >&2
    exit 2
}

[ $# -le 2 ] || fail "expected at most a folder and a machine, found $# arguments"
[ "$(uname -s)" = Linux ] || fail "expected Linux, found $(uname -s)"
# The largest wheel, in bytes.
MOST=20000000
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
folder="${1:-$CARGO_TARGET_DIR/release-wheels}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
machine="${2:-$(uname -m)}"
target="$machine-unknown-linux-gnu"
[ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ] ||
    fail "expected the target $target, found none; run \`rustup target add $target\`"
rm -f "$folder"/clickvec-*"_$machine.whl"
tools="$CARGO_TARGET_DIR/wheel-tools"
[ -x "$tools/bin/maturin" ] || python3 -m venv "$tools"
"$tools/bin/pip" --quiet --disable-pip-version-check install "maturin>=1.10,<2" ziglang

PATH="$tools/bin:$PATH" "$tools/bin/maturin" build --locked --release --zig --compatibility manylinux_2_28 \
    --target "$target" --manifest-path crates/clickvec-py/Cargo.toml --out "$folder"

wheel="$(ls "$folder"/clickvec-*"_$machine.whl")"
case "$wheel" in
    *-abi3-*manylinux_2_28_"$machine".whl) ;;
    *) fail "expected a wheel of every Python for manylinux_2_28, found $wheel" ;;
esac
size="$(stat -c %s "$wheel")"
[ "$size" -lt "$MOST" ] || fail "expected a wheel of less than $MOST bytes, found $size"
rm -rf "$tools/wheel"
"$tools/bin/python" -m zipfile -e "$wheel" "$tools/wheel"
for file in LICENSE-MIT LICENSE-APACHE; do
    cmp "$file" "$tools"/wheel/clickvec-*.dist-info/licenses/"$file" || fail "expected the text of $file in the wheel, found another"
done
[ "$machine" != "$(uname -m)" ] || CLICKVEC_PYTHON="$tools/bin/python"
if [ -n "${CLICKVEC_PYTHON:-}" ]; then
    rm -rf "$tools/try"
    read -ra python <<<"$CLICKVEC_PYTHON"
    version="$("${python[@]}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    "$tools/bin/pip" --quiet --disable-pip-version-check install --target "$tools/try" --platform "manylinux_2_28_$machine" \
        --python-version "$version" --only-binary :all: "$wheel"
    PYTHONPATH="$tools/try" "${python[@]}" -c 'import clickvec; print(clickvec.Index.encode(clickvec.train([("couch", "leather sofa")] * 50, epochs=1, held_out=0, progress=False), ["leather sofa"]).search("couch", mode="vectors"))'
else
    echo "NOT TRIED, because CLICKVEC_PYTHON does not name a Python for $machine: $wheel"
fi
[ -z "$(git status --porcelain)" ] || { git status --short >&2; fail "expected a checkout as it was, found the above"; }
echo "$wheel: $size bytes"
