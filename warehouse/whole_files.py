"""Files that are there whole or not at all: written beside, flushed to the disk, then put in their place.

Belongs here: the one way in which that is done. What such a file holds, and what an error means to whoever asked for
it, is known to those who write it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def written_beside(path: Path, mode: int, put: Callable[[str, Path], None] = os.rename) -> Iterator[IO[bytes]]:
    """A file to write to, which becomes ``path`` when the block ends without an error; durable when it returns.

    Until then only its owner can open it, under another name, and whatever ends the block, an interrupt too, leaves
    nothing behind. ``os.rename`` replaces a former file, ``os.link`` raises ``FileExistsError`` where there is one.
    Repeatable. ``OSError`` if the disk refuses; what stood there stays.
    """
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        put(beside, path)
        sync_folder(path.parent)
    finally:
        with suppress(FileNotFoundError):  # it was renamed
            os.unlink(beside)


def sync_folder(folder: Path) -> None:
    """A name is on the disk only when its folder is. ``OSError`` if the disk refuses."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
