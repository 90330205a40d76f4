"""Sentence vectors learned from a search engine's click log.

>>> import clickvec
>>> clicks = [("couch", "leather sofa", 3.0), ("desk lamp", "lamp for a desk"), ("couch", "sofa in grey")] * 20
>>> model = clickvec.train(clicks, epochs=2, progress=False)
>>> model.encode_query(["lether couch", "lamp"]).shape
(2, 96)
>>> searcher = clickvec.Searcher(model, ["leather sofa", "lamp for a desk"])
>>> searcher.search("lether couch", k=1)[0].title
'leather sofa'
"""

import os as _os

from . import rankers
from ._clickvec import __version__, after_fork, before_fork, set_threads
from ._errors import Error, FileAccessError, FileError, InternalError, MissingFileError, ProgramError
from ._program import prepare, simulate, table
from .evaluation import Evaluation, Test, evaluate
from .explanation import Explanation, Word
from .model import Model, load
from .search import Found, Results, Searcher, build_index
from .training import TrainSettings, train

# Work on other threads ends before a process is forked, so that the new one finds no lock that nobody unlocks.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=after_fork)

__all__ = [
    "Error",
    "Evaluation",
    "Explanation",
    "FileAccessError",
    "FileError",
    "Found",
    "InternalError",
    "MissingFileError",
    "Model",
    "ProgramError",
    "Results",
    "Searcher",
    "Test",
    "TrainSettings",
    "Word",
    "__version__",
    "build_index",
    "evaluate",
    "load",
    "prepare",
    "rankers",
    "set_threads",
    "simulate",
    "table",
    "train",
]
