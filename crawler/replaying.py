"""Results that were finished while the frontier's database was away, as entries of the spool, and their commit later.

Belongs here: entries in both directions. A lease that was lost meanwhile commits nothing, since its fence is that of
the entry; so replaying an entry twice does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from crawler.frontier.adding import Candidate
from crawler.frontier.database import Frontier
from crawler.frontier.leases import Completion, Failure, fail
from crawler.frontier.outbox import Trace
from crawler.frontier.requests import log_request
from crawler.frontier.storing import Contents, Document, Stored, commit_page
from crawler.spool import Spool
from crawler.store import BodyMissingError, BodyStore
from domain.crawl_states import Lease, StaleLeaseError
from domain.errors import IntegrityError
from domain.frontier import UrlIdentity
from domain.receipts import RequestRow
from domain.recrawl import Seen

Entry = dict[str, Any]


def request_entry(lease: Lease, request: RequestRow) -> Entry:
    """A request that was made, for the log of them."""
    return {"kind": "request", "lease": _lists(lease), "request": list(request)}


def failure_entry(lease: Lease, failure: Failure) -> Entry:
    """The arguments of ``fail``."""
    return {"kind": "failure", "lease": _lists(lease), "failure": _plain(failure)}


def page_entry(lease: Lease, done: Completion, stored: Stored | None, links: Sequence[Candidate]) -> Entry:
    """The arguments of ``commit_page``; the body is in the store, durably."""
    return {
        **{"kind": "page", "lease": _lists(lease), "done": _plain(done)},
        "stored": None if stored is None else _stored_plain(stored),
        "links": [[list(link.identity), *link[1:]] for link in links],
    }


def replay(frontier: Frontier, store: BodyStore, spool: Spool) -> int:
    """Commits what is in the spool, oldest first; how many entries were taken off it.

    ``FrontierUnavailableError`` leaves the rest for later. What came too late is counted as every stale commit.
    """
    count = 0
    while (entry := spool.first()) is not None:
        # Somebody else has the URL by now, or its lease runs out and it is fetched again, body and all.
        with suppress(StaleLeaseError, BodyMissingError, IntegrityError):
            _commit(frontier, store, entry)
        spool.drop_first()
        count += 1
    return count


def _commit(frontier: Frontier, store: BodyStore, entry: Entry) -> None:
    lease = _lease(entry["lease"])
    match entry["kind"]:
        case "request":
            log_request(frontier, lease, RequestRow(*entry["request"]))
        case "failure":
            fail(frontier, lease, Failure(**_tuples(entry["failure"])))
        case _:
            links = [Candidate(UrlIdentity(*identity), *rest) for identity, *rest in entry["links"]]
            stored = None if entry["stored"] is None else _stored(store, *entry["stored"])
            commit_page(frontier, lease, Completion(**_tuples(entry["done"])), stored, links)


def _plain(end: Completion | Failure) -> Entry:
    return {name: _lists(value) for name, value in vars(end).items()}


def _lists(value: Any) -> Any:
    return [_lists(one) for one in value] if isinstance(value, tuple) else value


def _lease(plain: list[Any]) -> Lease:
    lease = Lease(*plain)
    return lease._replace(seen=Seen(*lease.seen))


def _tuples(plain: Entry) -> Entry:
    found = {name: plain.get(name) and kind(*plain[name]) for name, kind in _TUPLES.items() if name in plain}
    return plain | found


_TUPLES: dict[str, Any] = {"trace": Trace, "seen": Seen}


def _stored_plain(stored: Stored) -> list[Any]:
    contents = stored.contents
    links = [list(link) for link in contents.links]
    return [list(stored.document), [dict(contents.facts), links, contents.index_reason], stored.is_new]


def _stored(store: BodyStore, document: list[Any], contents: list[Any], is_new: bool) -> Stored:
    of_document = Document(*document)
    keep_body = partial(_check_body, store, of_document.content_hash)
    return Stored(of_document, Contents(*contents), keep_body, is_new)


def _check_body(store: BodyStore, digest: str) -> None:
    store.get(digest)
