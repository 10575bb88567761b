"""Percent-encoding brought to one form, by RFC 3986, section 6.2.2.

Belongs here: what identity of URLs and rules of robots.txt share. Nothing is decoded that could change what a URL
means.
"""

from __future__ import annotations

import re
import string

UNRESERVED = frozenset((string.ascii_letters + string.digits + "-._~").encode())
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_SAFE_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
"""An escape that cannot complete another: what stands before it is no percent sign that waits for its digits."""
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")


def one_form(text: str) -> str:
    """Digits of escapes in capitals, escapes of unreserved characters decoded. Idempotent.

    A stray percent sign stays as it is, and so does an escape behind it: decoded, ``%%34%31`` would become ``%41``,
    which is another escape.
    """
    if "%" not in text:
        return text
    upper = _ESCAPE.sub(lambda escape: escape[0].upper(), text)
    return _SAFE_ESCAPE.sub(_decoded_if_unreserved, upper)


def _decoded_if_unreserved(escape: re.Match[str]) -> str:
    octet = int(escape[1], 16)
    return chr(octet) if octet in UNRESERVED else escape[0]


def ascii_form(text: str) -> str:
    """As ``one_form``, with what is not ASCII escaped. Bytes that are no UTF-8 come as lone surrogates."""
    return one_form(_NON_ASCII.sub(_escaped, text))


def _escaped(run: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in run[0].encode("utf-8", "surrogateescape"))
