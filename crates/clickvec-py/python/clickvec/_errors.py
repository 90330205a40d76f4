"""The exceptions. All have the words that the program prints, with its options called as in Python."""

from __future__ import annotations

import errno as _errno


class Error(ValueError):
    """An argument or a file is not valid: what was expected, what was found, where, and what to do."""


class FileError(Error, OSError):
    """A file or folder cannot be read or written."""

    def __init__(self, message: str = "", errno: int | None = None, filename: str | None = None) -> None:
        super().__init__(errno, message, filename)
        self.message = message
        self.errno = errno
        self.filename = filename

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type[FileError], tuple[str, int | None, str | None]]:
        return (type(self), (self.message, self.errno, self.filename))


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class FileAccessError(FileError, PermissionError):
    """The operating system does not let this process have the file or folder."""


class InternalError(Error, RuntimeError):
    """A fault in clickvec itself."""


def check_text(what: str, found: object) -> None:
    """Raises unless it is a text."""
    if not isinstance(found, str):
        raise TypeError(f"{what}: expected a text, found {type(found).__name__}")


def make(kind: str, message: str, errno: int | None, filename: str | None) -> Exception:
    """The exception for an error of the native module."""
    if kind == "internal":
        return InternalError(message)
    if kind != "file":
        return Error(message)
    if errno == _errno.ENOENT:
        return MissingFileError(message, errno, filename)
    if errno in (_errno.EACCES, _errno.EPERM):
        return FileAccessError(message, errno, filename)
    return FileError(message, errno, filename)
