"""Which encoding a page is in, found as browsers find it (WHATWG), and its text.

Belongs here: byte order mark, header, the first 1,024 bytes, then UTF-8 if it is, then windows-1252. No guess by the
frequency of letters is made.
"""

from __future__ import annotations

import codecs
import re
from typing import Literal, NamedTuple

PRESCAN_BYTES = 1_024

CharsetSource = Literal["byte_order_mark", "header", "meta", "content", "fallback"]

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
FALLBACK = "windows-1252"
_CODECS = {
    "utf-8": ("utf-8", "utf8 unicode-1-1-utf-8 x-unicode20utf8"),
    "utf-16-le": ("utf-16-le", "utf-16 utf-16le ucs-2 unicode csunicode iso-10646-ucs-2"),
    "utf-16-be": ("utf-16-be", "utf-16be unicodefffe"),
    "windows-1252": (
        "cp1252",
        "iso-8859-1 iso8859-1 iso88591 iso_8859-1 latin1 l1 ascii us-ascii cp1252 x-cp1252 cp819 ibm819",
    ),
    "windows-1250": ("cp1250", "cp1250 x-cp1250"),
    "windows-1251": ("cp1251", "cp1251 x-cp1251"),
    "windows-1253": ("cp1253", "cp1253 x-cp1253"),
    "windows-1254": ("cp1254", "cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5"),
    "windows-1255": ("cp1255", "cp1255 x-cp1255"),
    "windows-1256": ("cp1256", "cp1256 x-cp1256"),
    "windows-1257": ("cp1257", "cp1257 x-cp1257"),
    "windows-1258": ("cp1258", "cp1258 x-cp1258"),
    "windows-874": ("cp874", "tis-620 iso-8859-11 dos-874"),
    "iso-8859-2": ("iso8859-2", "iso8859-2 iso_8859-2 latin2 l2"),
    "iso-8859-3": ("iso8859-3", "iso8859-3 iso_8859-3 latin3 l3"),
    "iso-8859-4": ("iso8859-4", "iso8859-4 iso_8859-4 latin4 l4"),
    "iso-8859-5": ("iso8859-5", "iso8859-5 iso_8859-5 cyrillic"),
    "iso-8859-6": ("iso8859-6", "iso8859-6 iso_8859-6 arabic"),
    "iso-8859-7": ("iso8859-7", "iso8859-7 iso_8859-7 greek"),
    "iso-8859-8": ("iso8859-8", "iso8859-8 iso_8859-8 hebrew iso-8859-8-i logical"),
    "iso-8859-10": ("iso8859-10", "iso8859-10 latin6 l6"),
    "iso-8859-13": ("iso8859-13", "iso8859-13"),
    "iso-8859-14": ("iso8859-14", "iso8859-14"),
    "iso-8859-15": ("iso8859-15", "iso8859-15 iso_8859-15 latin9 l9"),
    "iso-8859-16": ("iso8859-16", ""),
    "koi8-r": ("koi8-r", "koi8 koi koi8_r cskoi8r"),
    "koi8-u": ("koi8-u", "koi8-ru"),
    "ibm866": ("cp866", "cp866 866"),
    "macintosh": ("mac-roman", "mac x-mac-roman"),
    "x-mac-cyrillic": ("mac-cyrillic", "x-mac-ukrainian"),
    "gbk": ("gb18030", "gb2312 gb_2312-80 chinese x-gbk iso-ir-58"),
    "gb18030": ("gb18030", ""),
    "big5": ("big5hkscs", "big5-hkscs cn-big5 x-x-big5"),
    "euc-jp": ("euc-jp", "x-euc-jp"),
    "iso-2022-jp": ("iso2022-jp", "csiso2022jp"),
    "shift_jis": ("cp932", "shift-jis sjis x-sjis ms_kanji ms932 windows-31j"),
    "euc-kr": ("cp949", "ks_c_5601-1987 korean ksc5601 ksc_5601 windows-949"),
}
"""Encodings by their name: the codec, and the other labels that pages give them."""
CODECS = {name: codec for name, (codec, _) in _CODECS.items()}
NAMES = {label: name for name, (_, labels) in _CODECS.items() for label in (name, *labels.split())}

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"""([^\s=/"'>]+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""",
)
_CHARSET = re.compile(rb"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)


class Charset(NamedTuple):
    """An encoding by its WHATWG name, and what said so."""

    name: str
    source: CharsetSource


def charset_of(body: bytes, content_type: str | None) -> Charset:
    """The encoding that a browser would read this body in. Pure; linear in the body."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return Charset(name, "byte_order_mark")
    if (named := _named(_charset_in((content_type or "").encode("utf-8", "replace")))) is not None:
        return Charset(named, "header")
    if (named := _prescanned(body[:PRESCAN_BYTES])) is not None:
        return Charset(named, "meta")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return Charset(FALLBACK, "fallback")
    return Charset("utf-8", "content")


def text_of(body: bytes, charset: Charset) -> str:
    """The body as text, its mark off; what cannot be read becomes U+FFFD."""
    text = codecs.decode(body, CODECS[charset.name], "replace")
    return text.removeprefix("\ufeff")


def _prescanned(head: bytes) -> str | None:
    for meta in _META.finditer(_COMMENT.sub(b"", head)):
        named = _of_meta(meta[1])
        if named is not None:
            return "utf-8" if named.startswith("utf-16") else named  # these bytes were read as ASCII
    return None


def _of_meta(attributes: bytes) -> str | None:
    values: dict[bytes, bytes] = {}
    for found in _ATTRIBUTE.finditer(attributes):
        values.setdefault(found[1].lower(), found[2] or found[3] or found[4] or b"")
    if b"charset" in values:
        return _named(values[b"charset"])
    if values.get(b"http-equiv", b"").lower() == b"content-type":
        return _named(_charset_in(values.get(b"content", b"")))
    return None


def _charset_in(text: bytes) -> bytes:
    found = _CHARSET.search(text)
    return (found[1] or found[2] or found[3] or b"") if found else b""


def _named(label: bytes) -> str | None:
    return NAMES.get(label.strip().lower().decode("latin-1"))
