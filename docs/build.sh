#!/usr/bin/env bash
# Makes a book of the documentation: bash docs/build.sh
# Writes target/book/index.html. Uses mdbook if it is on the path; otherwise installs it once below target/tools.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
mdbook="$(command -v mdbook || true)"
if [ -z "$mdbook" ]; then
    mdbook="$target/tools/bin/mdbook"
    if [ ! -x "$mdbook" ]; then
        # Without what serves and watches pages, and not optimised: that takes a third of the time. Once, about 60 s of processor time.
        cargo install mdbook --version 0.5.4 --locked --debug --no-default-features --features search --root "$target/tools"
    fi
fi
log="$target/book.log"
mkdir -p "$target"
"$mdbook" build --dest-dir "$(realpath -m "$target/book")" 2>&1 | tee "$log"
# A page that is missing or a link that mdBook cannot read is only a warning to it.
if grep -qE '\b(WARN|ERROR)\b' "$log"; then
    echo "error: expected a book without warnings, found the above" >&2
    exit 1
fi
rm -f "$target/book/build.sh"
