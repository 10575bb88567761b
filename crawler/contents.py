"""What the tables are told of a document, from its parse: the same for a page just fetched and one parsed again. Pure.

Belongs here: facts, links and whether an index may take the document. Parsing is ``crawler/parse.py``; the columns are
``warehouse/tables/documents.py``.
"""

from __future__ import annotations

import json

from crawler.frontier.storing import Contents
from crawler.parse import PARSER_VERSION, Page, PageSource
from crawler.parse_worker import ParseOutcome
from crawler.simhash import simhash

INDEX_READY = "index_ready"


def contents_of(source: PageSource, outcome: ParseOutcome, fetch_reason: str) -> Contents:
    """The facts of table ``documents`` that depend on the parser, and the links; a NUL is no text anywhere."""
    page = outcome.page
    reason = index_reason(fetch_reason, page)
    bits = simhash(page.text) if page else None
    facts = {
        "content_type": source.content_type,
        "robots_tags": json.dumps(source.robots_tags),
        "robots_token": source.token,
        "parser_version": PARSER_VERSION,
        "parse_reason": outcome.reason,
        "title": page.title.replace("\0", "") if page else "",
        "charset": page.charset if page else None,
        "canonical_url": page.canonical if page else None,
        "is_noindex": page.is_noindex if page else None,
        "is_nofollow": page.is_nofollow if page else None,
        "text_bytes": len(page.text.encode()) if page else None,
        "simhash": None if bits is None else f"{bits:016x}",
        "link_count": len(page.links) if page else 0,
        "links_refused_count": page.links_refused_count if page else 0,
        "links_dropped_count": page.links_dropped_count if page else 0,
        "index_reason": reason,
    }
    links = [(link.url, link.raw, link.kind, link.is_nofollow) for link in page.links] if page else []
    return Contents(facts, links, reason)


def index_reason(fetch_reason: str, page: Page | None) -> str:
    """``index_ready``, or the first thing that keeps a document out of an index."""
    if fetch_reason != "fetched":
        return "not_whole"
    if page is None:
        return "not_parsed"
    if page.is_noindex:
        return "noindex"
    if not page.text:
        return "no_text"
    return INDEX_READY
