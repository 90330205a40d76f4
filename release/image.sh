#!/usr/bin/env bash
# Makes the container image and starts it once: bash release/image.sh PROGRAM [FILE]
#
# PROGRAM is linked statically, as release/build.sh makes it. FILE is the image as an archive that docker and podman load
# (target/clickvec-image.tar by default). Needs buildah, which needs no daemon, and curl; nothing is downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $*" >&2
    exit 2
}

[ $# = 1 ] || [ $# = 2 ] || fail "expected a program and at most one file, found $# arguments"
for tool in buildah curl readelf; do
    command -v "$tool" >/dev/null || fail "expected \`$tool\` on the path, found none; install it and run again"
done
! readelf -d "$1" | grep NEEDED >&2 || fail "expected a program that needs no shared library, found the above; make it with release/build.sh"
image="$(realpath "${2:-${CARGO_TARGET_DIR:-target}/clickvec-image.tar}")"
version="$("$1" --version | cut -d ' ' -f 2)"

work="$(mktemp -d)"
builder() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
server=
clean_up() {
    [ -z "$server" ] || kill -- "-$server" 2>/dev/null || true
    builder rm --all >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap clean_up EXIT

mkdir "$work/context"
install -m 755 "$1" "$work/context/clickvec"
builder bud --isolation chroot --timestamp "$(git log -1 --format=%ct)" --tag "clickvec:$version" \
    --file release/Containerfile "$work/context"

echo "== starting the image"
"$1" train --clicks testdata/shop/clicks.tsv --output "$work/shop.safetensors" --epochs 1 --set encoder.cells=8 2>/dev/null
mkdir "$work/data"
"$1" index --model "$work/shop.safetensors" --titles testdata/shop/titles.tsv --output "$work/data/shop.index"
chmod -R a+rX "$work/data"
container="$(builder from --pull-never "clickvec:$version")"
port=$((20000 + $$ % 20000))
# What ENTRYPOINT has, at another port and for this machine only.
setsid buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs run --isolation chroot \
    --user 10001 --volume "$work/data:/data:ro" "$container" -- \
    /clickvec serve --listen "127.0.0.1:$port" shop=/data/shop.index 2>"$work/log" &
server=$!
for _ in $(seq 100); do
    if curl --silent --fail "http://127.0.0.1:$port/health/ready" >/dev/null; then
        break
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
found="$(curl --silent --fail "http://127.0.0.1:$port/search?q=leather+couch&k=1")" || { cat "$work/log" >&2; fail "expected an answer of the service in the image, found none"; }
grep -q '"title"' <<<"$found" || fail "expected a title, found $found"

rm -f "$image"
builder push --quiet "clickvec:$version" "docker-archive:$image:clickvec:$version"
echo "clickvec:$version is $(du -h "$image" | cut -f 1) in $image; load it with docker load -i or podman load -i"
