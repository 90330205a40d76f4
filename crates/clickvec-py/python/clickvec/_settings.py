"""Keyword arguments as options of the program."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ._errors import Error

# Options whose value is true or false; all others of this kind have no value.
_VALUED = {"no_bias", "shared_towers"}


def options(settings: Mapping[str, object], known: Iterable[str] | None = None, command: str = "") -> list[str]:
    """``epochs=3`` as ``--epochs=3``. What is ``None`` is left out."""
    if known is not None:
        unknown = [name for name in settings if name not in set(known)]
        if unknown:
            raise TypeError(f"{command}() got an unexpected keyword argument '{unknown[0]}'")
    given = []
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            if name in _VALUED:
                given.append(f"{flag}={str(value).lower()}")
            elif value:
                given.append(flag)
        elif isinstance(value, Mapping):
            given.append(f"{flag}={','.join(f'{of}={_number(part, name)}' for of, part in value.items()) or 'none'}")
        elif isinstance(value, list | tuple):
            given.append(f"{flag}={','.join(_number(part, name) for part in value)}")
        else:
            given.append(f"{flag}={_number(value, name)}")
    return given


def _number(value: object, name: str) -> str:
    """As it would be typed."""
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
