"""Sitemaps, indexes of them, RSS and Atom, read from bytes nobody can trust: streamed, capped, without DTD or entities.

Belongs here: from the bytes of a listing to its entries. What is cut off gives what it holds. Which entries become
candidates is ``crawler/listing_visit.py``; caps are ``domain/listings.py``.
"""

from __future__ import annotations

from xml.parsers import expat

from crawler.decoding import BadCodingError, decoder
from crawler.urls import MAX_URL_CHARACTERS
from domain.listings import (
    MOST_DECODED_BYTES,
    MOST_ELEMENTS,
    MOST_LISTED,
    MOST_NESTED,
    MOST_TOKEN_BYTES,
    Listed,
    Listing,
    ListingEnd,
    ListingKind,
)

_GZIP_START = b"\x1f\x8b"
_FEED_BYTES = 64 * 1024
_NAMESPACE_END = " "
_KINDS: dict[str, ListingKind] = {
    "urlset": "urlset",
    "sitemapindex": "sitemapindex",
    "rss": "feed",
    "RDF": "feed",
    "feed": "feed",
}
"""By the name of the root."""
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_URLS = frozenset({("url", "loc"), ("sitemap", "loc"), ("item", "link")})
_DATES = frozenset(
    {("url", "lastmod"), ("sitemap", "lastmod"), ("item", "pubDate"), ("item", "date"), ("entry", "updated")}
)

_READ = _URLS | _DATES


class _EndedError(Exception):
    """No more of a listing is read, for this reason; stays in this file."""

    def __init__(self, end: ListingEnd) -> None:
        super().__init__(end)
        self.end: ListingEnd = end


def read_listing(body: bytes) -> Listing:
    """What these bytes list, gzip undone once. Never raises, whatever they are; takes seconds at most."""
    reader = _Reader()
    try:
        if body.startswith(_GZIP_START):
            stage = decoder(["gzip"], reader.take)
            for at in range(0, len(body), _FEED_BYTES):
                stage.take(body[at : at + _FEED_BYTES])
            stage.end()
        else:
            for at in range(0, len(body), _FEED_BYTES):
                reader.take(body[at : at + _FEED_BYTES])
        reader.end()
    except _EndedError as error:
        return reader.listing(error.end)
    except BadCodingError:
        return reader.listing("bad_coding")
    except (expat.ExpatError, ValueError, LookupError):  # the last two of encodings that expat cannot read
        return reader.listing("not_well_formed")
    return reader.listing("read")


class _Reader:
    def __init__(self) -> None:
        self._kind: ListingKind = "unknown"
        self._path: list[str] = []
        self._pages: list[Listed] = []
        self._listings: list[Listed] = []
        self._text: list[str] | None = None
        self._text_characters = 0
        self._url = self._dated = ""
        self._elements_count = self._decoded_bytes = 0
        self._parser = expat.ParserCreate(namespace_separator=_NAMESPACE_END)
        self._parser.buffer_text = True
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def take(self, piece: bytes) -> None:
        self._decoded_bytes += len(piece)
        if self._decoded_bytes > MOST_DECODED_BYTES:
            raise _EndedError("decoded_too_large")
        self._parser.Parse(piece, False)
        if self._decoded_bytes - self._parser.CurrentByteIndex > MOST_TOKEN_BYTES:
            raise _EndedError("token_too_long")

    def end(self) -> None:
        self._parser.Parse(b"", True)

    def listing(self, end: ListingEnd) -> Listing:
        is_one = self._kind != "unknown" or end in {"doctype_refused", "bad_coding", "token_too_long"}
        return Listing(self._kind, tuple(self._pages), tuple(self._listings), end if is_one else "not_a_listing")

    def _doctype(self, *_declared: object) -> None:
        """No listing needs one, and every bomb of entities does."""
        raise _EndedError("doctype_refused")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements_count += 1
        if self._elements_count > MOST_ELEMENTS:
            raise _EndedError("too_many_elements")
        local = name.rpartition(_NAMESPACE_END)[2]
        if not self._path:
            if local not in _KINDS:
                raise _EndedError("not_a_listing")
            self._kind = _KINDS[local]
        self._path.append(local)
        if len(self._path) > MOST_NESTED:
            raise _EndedError("too_nested")
        if local in _ENTRIES:
            self._url = self._dated = ""
        self._text = [] if self._place in _READ else None
        self._text_characters = 0
        if self._place == ("entry", "link") and attributes.get("rel", "alternate") == "alternate":
            self._url = self._url or attributes.get("href", "")

    @property
    def _place(self) -> tuple[str, str]:
        return (self._path[-2], self._path[-1]) if len(self._path) > 1 else ("", self._path[-1])

    def _characters(self, text: str) -> None:
        if self._text is not None and self._text_characters <= MAX_URL_CHARACTERS:
            self._text.append(text[: MAX_URL_CHARACTERS + 1])
            self._text_characters += len(text)

    def _end(self, _name: str) -> None:
        place = self._place
        if self._text is not None:
            said = "".join(self._text).strip()
            if place in _URLS:
                self._url = said or self._url
            else:
                self._dated = said
            self._text = None
        if self._path.pop() in _ENTRIES and self._url:
            self._take_entry(place[1])

    def _take_entry(self, name: str) -> None:
        if len(self._pages) + len(self._listings) >= MOST_LISTED:
            raise _EndedError("too_many_urls")
        into = self._listings if name == "sitemap" else self._pages
        into.append(Listed(self._url, self._dated))
        self._url = ""
