#!/usr/bin/env bash
# Makes the source archive and the recipes that build from it: bash release/recipes.sh HOMEPAGE DOWNLOADS [FOLDER]
#
#   clickvec-VERSION.tar.gz   the committed sources
#   clickvec.rb               Homebrew
#   recipe.yaml               conda (rattler-build)
#   default.nix, Cargo.lock   Nix
#
# HOMEPAGE is the project's address, DOWNLOADS the one that the archive will be below. FOLDER is target/release-recipes by default. Checks
# each recipe with its own tool, where that is installed: ruby and rubocop, Python's package py-rattler-build, nix-instantiate.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $*" >&2
    exit 2
}

[ $# = 2 ] || [ $# = 3 ] || fail "expected a homepage, an address of downloads and at most one folder, found $# arguments"
for address in "$1" "$2"; do
    [[ "$address" =~ ^https://[^[:space:]@\|\"]+$ ]] || fail "expected an address that begins with https://, found $address"
done
[ -z "$(git status --porcelain)" ] || fail "expected a checkout without changes, since the archive has only what is committed; commit and run again"
folder="${3:-${CARGO_TARGET_DIR:-target}/release-recipes}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"

version="$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"name":"clickvec-cli","version":"\([^"]*\)".*/\1/')"
archive="clickvec-$version.tar.gz"
git archive --prefix="clickvec-$version/" HEAD | gzip -n9 >"$folder/$archive"
hash="$(sha256sum "$folder/$archive" | cut -d ' ' -f 1)"
for recipe in release/recipes/*; do
    sed -e "s|@VERSION@|$version|; s|@HOMEPAGE@|$1|; s|@URL@|${2%/}/$archive|; s|@SHA256@|$hash|; /release\/recipes.sh fills in/d" \
        "$recipe" >"$folder/${recipe##*/}"
    ! grep -nE '@[A-Z0-9]+@' "$folder/${recipe##*/}" || fail "expected every name between @ signs to be filled in, found the above in $recipe"
done
cp Cargo.lock "$folder"

# check NAME COMMAND: runs a check whose tool is there; otherwise says that it was not run.
check() {
    local name="$1"
    shift
    if [ "$name" = py-rattler-build ] && ! python3 -c 'import rattler_build' 2>/dev/null || ! command -v "$1" >/dev/null; then
        echo "NOT CHECKED by $name, which is not installed: $recipe"
    else
        local said
        said="$("$@" "$recipe" 2>&1)" || { echo "$said" >&2; fail "expected $name to find no fault in $recipe, found the above"; }
        echo "checked by $name: $recipe"
    fi
}
cd "$folder"
recipe=clickvec.rb
check ruby ruby -c
# The rest of the style is Homebrew's own: `brew style`.
check rubocop rubocop --only Lint,Security,Layout --except Layout/LineLength,Layout/SpaceAroundOperators
recipe=recipe.yaml
check py-rattler-build python3 -c 'import sys, rattler_build as conda
conda.Stage0Recipe.from_file(sys.argv[1]).render(conda.VariantConfig({"c_stdlib": ["sysroot"]}))'
recipe=default.nix
check nix-instantiate nix-instantiate --parse
ls -l
