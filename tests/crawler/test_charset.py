"""The encoding of a page as browsers find it."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.charset import CODECS, NAMES, PRESCAN_BYTES, Charset, charset_of, text_of


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=big5", Charset("utf-8", "byte_order_mark")),
        (b"\xff\xfea\x00", None, Charset("utf-16-le", "byte_order_mark")),
        (b"\xfe\xff\x00a", None, Charset("utf-16-be", "byte_order_mark")),
        (b"<meta charset=koi8-r>", "text/html; charset=Big5", Charset("big5", "header")),
        (b"", 'text/html;charset="ISO-8859-1"', Charset("windows-1252", "header")),
        (b"<meta charset=koi8-r>", "text/html; charset=utf-7", Charset("koi8-r", "meta")),
        (b"<meta charset='koi8-r'>", None, Charset("koi8-r", "meta")),
        (b"<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=gb2312'>", None, Charset("gbk", "meta")),
        (b"<meta content='text/html; charset=gb2312'>", None, Charset("utf-8", "content")),
        (b"<!-- <meta charset=koi8-r> --><meta charset=euc-jp>", None, Charset("euc-jp", "meta")),
        (b"<meta charset=utf-16>", None, Charset("utf-8", "meta")),
        (b"<meta charset=nonsense><meta charset=koi8-r>", None, Charset("koi8-r", "meta")),
        (b" " * PRESCAN_BYTES + b"<meta charset=koi8-r>", None, Charset("utf-8", "content")),
        ("é".encode(), None, Charset("utf-8", "content")),
        (b"caf\xe9", None, Charset("windows-1252", "fallback")),
    ],
)
def test_what_says_the_encoding(body: bytes, content_type: str | None, expected: Charset) -> None:
    assert charset_of(body, content_type) == expected


@pytest.mark.parametrize(
    ("body", "name", "text"),
    [
        (b"\xef\xbb\xbfa", "utf-8", "a"),
        (b"a\xff", "utf-8", "a\ufffd"),
        (b"\x93q\x94", "windows-1252", "“q”"),
        (b"\xff\xfea\x00", "utf-16-le", "a"),
    ],
)
def test_text(body: bytes, name: str, text: str) -> None:
    assert text_of(body, Charset(name, "header")) == text


def test_every_label_has_a_codec_of_text() -> None:
    assert set(NAMES.values()) == CODECS.keys()
    assert {name for name, codec in CODECS.items() if not codecs.lookup(codec)._is_text_encoding} == set()


@given(st.binary(max_size=200), st.sampled_from(sorted(CODECS)))
def test_any_bytes_are_some_text(body: bytes, name: str) -> None:
    charset = charset_of(b"<meta charset=" + name.encode() + b">" + body, None)
    assert charset.name in {name, "utf-8"}, "UTF-16 cannot say so in ASCII"
    assert text_of(body, charset).encode("utf-8").decode("utf-8") == text_of(body, charset)
