"""Files that a command writes for somebody else: whole, or not at all.

Belongs here: what a refusal says. How a file is written whole is ``warehouse/whole_files.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from domain.errors import TallystickError
from warehouse.whole_files import written_beside

READABLE = 0o644


class ExportError(TallystickError):
    """A file that was asked for could not be written: no such folder, or a full disk. Nothing of it is left."""


def check_writable(path: Path) -> None:
    """``ExportError`` if a file cannot come to be there: for a command that must not find out afterwards."""
    if path.is_dir():
        raise ExportError(f"{path} is a folder", "the name of a file", "give a file in it")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ExportError(
            f"no folder {path.parent} in which we may write", "one that exists", "make it, or name another"
        )


def write_whole(path: Path, content: bytes) -> None:
    """Writes beside and renames over; a former file of that name stays as it was if anything fails."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, beside the one that it becomes when the block ends without an error."""
    check_writable(path)
    try:
        with written_beside(path, READABLE) as file:
            yield file
    except OSError as error:
        raise ExportError(
            f"{path}: {error.strerror}", "room for the whole file", "free some space, or name another folder"
        ) from error
