#!/usr/bin/env bash
# Makes a book of the documentation: bash docs/build.sh
# Writes target/book/index.html. Uses mdbook if it is on the path; otherwise installs it once below target/tools. Needs Python 3.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
mdbook="$(command -v mdbook || true)"
if [ -z "$mdbook" ]; then
    mdbook="$target/tools/bin/mdbook"
    if [ ! -x "$mdbook" ]; then
        # Without what serves and watches pages, and neither optimised nor for a debugger: that takes a quarter of the time.
        CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 cargo install mdbook --version 0.5.4 --locked --debug --no-default-features --features search --root "$target/tools"
    fi
fi
log="$target/book.log"
# A copy, with the pages about the Python package and the service, which are made from docstrings and from the service's description.
source="$target/book-source"
rm -rf "$source"
mkdir -p "$source"
cp -r book.toml docs "$source"
python3 crates/clickvec-py/reference.py >"$source/docs/reference/python.md"
python3 crates/clickvec-serve/reference.py >"$source/docs/reference/http.md"
sed -i 's|^# Explanation|- [Fields of the HTTP API](reference/http.md)\n- [The Python package](reference/python.md)\n\n&|' "$source/docs/SUMMARY.md"
"$mdbook" build --dest-dir "$(realpath -m "$target/book")" "$source" 2>&1 | tee "$log"
# A page that is missing or a link that mdBook cannot read is only a warning to it.
if grep -qE '\b(WARN|ERROR)\b' "$log"; then
    echo "error: expected a book without warnings, found the above" >&2
    exit 1
fi
rm -f "$target/book/build.sh"
