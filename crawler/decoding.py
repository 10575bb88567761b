"""Content codings undone piece by piece, so that a bomb is noticed while it still is small.

Belongs here: gzip, deflate, zstd, their order, and what ends them. No piece that leaves a stage is longer than
``PIECE_BYTES``, or for zstd than ``ZSTD_PIECE_BYTES``; whoever takes the pieces counts them and stops by raising.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

import zstandard

ACCEPTED_CODINGS = "gzip, deflate, zstd"
MAX_CODINGS_COUNT = 3
"""Honest servers use one; each more multiplies what a byte can become."""
MAX_MEMBERS_COUNT = 1_000
"""Parts of one gzip stream: concatenated logs have some, a trap has millions."""
PIECE_BYTES = 64 * 1024
ZSTD_WINDOW_BYTES = 8 * 1024 * 1024
"""RFC 9659: more is not allowed on the web."""
_ZSTD_INPUT_BYTES = 32
ZSTD_PIECE_BYTES = (_ZSTD_INPUT_BYTES // 4 + 1) * 128 * 1024
"""A block of four bytes becomes at most 128 KiB; the library has no limit of output, so it gets little input."""

_GZIP = zlib.MAX_WBITS | 16
_ZLIB_METHOD = 8
_LOW_NIBBLE = 0x0F
_HEADER_BYTES = 2
_HEADER_MULTIPLE = 31

Sink = Callable[[bytes], None]


class BadCodingError(Exception):
    """Bytes that are not what their coding says; stays inside the crawler, where it becomes an outcome."""


class Stage(Protocol):
    """Undoes one coding. ``take`` and ``end`` block only as long as their sink does, and raise ``BadCodingError``."""

    def take(self, data: bytes) -> None:
        """The next bytes, in order."""

    def end(self) -> None:
        """No bytes follow."""


def codings_of(header: str) -> list[str] | None:
    """The codings of a Content-Encoding header, first applied first; None if one is unknown or they are too many."""
    names = [name for part in header.lower().split(",") if (name := part.strip()) and name != "identity"]
    is_known = all(name in _STAGES for name in names)
    return names if is_known and len(names) <= MAX_CODINGS_COUNT else None


def decoder(codings: list[str], sink: Sink) -> Stage:
    """The stages that undo these codings, the last applied first, and hand what comes out to ``sink``."""
    stage: Stage = _Plain(sink)
    for name in codings:
        stage = _STAGES[name](stage)
    return stage


class _Plain:
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def take(self, data: bytes) -> None:
        self._sink(data)

    def end(self) -> None:
        """Any end is one."""


class _Deflate:
    """zlib, and the raw deflate that some servers send instead."""

    def __init__(self, following: Stage) -> None:
        self._following = following
        self._head = b""
        self._inflater: zlib._Decompress | None = None

    def take(self, data: bytes) -> None:
        if self._inflater is None:
            self._head += data
            if len(self._head) < _HEADER_BYTES:
                return
            data = self._head
            self._inflater = self._inflater_for(data)
        _inflate(self._inflater, data, self._following)

    def _inflater_for(self, head: bytes) -> zlib._Decompress:
        is_zlib = head[0] & _LOW_NIBBLE == _ZLIB_METHOD and int.from_bytes(head[:2]) % _HEADER_MULTIPLE == 0
        return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)

    def end(self) -> None:
        if self._head and (self._inflater is None or not self._inflater.eof):
            raise BadCodingError("deflate ends early")
        self._following.end()


class _Gzip:
    def __init__(self, following: Stage) -> None:
        self._following = following
        self._inflater = zlib.decompressobj(_GZIP)
        self._members_count = 1
        self._has_started = False

    def take(self, data: bytes) -> None:
        while data:
            if self._inflater.eof:
                if not data.startswith(b"\x1f\x8b"[: len(data)]):
                    return  # bytes behind the end: padding, which every client ignores
                self._next_member()
            self._has_started = True
            _inflate(self._inflater, data, self._following)
            data = self._inflater.unused_data

    def _next_member(self) -> None:
        self._members_count += 1
        if self._members_count > MAX_MEMBERS_COUNT:
            raise BadCodingError("too many gzip members")
        self._inflater = zlib.decompressobj(_GZIP)

    def end(self) -> None:
        if self._has_started and not self._inflater.eof:
            raise BadCodingError("gzip ends early")
        self._following.end()


class _Zstd:
    def __init__(self, following: Stage) -> None:
        self._following = following
        self._inflater = _zstd_inflater()
        self._members_count = 1
        self._has_started = False

    def take(self, data: bytes) -> None:
        for start in range(0, len(data), _ZSTD_INPUT_BYTES):
            self._take_little(data[start : start + _ZSTD_INPUT_BYTES])

    def _take_little(self, data: bytes) -> None:
        while data:
            if self._inflater.eof:
                self._members_count += 1
                if self._members_count > MAX_MEMBERS_COUNT:
                    raise BadCodingError("too many zstd frames")
                self._inflater = _zstd_inflater()
            self._has_started = True
            try:
                piece = self._inflater.decompress(data)
            except zstandard.ZstdError as error:
                raise BadCodingError(str(error)) from error
            if piece:
                self._following.take(piece)
            data = self._inflater.unused_data

    def end(self) -> None:
        if self._has_started and not self._inflater.eof:
            raise BadCodingError("zstd ends early")
        self._following.end()


def _zstd_inflater() -> zstandard.ZstdDecompressionObj:
    return zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES).decompressobj()


def _inflate(inflater: zlib._Decompress, data: bytes, following: Stage) -> None:
    """Everything that these bytes become, in pieces. What is behind the end stays in ``unused_data``."""
    try:
        has_more = True
        while has_more and not inflater.eof:
            piece = inflater.decompress(data, PIECE_BYTES)
            data = inflater.unconsumed_tail
            has_more = bool(data) or len(piece) == PIECE_BYTES  # a full piece may leave output inside
            if piece:
                following.take(piece)
    except zlib.error as error:
        raise BadCodingError(str(error)) from error


_STAGES: dict[str, Callable[[Stage], Stage]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "zstd": _Zstd,
}
