#!/usr/bin/env python3
"""Count the public items of a crate, as its documentation shows them.

cargo doc --no-deps -p clickvec && python3 bench/public_items.py target/doc/clickvec

Items are the lines of all.html: structs, enums, traits, functions, constants, macros, type aliases. Methods are those of a type or a trait
itself, without those of implemented traits; fields and variants are those of structs and enums. What is hidden is not counted.
"""
import re
import sys
from pathlib import Path


def main():
    folder = Path(sys.argv[1])
    pages = re.findall(r'<li><a href="([^"]+)">', (folder / "all.html").read_text())
    counts = {}
    for page in pages:
        kind = page.rsplit("/", 1)[-1].split(".")[0]
        counts[kind] = counts.get(kind, 0) + 1
    modules = sum(1 for page in folder.rglob("index.html")) - 1
    members = {"method": 0, "field": 0, "variant": 0}
    for page in pages:
        # Implementations of traits come after the methods of the type itself.
        text = re.split(r'id="(?:trait-implementations|implementors)', (folder / page).read_text())[0]
        members["method"] += len(re.findall(r'<section id="(?:method|tymethod)\.', text))
        members["variant"] += len(re.findall(r'<section id="variant\.[^".]+"', text))
        members["field"] += len(re.findall(r'<span id="(?:structfield|variant\.[^".]+\.field)\.', text))
    print(f"items: {len(pages)} ({', '.join(f'{kind} {count}' for kind, count in sorted(counts.items()))}), modules: {modules}")
    print(", ".join(f"{kind}s: {count}" for kind, count in members.items()))


if __name__ == "__main__":
    main()
