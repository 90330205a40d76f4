"""Commands of the program that work on files, run in a process of their own: ``prepare``, ``simulate``, ``table``.

They are the same program, so the words, the bytes and the exit status are the same. Ctrl-C stops them, and a crash of
theirs is not one of Python's.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ._errors import ProgramError, make
from ._settings import options
from ._tables import Path


def run(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Runs the program; returns its exit status and what it printed."""
    if not sys.executable:
        raise ProgramError("expected an interpreter that can be started again, found none in sys.executable")
    command = [sys.executable, "-m", "clickvec", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        try:
            out, err = process.communicate()
        except BaseException:
            # It has the same Ctrl-C, or gets SIGTERM: either way it cleans up.
            process.terminate()
            process.wait()
            raise
    if process.returncode in (130, -2):
        raise KeyboardInterrupt
    return process.returncode, out, err


def report(command: str, paths: Sequence[str], settings: dict[str, object]) -> dict[str, Any]:
    """The report of a command; its warnings become Python's."""
    status, out, err = run([*command.split(), *options(settings), "--json", *(["--", *paths] if paths else [])])
    if status not in (0, 1):
        lines = [line for line in err.splitlines() if line]
        place = next((number for number, line in enumerate(lines) if line.startswith("error: ")), 0)
        words = " ".join(lines[place:]).removeprefix("error: ").split("  Usage:")[0].split(" Usage:")[0].strip()
        # A file that cannot be opened is the same error as in this process.
        refused = re.fullmatch(r"(.+?): .*\(os error (\d+)\)", words)
        if refused:
            raise make("file", words, int(refused[2]), refused[1])
        raise ProgramError(words or f"`clickvec {command}` ended with {status}")
    for line in err.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line.removeprefix("warning: "), stacklevel=3)
    found: dict[str, Any] = json.loads(out)
    return found


def prepare(log: Path | Sequence[Path], output: Path, **settings: object) -> dict[str, Any]:
    """Turns raw logs into a table of clicked pairs, which :func:`train` reads; returns the report.

    ``settings`` are the options of ``clickvec prepare``, with ``_`` for ``-``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = prepare("testdata/shop/log.csv", f"{folder}/clicks.tsv", columns="item=sku",
    ...                     titles="testdata/shop/titles.tsv")
    >>> found["training"]["pairs"]
    1031
    """
    logs = [log] if isinstance(log, str | os.PathLike) else list(log)
    return report("prepare", [os.fspath(path) for path in logs], {"output": os.fspath(output), **settings})


def simulate(output: Path, **settings: object) -> dict[str, Any]:
    """Writes a click log whose truth is known to a folder; ``settings`` are the options of ``clickvec lab simulate``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     simulate(f"{folder}/world", set={"pairs": 1000, "titles": 500, "judged": 5, "validation": 5})["pairs"]
    1000
    """
    return report("lab simulate", [], {"output": os.fspath(output), **settings})


def table(spec: Path, **settings: object) -> dict[str, Any]:
    """Trains and compares the systems of a spec; ``settings`` are the options of ``clickvec lab table``."""
    return report("lab table", [os.fspath(spec)], settings)
