"""Keyword arguments as settings and as texts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ._errors import Error


def as_json(settings: Mapping[str, object]) -> str:
    """Settings of a training as a JSON object. What is ``None`` is left out."""
    present = {name: value for name, value in settings.items() if value is not None}
    try:
        return json.dumps(present, default=_plain, allow_nan=False)
    except ValueError as error:
        raise Error(f"expected finite numbers, found {present}") from error


def _plain(value: object) -> object:
    """A number of NumPy, or a mapping, as JSON has it."""
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"expected a text, a number, a list or a mapping, found {type(value).__name__}")


def texts(settings: Mapping[str, object]) -> dict[str, str]:
    """``columns={"item": "sku"}`` as ``item=sku``. What is ``None`` or ``False`` is left out."""
    texts = {}
    for name, value in settings.items():
        if value is None or value is False:
            continue
        if value is True:
            texts[name] = ""
        elif isinstance(value, Mapping):
            texts[name] = ",".join(f"{of}={_number(part, name)}" for of, part in value.items())
        elif isinstance(value, list | tuple):
            texts[name] = ",".join(_number(part, name) for part in value)
        else:
            texts[name] = _number(value, name)
    return texts


def _number(value: object, name: str) -> str:
    """As it would be typed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    item = getattr(value, "item", None) if getattr(value, "shape", None) == () else None
    value = item() if callable(item) else value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise Error(f"expected a finite number, found {value}")
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if not isinstance(value, str | int):
        raise TypeError(f"{name}: expected a text, a number or a path, found {type(value).__name__}")
    return str(value)
