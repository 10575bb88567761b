"""The one form of a URL, by which the frontier knows it, and the groups that it belongs to.

Belongs here: parsing as browsers do it (WHATWG), then the steps of RFC 3986 that cannot change what a URL means.
Does not belong here: guesses, such as sorted or removed query parameters, ``www.`` or doubled slashes; none is made.
This is not in ``domain`` because the list of public suffixes is a file, bundled with its library; nothing is fetched.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal

from ada_url import URL
from publicsuffixlist import PublicSuffixList

from domain.errors import TallystickError
from domain.frontier import UrlIdentity
from domain.percent import one_form

MAX_URL_CHARACTERS = 8_000
"""What RFC 9110, section 4.1, asks of every recipient; longer URLs are traps more often than pages."""

SCHEMES = frozenset({"http:", "https:"})
_SHOWN_CHARACTERS = 200

UrlRefusalReason = Literal["too_long", "unparsable", "scheme", "credentials"]

_EXPECTED: dict[UrlRefusalReason, str] = {
    "too_long": f"at most {MAX_URL_CHARACTERS} characters",
    "unparsable": "a URL that a browser could open",
    "scheme": "http or https",
    "credentials": "a URL without user name and password",
}


class UrlRefusedError(TallystickError):
    """A text is not a URL that is ever crawled; `reason` says why, `raw` is the text."""

    exit_code = 2

    def __init__(self, raw: str, reason: UrlRefusalReason) -> None:
        super().__init__(f"URL {raw[:_SHOWN_CHARACTERS]!r} ({reason})", _EXPECTED[reason], "correct it or leave it out")
        self.raw = raw
        self.reason = reason


def normalise(raw: str, base: str | None = None) -> UrlIdentity:
    """The identity of a URL, resolved against ``base`` if there is one. Idempotent; does no input or output.

    The fragment goes, since servers never see it. ``UrlRefusedError`` says why a text has no identity.
    """
    if len(raw) > MAX_URL_CHARACTERS:
        raise UrlRefusedError(raw, "too_long")
    parsed = parse(raw, base)
    if parsed.protocol not in SCHEMES:
        raise UrlRefusedError(raw, "scheme")
    href = parsed.href.partition("#")[0]
    if "@" in href and (parsed.username or parsed.password):
        raise UrlRefusedError(raw, "credentials")
    url = one_form(href)
    if len(url) > MAX_URL_CHARACTERS:
        raise UrlRefusedError(raw, "too_long")
    host = parsed.hostname
    return UrlIdentity(url, parsed.origin, host, _registrable_domain(host))


def parse(raw: str, base: str | None = None) -> URL:
    """The parts of a URL, as a browser reads it; ``UrlRefusedError`` if it cannot. A lone surrogate is U+FFFD."""
    try:
        return URL(_scalar_values(raw), base=None if base is None else _scalar_values(base))
    except ValueError:
        raise UrlRefusedError(raw, "unparsable") from None


def _scalar_values(text: str) -> str:
    """Text as JavaScript hands it to a URL parser."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@lru_cache(maxsize=65_536)
def _registrable_domain(host: str) -> str:
    """The name that somebody registered; an address, or a name that is itself a public suffix, is its own."""
    is_address = host.endswith("]") or host.rpartition(".")[2].isdigit()  # a parsed name never ends in a number
    if is_address:
        return host
    return _suffixes().privatesuffix(host.rstrip(".")) or host


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
