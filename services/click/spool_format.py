"""How a click lies in the spool: length, checksum, when it was accepted, key and value.

Belongs here: bytes. A record that was cut off or changed is recognised and ends the reading, so that what comes before
it stays good. Files and their order are ``spool.py``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

HEADER = struct.Struct("<IIqH")
"""Length of what follows the header, CRC-32 of all but itself, ``clicked_us``, length of the key."""
_LENGTH = struct.Struct("<I")
_SUMMED_REST = struct.Struct("<qH")
MAX_BODY_BYTES = 1 << 19
"""Of key and value together, many times that of a click event: a length beyond it is no length."""


@dataclass(frozen=True, slots=True)
class SpooledClick:
    """A click that waits for the log. ``clicked_us``: when it was accepted, microseconds since 1970."""

    clicked_us: int
    key: bytes
    value: bytes


def encode(click: SpooledClick) -> bytes:
    """The record of a click; as long as ``HEADER`` and the two texts together."""
    body = click.key + click.value
    rest = _SUMMED_REST.pack(click.clicked_us, len(click.key))
    return HEADER.pack(len(body), _checksum(len(body), rest, body), click.clicked_us, len(click.key)) + body


def decode(data: bytes) -> Iterator[tuple[int, SpooledClick]]:
    """Whole records from the start of ``data``, each with its end; stops at the first that is cut off or changed."""
    at = 0
    while at + HEADER.size <= len(data):
        length, checksum, clicked_us, key_length = HEADER.unpack_from(data, at)
        end = at + HEADER.size + length
        if length > MAX_BODY_BYTES or key_length > length or end > len(data):
            return
        body = data[at + HEADER.size : end]
        if _checksum(length, _SUMMED_REST.pack(clicked_us, key_length), body) != checksum:
            return
        yield end, SpooledClick(clicked_us, body[:key_length], body[key_length:])
        at = end


def _checksum(length: int, rest: bytes, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(_LENGTH.pack(length) + rest))
