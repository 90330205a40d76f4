"""The native half of the package."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from ._types import Files, How, SearchHow

__all__ = [
    "Index",
    "Model",
    "Ranker",
    "Table",
    "__version__",
    "after_fork",
    "before_fork",
    "check_index",
    "build",
    "evaluate",
    "export",
    "inspect",
    "join_indexes",
    "judge",
    "load_ranker",
    "prepare",
    "run",
    "set_threads",
    "simulate",
    "systems",
    "table",
    "train",
    "train_ranker",
    "update",
    "update_index",
]
__version__: str

@final
class Model:
    @staticmethod
    def load(path: str) -> Model: ...
    @staticmethod
    def from_bytes(data: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def shared_towers(self) -> bool: ...
    @property
    def encoder(self) -> str: ...
    @property
    def parameters(self) -> int: ...
    def training(self) -> dict[str, Any]: ...
    def encode(self, texts: object, side_name: str) -> NDArray[np.float32]: ...
    def explain(self, query: str, title: str) -> dict[str, Any]: ...

@final
class Index:
    @staticmethod
    def open(path: str) -> Index: ...
    @staticmethod
    def encode(
        model: Model,
        titles: str,
        output: str | None,
        store: Sequence[str],
        field: str | None,
        options: dict[str, str],
        tell: Callable[[dict[str, Any]], object],
    ) -> Index: ...
    def __len__(self) -> int: ...
    def facts(self) -> dict[str, Any]: ...
    @property
    def field(self) -> str: ...
    @property
    def stored_fields(self) -> list[str]: ...
    def model(self) -> Model: ...
    def search(self, query: str, how: SearchHow) -> dict[str, Any]: ...
    def search_batch(
        self, queries: object, how: SearchHow, tell: Callable[[dict[str, Any]], object]
    ) -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[np.float32], list[Literal["no words", "unknown words"] | None]]: ...
    def get(self, id: str) -> list[Any] | None: ...

@final
class Table:
    def __new__(
        cls, object: object, name: str, columns: Sequence[str], optional: Sequence[str], numbered: bool
    ) -> Table: ...
    @property
    def path(self) -> str: ...

@final
class Ranker:
    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> dict[str, float]: ...
    def score(self, query: str, titles: object) -> NDArray[np.float64]: ...
    def save(self, path: str) -> None: ...

def train(
    clicks: object,
    titles: Sequence[str],
    init: Model | None,
    teachers: Sequence[str | tuple[Sequence[str], NDArray[np.float32]]],
    output: str | None,
    validation: tuple[str, str | None, str | None] | None,
    settings: str,
    checkpoint_every: int | None,
    resume: bool,
    scratch: str | None,
    tell: Callable[[dict[str, Any]], object],
) -> Model: ...
def build(
    logs: Sequence[str],
    titles: str,
    output: str,
    columns: str | None,
    judged: str | None,
    teachers: Sequence[str],
    store: Sequence[str],
    fast: bool,
    settings: str,
    tell: Callable[[dict[str, Any]], object],
) -> dict[str, Any]: ...
def update_index(
    path: str, add: str | None, delete: Sequence[str], compacts: bool, tell: Callable[[dict[str, Any]], object]
) -> dict[str, Any]: ...
def join_indexes(paths: Sequence[str], output: str, link: bool) -> None: ...
def systems() -> list[dict[str, Any]]: ...
def train_ranker(spec: str, files: Files, tell: Callable[[dict[str, Any]], object]) -> Ranker: ...
def load_ranker(path: str) -> tuple[Ranker, str]: ...
def update(
    target: str,
    clicks: Sequence[str],
    titles: str,
    judged: str | None,
    max_churn: float,
    trust_clicks: bool,
    settings: str,
    tell: Callable[[dict[str, Any]], object],
) -> dict[str, Any]: ...
def judge(
    index: str,
    against: str,
    queries: str,
    sheet: str | None,
    judged: Sequence[str],
    write: Sequence[tuple[str, str]],
    page: bool,
    tell: Callable[[dict[str, Any]], object],
) -> dict[str, Any]: ...
def export(
    source: str,
    output: str,
    to: str | None,
    template: str | None,
    table: str,
    judged: str | None,
    tell: Callable[[dict[str, Any]], object],
) -> dict[str, Any]: ...
def inspect(
    paths: Sequence[str], tell: Callable[[dict[str, Any]], object]
) -> list[tuple[dict[str, Any], bool, str]]: ...
def evaluate(
    systems: Sequence[tuple[str | None, object]], files: Files, how: How, tell: Callable[[dict[str, Any]], object]
) -> dict[str, Any]: ...
def check_index(path: str) -> dict[str, Any]: ...
def run(arguments: Sequence[str], file: str) -> int: ...
def prepare(
    logs: Sequence[str], output: str, report: str | None, options: dict[str, str], tell: Callable[[dict[str, Any]], object]
) -> dict[str, Any]: ...
def simulate(
    output: str, titles: str | None, settings: str, tell: Callable[[dict[str, Any]], object]
) -> dict[str, Any]: ...
def table(
    spec: str | None,
    rankers: Sequence[str],
    files: tuple[str | None, str | None, str | None, str | None],
    texts: tuple[str | None, str | None],
    cache: str | None,
    against: str | None,
    uncorrected: bool,
    output: Sequence[str],
    program: str,
    tell: Callable[[dict[str, Any]], object],
) -> dict[str, Any]: ...
def set_threads(threads: int) -> None:
    """Sets the number of threads that all work is done on; 0, the default, means one for each core."""
def before_fork() -> None: ...
def after_fork() -> None: ...
