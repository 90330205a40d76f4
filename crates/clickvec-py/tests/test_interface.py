"""What version 1 promises: every call that is public, with its arguments (testdata/frozen/interface/python.txt)."""

import difflib
import os
import subprocess
import sys

from conftest import ROOT


def test_the_interface_is_that_of_version_1():
    command = [sys.executable, ROOT / "crates" / "clickvec-py" / "reference.py", "--interface"]
    found = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    path = ROOT / "testdata" / "frozen" / "interface" / "python.txt"
    if os.environ.get("CLICKVEC_RENEW"):
        path.write_text(found, encoding="utf-8")
    changed = "\n".join(difflib.unified_diff(path.read_text(encoding="utf-8").splitlines(), found.splitlines(), "frozen", "now", lineterm="", n=0))
    assert not changed, f"{changed}\nSee docs/reference/stability.md. To accept this, run the test with CLICKVEC_RENEW=1 and commit the file."
