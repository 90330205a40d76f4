"""Sentence vectors learned from a search engine's click log.

>>> import clickvec
>>> clicks = [("couch", "leather sofa", 3.0), ("desk lamp", "lamp for a desk"), ("couch", "sofa in grey")] * 20
>>> model = clickvec.train(clicks, epochs=2, progress=False)
>>> model.encode_query(["lether couch", "lamp"]).shape
(2, 96)
>>> index = clickvec.Index.encode(model, ["leather sofa", "lamp for a desk"])
>>> index.search("lether couch", k=1)[0].title
'leather sofa'
"""

import os as _os

from . import rankers
from ._clickvec import __version__, after_fork, before_fork, set_threads
from ._errors import Error, FileAccessError, FileError, InternalError, MissingFileError
from .evaluation import Evaluation, TTest, evaluate
from .explanation import Explanation, Word
from .files import Inspected, export, inspect
from .index import BatchResults, Index, Result, Results
from .judging import Graded, Verdict, judge
from .lab import simulate, table
from .logs import prepare
from .model import Model, load
from .training import train, update

# Work on other threads ends before a process is forked, so that the new one finds no lock that nobody unlocks.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=after_fork)

__all__ = [
    "BatchResults",
    "Error",
    "Evaluation",
    "Explanation",
    "FileAccessError",
    "FileError",
    "Graded",
    "Index",
    "Inspected",
    "InternalError",
    "MissingFileError",
    "Model",
    "Result",
    "Results",
    "TTest",
    "Verdict",
    "Word",
    "__version__",
    "evaluate",
    "export",
    "inspect",
    "judge",
    "load",
    "prepare",
    "rankers",
    "set_threads",
    "simulate",
    "table",
    "train",
    "update",
]
