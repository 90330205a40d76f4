"""Says which Python packages a script of this folder lacks, instead of a traceback."""
import sys
from importlib.util import find_spec
from pathlib import Path

# What a package is called where it is installed from, if not as in Python.
NAMES = {"sklearn": "scikit-learn", "pytrec_eval": "pytrec-eval-terrier", "rank_bm25": "rank-bm25"}
NAMES |= {"sentence_transformers": "sentence-transformers"}


def packages(*modules):
    """Ends the program with a message if one of the modules is not there."""
    lacking = [NAMES.get(module, module) for module in modules if find_spec(module) is None]
    if lacking:
        script = Path(sys.argv[0]).name
        sys.exit(
            f"error: {script} needs the Python packages {' '.join(lacking)}, which are not there; "
            f"install them: {sys.executable} -m pip install {' '.join(lacking)}; bench/requirements.txt lists those of all scripts"
        )
