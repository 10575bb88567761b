"""Content codings: any cut of the bytes gives the same body, and a bomb never is in memory."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from crawler.decoding import MAX_MEMBERS_COUNT, BadCodingError, codings_of, decoder

MIB = 1024 * 1024
TEXT = b"The quick brown fox. " * 5_000
RAW_DEFLATE = zlib.compress(TEXT)[2:-4]


def _decoded(header: str, *pieces: bytes) -> bytes:
    body = bytearray()
    codings = codings_of(header)
    assert codings is not None
    stage = decoder(codings, body.extend)
    for piece in pieces:
        stage.take(piece)
    stage.end()
    return bytes(body)


@pytest.mark.parametrize(
    ("header", "packed"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("X-GZIP", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", RAW_DEFLATE),
        ("zstd", zstandard.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:50]) + gzip.compress(TEXT[50:])),
        ("zstd", zstandard.compress(TEXT[:50]) + zstandard.compress(TEXT[50:])),
        ("gzip", gzip.compress(TEXT) + b"padding"),
        ("deflate, gzip ,zstd", zstandard.compress(gzip.compress(zlib.compress(TEXT)))),
    ],
    ids=itertools.count(),
)
@given(st.data())
def test_any_cut_gives_the_same_body(header: str, packed: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(packed)), max_size=4)))
    pieces = [packed[start:end] for start, end in zip([0, *cuts], [*cuts, len(packed)], strict=True)]
    assert _decoded(header, *pieces) == TEXT


@pytest.mark.parametrize("header", ["br", "gzip, br", "gzip, gzip, gzip, gzip", "compress"])
def test_unknown_or_too_many_codings(header: str) -> None:
    assert codings_of(header) is None


@pytest.mark.parametrize(
    ("header", "packed"),
    [
        ("gzip", b"no gzip at all"),
        ("gzip", gzip.compress(TEXT)[:-1]),
        ("deflate", zlib.compress(TEXT)[:-1]),
        ("deflate", b"x"),
        ("zstd", zstandard.compress(TEXT)[:-1]),
        ("zstd", b"no zstd at all"),
        ("gzip", gzip.compress(b"") * (MAX_MEMBERS_COUNT + 1)),
        ("zstd", zstandard.compress(b"") * (MAX_MEMBERS_COUNT + 1)),
    ],
    ids=itertools.count(),
)
def test_what_is_not_what_it_says(header: str, packed: bytes) -> None:
    with pytest.raises(BadCodingError):
        _decoded(header, packed)


class _FullError(Exception):
    pass


@pytest.mark.parametrize(
    ("header", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.compress),
        ("gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
        ("gzip, gzip, zstd", lambda body: zstandard.compress(gzip.compress(gzip.compress(body)))),
    ],
    ids=["gzip", "deflate", "zstd", "twice", "thrice"],
)
def test_a_bomb_is_never_in_memory(header: str, pack) -> None:  # type: ignore[no-untyped-def] - of three libraries
    """C22."""
    packed = pack(bytes(50 * MIB))
    taken_bytes = 0

    def sink(piece: bytes) -> None:
        nonlocal taken_bytes
        taken_bytes += len(piece)
        if taken_bytes > MIB:
            raise _FullError

    codings = codings_of(header)
    assert codings is not None
    tracemalloc.start()
    with pytest.raises(_FullError):
        decoder(codings, sink).take(packed)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 4 * MIB
