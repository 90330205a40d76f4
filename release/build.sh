#!/usr/bin/env bash
# Makes the release files in FOLDER (default: target/release-files) for MACHINE, x86_64 or aarch64 (default: this one):
# bash release/build.sh [FOLDER] [MACHINE]
#
#   clickvec-VERSION-TARGET.tar.gz   the program, linked statically, manual pages, completions, licences
#   clickvec_VERSION_ARCH.deb        the same as a Debian package, if dpkg-deb is installed; lintian checks it, if it is
#   SHA256SUMS
#
# Needs cargo and tar. The program is built for musl where that target is installed (`rustup target add
# x86_64-unknown-linux-musl`), otherwise for glibc, linked statically. The script tries what it has made. For another machine than this
# one it needs that target and qemu (qemu-user-static on Debian), and gets zig, which compiles and links C for any machine, with
# cargo-zigbuild by pip into a virtual environment below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"

fail() {
    echo "error: $*" >&2
    exit 2
}

[ $# -le 2 ] || fail "expected at most a folder and a machine, found $# arguments"
[ "$(uname -s)" = Linux ] || fail "expected Linux, found $(uname -s)"
for tool in cargo rustc tar sha256sum readelf; do
    command -v "$tool" >/dev/null || fail "expected \`$tool\` on the path, found none; install it and run again"
done
folder="${1:-${CARGO_TARGET_DIR:-target}/release-files}"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"

machine="${2:-$(uname -m)}"
case "$machine" in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) fail "expected x86_64 or aarch64, found $machine" ;;
esac
target="$machine-unknown-linux-musl"
has_target=
[ ! -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ] || has_target=1
# The words before a program of that machine that run it here, and cargo's command.
runner=() build=(cargo build)
if [ "$machine" != "$(uname -m)" ]; then
    [ -n "$has_target" ] || fail "expected the target $target, found none; run \`rustup target add $target\`"
    runner=("qemu-$machine-static")
    command -v "${runner[0]}" >/dev/null || fail "expected \`${runner[0]}\` on the path, found none; install it and run again"
    tools="${CARGO_TARGET_DIR:-target}/release-tools"
    [ -x "$tools/bin/cargo-zigbuild" ] || python3 -m venv "$tools"
    "$tools/bin/pip" --quiet --disable-pip-version-check install ziglang cargo-zigbuild
    PATH="$(cd "$tools/bin" && pwd):$PATH"
    build=(cargo zigbuild)
elif [ -z "$has_target" ]; then
    target="$machine-unknown-linux-gnu"
    echo "note: the target $machine-unknown-linux-musl is not installed; building for $target with its C library inside"
fi
version="$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"name":"clickvec-cli","version":"\([^"]*\)".*/\1/')"
# Files get the time of the last commit, so that the same commit gives the same archive.
epoch="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

echo "== clickvec $version for $target"
# With --target, these flags do not affect build scripts and macros.
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
    "${build[@]}" --profile dist --locked --target "$target" -p clickvec-cli
program="${CARGO_TARGET_DIR:-target}/$target/dist/clickvec"
if readelf -d "$program" 2>/dev/null | grep -q NEEDED; then
    readelf -d "$program" | grep NEEDED >&2
    fail "expected a program that needs no shared library, found one that does"
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
name="clickvec-$version-$target"

run() { "${runner[@]}" "$@"; }

# stage PREFIX: installs the files as they are below /usr.
stage() {
    install -D -m 755 "$program" "$1/bin/clickvec"
    run "$program" man --output "$1/share/man/man1" 2>/dev/null
    mkdir -p "$1/share/bash-completion/completions" "$1/share/zsh/vendor-completions" "$1/share/fish/vendor_completions.d"
    run "$program" completions bash >"$1/share/bash-completion/completions/clickvec"
    run "$program" completions zsh >"$1/share/zsh/vendor-completions/_clickvec"
    run "$program" completions fish >"$1/share/fish/vendor_completions.d/clickvec.fish"
    for file in LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md; do
        install -D -m 644 "$root/$file" "$1/share/doc/clickvec/$file"
    done
}

stage "$work/$name"
tar --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" \
    --use-compress-program="gzip -n9" -cf "$folder/$name.tar.gz" "$name"
made=("$name.tar.gz")

if command -v dpkg-deb >/dev/null; then
    package="$work/package"
    stage "$package/usr"
    gzip -n9 "$package"/usr/share/man/man1/*.1
    # As Debian names them; its systems have the text of the second licence.
    doc="$package/usr/share/doc/clickvec"
    maintainer="${DEBFULLNAME:-The clickvec authors} <${DEBEMAIL:-}>"
    gzip -n9 >"$doc/changelog.gz" <<CHANGES
clickvec ($version) unstable; urgency=medium

  * CHANGELOG.md.gz in this folder has the changes.

 -- $maintainer  $(LC_ALL=C date --utc --date="@$epoch" --rfc-email)
CHANGES
    gzip -n9 "$doc/CHANGELOG.md"
    rm "$doc"/LICENSE-*
    cat >"$doc/copyright" <<COPYRIGHT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: clickvec

Files: *
Copyright: $(date --utc --date="@$epoch" +%Y) The clickvec authors
License: Expat or Apache-2.0

License: Expat
$(sed 's/^$/./; s/^/ /' LICENSE-MIT)

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
COPYRIGHT
    # Linked statically on purpose, with zstd inside, so that one package serves every release of Debian.
    install -d "$package/usr/share/lintian/overrides"
    printf 'clickvec: %s [usr/bin/clickvec]\n' statically-linked-binary shared-library-lacks-prerequisites "embedded-library *" \
        >"$package/usr/share/lintian/overrides/clickvec"
    mkdir "$package/DEBIAN"
    cat >"$package/DEBIAN/control" <<CONTROL
Package: clickvec
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -ks "$package/usr" | cut -f1)
Section: science
Priority: optional
Description: sentence vectors learned from a search engine's click log
 clickvec learns sentence vectors from pairs of a query and a clicked title,
 says whether they rank better than BM25, and searches with them.
CONTROL
    find "$package" -exec touch --no-dereference --date="@$epoch" {} +
    deb="clickvec_${version}_$architecture.deb"
    SOURCE_DATE_EPOCH="$epoch" dpkg-deb --root-owner-group --build "$package" "$folder/$deb" >/dev/null
    made+=("$deb")
    if command -v lintian >/dev/null; then
        # Only who hands the package out knows an address (DEBEMAIL).
        suppressed="${DEBEMAIL:+none}"
        lintian --fail-on error,warning --suppress-tags "${suppressed:-malformed-contact,bogus-mail-host-in-debian-changelog}" "$folder/$deb"
    else
        echo "NOT CHECKED by lintian, which is not installed: $deb"
    fi
else
    echo "NOT MADE: the Debian package, because dpkg-deb is not on the path"
fi

echo "== trying what was made"
# try PROGRAM MAN: checks that the program trains and searches, and that its manual pages exist.
try() {
    [ "$(run "$1" --version)" = "clickvec $version" ] || fail "expected clickvec $version, found $(run "$1" --version)"
    run "$1" train --clicks testdata/shop/clicks.tsv --output "$work/shop.safetensors" --epochs 1 --set encoder.cells=8 2>/dev/null
    run "$1" index --model "$work/shop.safetensors" --titles testdata/shop/titles.tsv --output "$work/shop.index"
    run "$1" search "$work/shop.index" -k 1 "leather couch" >/dev/null
    [ -s "$2" ] || fail "expected a manual page $2, found none"
}
mkdir "$work/archive"
tar --directory "$work/archive" -xf "$folder/$name.tar.gz"
try "$work/archive/$name/bin/clickvec" "$work/archive/$name/share/man/man1/clickvec-train.1"
if [ "${#made[@]}" = 2 ]; then
    dpkg-deb -x "$folder/${made[1]}" "$work/root"
    try "$work/root/usr/bin/clickvec" "$work/root/usr/share/man/man1/clickvec-train.1.gz"
fi
# With those of the other machine, if they are there.
(cd "$folder" && shopt -s nullglob && sha256sum "clickvec-$version-"*.tar.gz "clickvec_${version}_"*.deb | tee SHA256SUMS)
ls -l "$folder"
