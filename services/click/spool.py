"""The spool: clicks that the log did not take in time, on the disk of this server until it does.

Belongs here: segments, the one thread that writes them, what waits and how old it is. One fsync serves all clicks that
came while the one before it ran. When a click goes here is ``spooled_journal.py``; how it gets away is ``shipper.py``.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

import orjson

from domain.buckets import from_unix_micros, to_unix_micros
from domain.errors import IntegrityError, TallystickError
from services.click.spool_format import SpooledClick, decode, encode
from warehouse.whole_files import sync_folder

SEGMENT_BYTES = 16 * 1024 * 1024
"""A segment is deleted as a whole, and holds back watermarks until all of it has left."""
BATCH_BYTES = 1024 * 1024
POSITION_FILE = "shipped.json"
SUFFIX = ".spool"
_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


class SpoolFullError(TallystickError):
    """The spool cannot keep a click: its limit is reached, or the disk refuses."""

    is_transient = True

    def __init__(self, found: str) -> None:
        super().__init__(found, "room for the click", "free some space or raise spool_limit_mib; see to the broker")


@dataclass(frozen=True)
class Batch:
    """Clicks that lie one after the other in a segment, and where they end in it."""

    segment: int
    end: int
    clicks: tuple[SpooledClick, ...]


@dataclass
class _Segment:
    """``taken``: bytes handed to the writer; ``durable``: bytes that an fsync has confirmed."""

    taken: int = 0
    durable: int = 0
    oldest_us: int | None = None
    is_broken: bool = False


@dataclass(frozen=True)
class _Write:
    segment: int
    record: bytes
    kept: asyncio.Future[None]


class Spool:
    """Made, used and closed in the event loop; only ``read_batch`` may run in another thread.

    Opening it reads what an earlier process left: a torn tail is cut off and kept beside, under ``.damaged``, and
    ``report`` hears of it.
    """

    def __init__(self, folder: Path, limit_bytes: int, report: Callable[[str], None]) -> None:
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._segments = {number: self._opened(number, report) for number in _numbers(folder)}
        self._position = _start_of_shipping(folder, self._segments)
        # Above every number that was ever remembered: a position must never be one in another segment.
        self._active = max([*self._segments, read_position(folder)[0]]) + 1
        self._segments[self._active] = _Segment()
        self._forget_shipped()
        self.has_more = asyncio.Event()
        if self.waiting_bytes:
            self.has_more.set()
        self._written: dict[int, int] = {}  # length of each segment, known to the writing thread alone
        self._thread = threading.Thread(target=self._run, name="spool-writer", daemon=True)
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that the log does not have."""
        return sum(one.taken for one in self._segments.values()) - self._position[1]

    @property
    def oldest_waiting(self) -> datetime | None:
        """No click that waits was accepted before this; None if none waits."""
        oldest = [one.oldest_us for one in self._segments.values() if one.oldest_us is not None]
        return from_unix_micros(min(oldest)) if oldest else None

    def append(self, clicked_at: datetime, key: bytes, value: bytes) -> asyncio.Future[None]:
        """Take a click. The future ends with None once an fsync has it, with ``SpoolFullError`` if the disk refuses.

        Raises ``SpoolFullError`` at once beyond the limit. Never blocks.
        """
        click = SpooledClick(to_unix_micros(clicked_at), key, value)
        record = encode(click)
        waiting = self.waiting_bytes
        if waiting + len(record) > self._limit_bytes:
            raise SpoolFullError(f"{waiting:,} bytes wait in the spool")
        segment = self._segment_for(len(record))
        segment.taken += len(record)
        segment.oldest_us = min(click.clicked_us, segment.oldest_us or click.clicked_us)
        kept: asyncio.Future[None] = self._loop.create_future()
        self._queue.put(_Write(self._active, record, kept))
        return kept

    def read_batch(self, most_clicks: int | None = None) -> Batch | None:
        """The next clicks to ship, in order; None if no durable one is left. Reads the disk.

        ``IntegrityError`` if they are not what was written.
        """
        number, start = self._position
        durable = self._segments[number].durable
        if start >= durable:
            return None
        with _path(self._folder, number).open("rb") as file:
            file.seek(start)
            data = file.read(min(BATCH_BYTES, durable - start))
        found = list(islice(decode(data), most_clicks))
        if not found:
            raise IntegrityError(
                f"spool segment {number} has changed on the disk at byte {start:,}",
                "the clicks that were written there",
                "start the click service again: it keeps the rest of that segment beside, as .damaged, and goes on",
            )
        return Batch(number, start + found[-1][0], tuple(click for _, click in found))

    def shipped(self, batch: Batch) -> None:
        """The log has this batch: delete what lies behind it, and remember it.

        A full disk keeps it from being remembered, which is safe: the batch is sent again, and a copy is recognised.
        """
        self._position = (batch.segment, batch.end)
        self._forget_shipped()
        document = {"segment": self._position[0], "offset": self._position[1]}
        beside = self._folder / f".{POSITION_FILE}"
        with suppress(OSError):
            beside.write_bytes(orjson.dumps(document))
            beside.rename(self._folder / POSITION_FILE)

    async def close(self) -> None:
        """Write what was taken and end the thread."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _segment_for(self, length: int) -> _Segment:
        active = self._segments[self._active]
        if active.is_broken or active.taken + length > SEGMENT_BYTES:
            self._active += 1
            self._segments[self._active] = active = _Segment()
            self._forget_shipped()  # the segment before may have left already: shipping goes on in this one
        return active

    def _forget_shipped(self) -> None:
        """Deletes segments before the position, moves on past ended ones, and lets go of the age of what has left."""
        number, offset = self._position
        while number != self._active and offset >= self._segments.get(number, _NOTHING).taken:
            self._segments.pop(number, None)
            _path(self._folder, number).unlink(missing_ok=True)
            number, offset = min(one for one in self._segments if one > number), 0
        self._position = (number, offset)
        if offset >= self._segments[number].taken:
            self._segments[number].oldest_us = None

    def _opened(self, number: int, report: Callable[[str], None]) -> _Segment:
        path = _path(self._folder, number)
        data = path.read_bytes()
        end, oldest = 0, None
        for end, click in decode(data):  # noqa: B007  the last one is where the good part ends
            oldest = click.clicked_us if oldest is None else min(oldest, click.clicked_us)
        if end < len(data):
            damaged = path.with_suffix(".damaged")
            damaged.write_bytes(data[end:])
            os.truncate(path, end)
            report(
                f"spool: the last {len(data) - end:,} bytes of {path.name} are no whole click; kept as {damaged.name}"
            )
        return _Segment(end, end, oldest)

    def _run(self) -> None:
        is_open = True
        while is_open:
            waiting = [self._queue.get()]
            while not self._queue.empty():
                waiting.append(self._queue.get())
            is_open = None not in waiting
            writes = [one for one in waiting if one is not None]
            for number in sorted({one.segment for one in writes}):
                self._write(number, [one for one in writes if one.segment == number])

    def _write(self, number: int, writes: list[_Write]) -> None:
        records = b"".join(one.record for one in writes)
        try:
            _append(_path(self._folder, number), self._written.get(number, 0), records)
        except OSError as error:
            self._loop.call_soon_threadsafe(self._settle, number, writes, error)
        else:
            self._written[number] = self._written.get(number, 0) + len(records)
            self._loop.call_soon_threadsafe(self._settle, number, writes, None)

    def _settle(self, number: int, writes: list[_Write], error: OSError | None) -> None:
        segment, length = self._segments[number], sum(len(one.record) for one in writes)
        if error is None:
            segment.durable += length
            self.has_more.set()
        else:
            segment.taken -= length
            segment.is_broken = True
            self._forget_shipped()
        for one in writes:
            if one.kept.done():
                continue
            if error is None:
                one.kept.set_result(None)
            else:
                one.kept.set_exception(SpoolFullError(f"the spool cannot be written: {error.strerror}"))


_NOTHING = _Segment()


def _numbers(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob(f"*{SUFFIX}"))


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:012d}{SUFFIX}"


def _append(path: Path, length: int, records: bytes) -> None:
    """Durable behind the first ``length`` bytes, which are all that counts of what is there; the folder too."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, _FILE_MODE), "wb", buffering=0) as file:
        file.truncate(length)
        file.seek(length)
        try:
            while records:
                records = records[file.write(records) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(length)
            raise
    if not length:
        sync_folder(path.parent)


def read_position(folder: Path) -> tuple[int, int]:
    """Segment and offset up to which the log has everything, as remembered; ``(0, 0)`` if nothing can be read."""
    try:
        document = orjson.loads((folder / POSITION_FILE).read_bytes())
        return int(document["segment"]), int(document["offset"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def _start_of_shipping(folder: Path, segments: dict[int, _Segment]) -> tuple[int, int]:
    """Where shipping goes on: as remembered, if a click begins or the segment ends there, else at the first one."""
    number, offset = read_position(folder)
    if number in segments and (offset == 0 or offset in {end for end, _ in decode(_path(folder, number).read_bytes())}):
        return number, offset
    return min(segments, default=0), 0
