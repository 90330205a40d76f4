"""Executes the notebooks of docs/notebooks, each in a kernel of its own, and compares the kinds of output with the committed ones.

python3 crates/clickvec-py/notebooks.py [--update]

What they say may differ: processors with other vector instructions learn other models. With --update the outputs are written.
Needs nbclient, ipykernel, pandas, and the package clickvec.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"
# Folders of the machine that ran it, and what only a warning or an error has.
UNWANTED = re.compile(rf"/tmp/|/home/|/root/|{re.escape(str(ROOT))}|ipykernel|Traceback|Warning")


def texts(cell):
    """What a cell has put out."""
    for output in cell.get("outputs", []):
        yield from [output["text"]] if "text" in output else output.get("data", {}).values()


def kinds(cell):
    """What kinds of output a cell has."""
    return [sorted(output.get("data", {output.get("name"): ""})) for output in cell.get("outputs", [])]


def main():
    paths = sorted(FOLDER.glob("*.ipynb"))
    if not paths:
        sys.exit(f"error: expected notebooks in {FOLDER}, found none")
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        before = [kinds(cell) for cell in notebook.cells]
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": FOLDER}}).execute()
        for number, cell in enumerate(notebook.cells):
            cell.metadata.pop("execution", None)
            if wrong := next((found for text in texts(cell) if (found := UNWANTED.search(text))), None):
                sys.exit(f"error: {path.name}: cell {number}: expected no `{wrong[0]}` in what it says:\n{wrong.string}")
            if "--update" not in sys.argv and kinds(cell) != before[number]:
                sys.exit(
                    f"error: {path.name}: cell {number}: expected {before[number]}, found {kinds(cell)}; "
                    "look at the notebook, and run this with --update"
                )
        if "--update" in sys.argv:
            notebook.metadata = {
                "kernelspec": notebook.metadata["kernelspec"],
                "language_info": {"name": "python"},
            }
            nbformat.write(notebook, path)
        print(path.name, f"{len(notebook.cells)} cells", sep=": ")


if __name__ == "__main__":
    main()
