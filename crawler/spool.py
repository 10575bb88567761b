"""Finished results on disk while the frontier's database is away: bounded, whole or not there, in the order they came.

Belongs here: the file, and what is shed when it fills. What a result is, and committing it later, is
``crawler/replaying.py``.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from domain.errors import IntegrityError
from warehouse.whole_files import sync_folder

RESERVED_SHARE = 4
"""One part in so many of the spool is kept for results of URLs with a priority."""
_HEAD = struct.Struct(">II")
"""Length and CRC-32 of what follows."""
_SUFFIX = ".spool"


class Spool:
    """One file of one worker, any threads; taken over by another worker once its own is dead. A context."""

    def __init__(self, folder: Path, owner: str, most_bytes: int) -> None:
        self._path = folder / (owner + _SUFFIX)
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._begin = self._end = 0

    def __enter__(self) -> Self:
        """Takes over what dead workers left, beyond the bound if need be."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("w+b", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        sync_folder(self._path.parent)
        for left in sorted(self._path.parent.glob(f"*{_SUFFIX}")):
            if left != self._path:
                self._take_over(left)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_empty:
            self._path.unlink()
        self._file.close()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to replay."""
        return self._begin == self._end

    def keep(self, entry: dict[str, Any], priority: int) -> bool:
        """Whether it is kept, durably; False if there is no room for one of its priority: then it is shed."""
        record = _packed(entry)
        most_bytes = self._most_bytes if priority > 0 else self._most_bytes - self._most_bytes // RESERVED_SHARE
        with self._lock:
            if self._end + len(record) > most_bytes:
                return False
            self._append(record)
            return True

    def first(self) -> dict[str, Any] | None:
        """The oldest result, which stays; None if there is none. ``IntegrityError`` if the disk gives back another."""
        with self._lock:
            entry, _ = self._read()
        return entry

    def drop_first(self) -> None:
        """Takes the oldest off; once none is left, the file is empty again."""
        with self._lock:
            _, size_bytes = self._read()
            self._begin += size_bytes
            if self._begin == self._end:
                self._begin = self._end = 0
                self._file.truncate(0)
                os.fsync(self._file.fileno())

    def _append(self, record: bytes) -> None:
        written = os.pwrite(self._file.fileno(), record, self._end)
        if written != len(record):
            raise OSError(f"{self._path}: only {written} of {len(record)} bytes written")
        os.fsync(self._file.fileno())
        self._end += len(record)

    def _read(self) -> tuple[dict[str, Any] | None, int]:
        if self._begin == self._end:
            return None, 0
        entry, size_bytes = _unpacked(os.pread(self._file.fileno(), self._end - self._begin, self._begin))
        if entry is None:
            raise IntegrityError(
                f"{self._path} holds a damaged result at byte {self._begin}",
                "what was written and flushed there",
                "start another worker: what is lost is fetched again",
            )
        return entry, size_bytes

    def _take_over(self, left: Path) -> None:
        with left.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # its worker lives
            content = file.read()
            while content:
                entry, size_bytes = _unpacked(content)
                if entry is None:
                    break  # its worker died while it wrote this one
                self._append(content[:size_bytes])
                content = content[size_bytes:]
            left.unlink()


def _packed(entry: dict[str, Any]) -> bytes:
    content = orjson.dumps(entry)
    return _HEAD.pack(len(content), zlib.crc32(content)) + content


def _unpacked(content: bytes) -> tuple[dict[str, Any] | None, int]:
    """The first entry and the size of its record; None if it is not whole."""
    if len(content) < _HEAD.size:
        return None, 0
    size_bytes, crc = _HEAD.unpack_from(content)
    packed = content[_HEAD.size : _HEAD.size + size_bytes]
    if len(packed) != size_bytes or zlib.crc32(packed) != crc:
        return None, 0
    entry: dict[str, Any] = orjson.loads(packed)
    return entry, _HEAD.size + size_bytes
