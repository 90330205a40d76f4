"""Keyword arguments as settings and as options of the program."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ._errors import Error

def as_json(settings: Mapping[str, object]) -> str:
    """Settings of a training as a JSON object. What is ``None`` is left out."""
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return json.dumps(given, default=_plain, allow_nan=False)
    except ValueError as error:
        raise Error(f"expected finite numbers, found {given}") from error


def _plain(value: object) -> object:
    """A number of NumPy, or a mapping, as JSON has it."""
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"expected a text, a number, a list or a mapping, found {type(value).__name__}")


def options(settings: Mapping[str, object]) -> list[str]:
    """``epochs=3`` as ``--epochs=3``, and ``set={"misspelt": 0}`` as ``--set=misspelt=0``. What is ``None`` is left out."""
    given = []
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            if value:
                given.append(flag)
        elif isinstance(value, Mapping) and name == "set":
            given.extend(f"--set={setting}={_number(part, setting)}" for setting, part in value.items())
        elif isinstance(value, Mapping):
            given.append(f"{flag}={','.join(f'{of}={_number(part, name)}' for of, part in value.items()) or 'none'}")
        elif isinstance(value, list | tuple):
            given.append(f"{flag}={','.join(_number(part, name) for part in value)}")
        else:
            given.append(f"{flag}={_number(value, name)}")
    return given


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
