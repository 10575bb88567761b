"""What a page says: links, text, what it asks of robots. Runs in a process that may be killed.

Belongs here: from bytes to ``Page``, and the signs by which a page is refused. Does not belong here: the process
(``crawler/parse_worker.py``), and what follows from nofollow and noindex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawler.charset import Charset, charset_of, text_of
from crawler.urls import UrlRefusedError, normalise

PARSER_VERSION = 1
"""Goes up with every change after which a page is read otherwise; SimHash and index-readiness are a part of it."""
MAX_DEPTH_COUNT = 1_000
"""Browsers stop at 512; trees are walked without recursion here, but not in every library that reads on."""
MAX_NODES_COUNT = 500_000
MAX_ATTRIBUTES_COUNT = 1_000
MAX_ATTRIBUTE_CHARACTERS = 2 * 1024 * 1024
"""Pictures inside of pages are some hundred thousand characters."""
MAX_LINKS_COUNT = 10_000
"""Of a page; the rest is counted and left out."""
MAX_TITLE_CHARACTERS = 1_000
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml"})
_UNREAD_TAGS = ["script", "style", "noscript", "template", "svg", "math"]
_NOFOLLOW = frozenset({"nofollow", "none"})
_NOINDEX = frozenset({"noindex", "none"})

LinkKind = Literal["a", "area", "frame", "canonical", "alternate", "feed"]
QuarantineReason = Literal["too_deep", "too_many_nodes", "too_many_attributes", "huge_attribute"]


class QuarantineError(Exception):
    """A page is not read, because no honest page is like it; stays inside the crawler, where it becomes an outcome."""

    def __init__(self, reason: QuarantineReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Link:
    """One link: its identity, and the raw text of it as the page has it."""

    url: str
    raw: str
    kind: LinkKind
    is_nofollow: bool


@dataclass(frozen=True)
class Page:
    """What a page says. ``robots`` are the directives of header and meta that concern us, as facts about the page."""

    charset: str
    charset_source: str
    title: str
    text: str
    canonical: str | None
    links: tuple[Link, ...]
    links_refused_count: int
    """Links that have no identity: other schemes, no URL, credentials."""
    links_dropped_count: int
    """Links beyond ``MAX_LINKS_COUNT``."""
    robots: tuple[str, ...]
    is_noindex: bool
    is_nofollow: bool


@dataclass(frozen=True)
class PageSource:
    """A body and what is known of it. ``token`` is our name in robots.txt."""

    url: str
    body: bytes
    media_type: str
    content_type: str | None
    robots_tags: tuple[str, ...]
    token: str


def parse_page(source: PageSource) -> Page:
    """The page of a body; of what is no HTML the text alone. ``QuarantineError`` for what is suspicious."""
    charset = charset_of(source.body, source.content_type)
    text = text_of(source.body, charset)
    said = header_directives(source.robots_tags, source.token)
    if source.media_type not in HTML_TYPES:
        return _page(charset, "", text, _Links(), said)
    parser = LexborHTMLParser(text)
    if parser.root is None:
        return _page(charset, "", "", _Links(), said)
    check_tree(parser.root)
    links = _links_of(parser, _base_of(parser, source.url))
    said = (*said, *_meta_directives(parser, source.token))
    title = parser.css_first("title")
    title_text = title.text()[:MAX_TITLE_CHARACTERS] if title else ""
    parser.strip_tags(_UNREAD_TAGS)
    body_text = parser.body.text(separator=" ") if parser.body else ""
    return _page(charset, title_text, body_text, links, said)


def _page(charset: Charset, title: str, text: str, links: _Links, said: tuple[str, ...]) -> Page:
    return Page(
        charset=charset.name,
        charset_source=charset.source,
        title=_squeezed(title),
        text=_squeezed(text),
        canonical=next((link.url for link in links.kept if link.kind == "canonical"), None),
        links=tuple(links.kept),
        links_refused_count=links.refused_count,
        links_dropped_count=links.dropped_count,
        robots=said,
        is_noindex=not _NOINDEX.isdisjoint(said),
        is_nofollow=not _NOFOLLOW.isdisjoint(said),
    )


def check_tree(root: LexborNode) -> None:
    """``QuarantineError`` for a tree that no honest page has. Walks it without recursion."""
    node: LexborNode | None = root
    depth_count = nodes_count = 0
    while node is not None:
        nodes_count += 1
        if nodes_count > MAX_NODES_COUNT:
            raise QuarantineError("too_many_nodes")
        _check_attributes(node)
        child = node.first_child
        if child is not None:
            depth_count += 1
            if depth_count > MAX_DEPTH_COUNT:
                raise QuarantineError("too_deep")
            node = child
            continue
        while node is not None and node.next is None:
            node = node.parent
            depth_count -= 1
            if depth_count <= 0:
                return
        node = node.next if node is not None else None


def _check_attributes(node: LexborNode) -> None:
    if not node.is_element_node:
        return
    attributes = node.attributes
    if len(attributes) > MAX_ATTRIBUTES_COUNT:
        raise QuarantineError("too_many_attributes")
    if any(value is not None and len(value) > MAX_ATTRIBUTE_CHARACTERS for value in attributes.values()):
        raise QuarantineError("huge_attribute")


class _Links:
    def __init__(self) -> None:
        self.kept: list[Link] = []
        self.refused_count = 0
        self.dropped_count = 0

    def add(self, raw: str | None, base: str, kind: LinkKind, is_nofollow: bool) -> None:
        if raw is None:
            return
        if len(self.kept) >= MAX_LINKS_COUNT:
            self.dropped_count += 1
            return
        try:
            self.kept.append(Link(normalise(raw, base).url, raw, kind, is_nofollow))
        except UrlRefusedError:
            self.refused_count += 1


def _links_of(parser: LexborHTMLParser, base: str) -> _Links:
    links = _Links()
    for node in parser.css("link[href]"):
        relations = _words(node.attributes.get("rel"))
        if "canonical" in relations:
            links.add(node.attributes.get("href"), base, "canonical", False)
        elif "alternate" in relations:
            is_feed = (node.attributes.get("type") or "").strip().lower() in FEED_TYPES
            links.add(node.attributes.get("href"), base, "feed" if is_feed else "alternate", False)
    for node in parser.css("a[href], area[href]"):
        kind: LinkKind = "a" if node.tag == "a" else "area"
        links.add(node.attributes.get("href"), base, kind, "nofollow" in _words(node.attributes.get("rel")))
    for node in parser.css("iframe[src], frame[src]"):
        links.add(node.attributes.get("src"), base, "frame", False)
    return links


def _base_of(parser: LexborHTMLParser, url: str) -> str:
    """The first base of the page that is one, resolved against the page's own address."""
    node = parser.css_first("base[href]")
    raw = node.attributes.get("href") if node else None
    if raw is None:
        return url
    try:
        return normalise(raw, url).url
    except UrlRefusedError:
        return url


def _meta_directives(parser: LexborHTMLParser, token: str) -> tuple[str, ...]:
    contents = [
        node.attributes.get("content") or ""
        for node in parser.css("meta[name][content]")
        if (node.attributes.get("name") or "").strip().lower() in {"robots", token.lower()}
    ]
    return tuple(directive for content in contents for directive in _directives(content))


def header_directives(tags: tuple[str, ...], token: str) -> tuple[str, ...]:
    """What X-Robots-Tag says to everybody or to us: ``otherbot: noindex`` is somebody else's."""
    found: list[str] = []
    for tag in tags:
        is_ours = True
        for directive in _directives(tag):
            name, colon, rest = directive.partition(":")
            if colon and name.strip() not in _VALUED:
                is_ours = name.strip() == token.lower()
                directive = rest.strip()  # noqa: PLW2901 - the agent is off, its first directive remains
            if is_ours and directive:
                found.append(directive)
    return tuple(found)


_VALUED = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})


def _directives(content: str) -> list[str]:
    return [word for part in content.lower().split(",") if (word := part.strip())]


def _words(value: str | None) -> list[str]:
    return (value or "").lower().split()


def _squeezed(text: str) -> str:
    return " ".join(text.split())
