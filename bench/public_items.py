#!/usr/bin/env python3
"""Count the public items of crates, as their documentation shows them, or compare them with a frozen list.

cargo doc --no-deps && python3 bench/public_items.py target/doc/clickvec
python3 bench/public_items.py --frozen testdata/frozen/interface/rust.txt target/doc/clickvec target/doc/clickvec_index …

Items are the lines of all.html: structs, enums, traits, functions, constants, macros, type aliases. Methods are those of a type or a trait
itself, without those of implemented traits; fields and variants are those of structs and enums. What is hidden is not counted.
A line of the frozen list is an item with its methods, fields and variants. With CLICKVEC_RENEW=1 the list is written anew.
"""
import argparse
import difflib
import os
import re
import sys
from pathlib import Path

#: By kind, how the documentation marks members.
MEMBERS = {
    "method": r'<section id="(?:method|tymethod)\.([^".]+)"',
    "field": r'<span id="(?:structfield|variant\.[^".]+\.field)\.([^".]+)"',
    "variant": r'<section id="variant\.([^".]+)"',
}


def items(folder):
    """The kind, path and members, by kind, of each item of a crate."""
    for page in re.findall(r'<li><a href="([^"]+)">', (folder / "all.html").read_text()):
        *modules, name = page.removesuffix(".html").split("/")
        kind, name = name.split(".")
        # Implementations of traits come after the methods of the type itself.
        text = re.split(r'id="(?:trait-implementations|implementors)', (folder / page).read_text())[0]
        yield kind, "::".join([folder.name, *modules, name]), {of: re.findall(pattern, text) for of, pattern in MEMBERS.items()}


def count(folder):
    found = list(items(folder))
    kinds = [kind for kind, _, _ in found]
    counts = ", ".join(f"{kind} {kinds.count(kind)}" for kind in sorted(set(kinds)))
    modules = sum(1 for page in folder.rglob("index.html")) - 1
    print(f"items: {len(found)} ({counts}), modules: {modules}")
    print(", ".join(f"{of}s: {sum(len(members[of]) for _, _, members in found)}" for of in MEMBERS))


def compare(folders, frozen):
    lines = sorted(f"{kind} {path}: {' '.join(sorted(set(sum(members.values(), []))))}".rstrip(": ") for folder in folders for kind, path, members in items(folder))
    if os.environ.get("CLICKVEC_RENEW"):
        frozen.write_text("\n".join(lines) + "\n")
    changed = list(difflib.unified_diff(frozen.read_text().splitlines(), lines, str(frozen), "now", lineterm="", n=0))
    if changed:
        sys.exit("\n".join(changed) + "\nerror: expected the public items of the frozen list, found the above; see docs/reference/stability.md. To accept this, run again with CLICKVEC_RENEW=1 and commit the list.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--frozen", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.frozen:
        compare(arguments.folders, arguments.frozen)
    else:
        for folder in arguments.folders:
            count(folder)


if __name__ == "__main__":
    main()
