"""What follows from the outcome of a request: which kind of failure it is, and which links become candidates.

Belongs here: decisions, pure. Making requests is ``crawler/visit.py``; what a kind of failure does to a URL and its
origin is ``crawler/frontier/leases.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from crawler.frontier.adding import Candidate
from crawler.frontier.leases import Failure, FailureKind
from crawler.frontier.outbox import Trace
from crawler.outcomes import FetchOutcome, FetchReason, RequestRecord, Validators
from crawler.parse import Page
from crawler.reading import KEPT_REASONS
from crawler.robots import RobotsEntry
from crawler.urls import normalise
from domain.buckets import to_unix_micros
from domain.crawl_states import MAX_DEPTH, Lease
from domain.frontier import UrlIdentity
from domain.listings import MOST_FEEDS_OF_PAGE
from domain.politeness import SECOND_MICROS
from domain.robots import RobotsVerdict

BODY_REASONS = KEPT_REASONS - {"body_cut"}
"""With these there is a document; a body that was cut on its way is asked for again."""
TRANSIENT: frozenset[FetchReason] = frozenset(
    {
        "server_error", "connect_failed", "connect_timeout", "tls_failed", "headers_timeout", "idle_timeout",
        "total_timeout", "bad_coding", "body_cut", "protocol_error", "no_such_name", "dns_failed",
    }
)  # fmt: skip
FINAL: frozenset[FetchReason] = frozenset(
    {
        "client_error", "unexpected_status", "redirect_refused", "headers_too_large", "type_refused", "coding_refused",
    }
)  # fmt: skip
NAMED_BY_STATUS = frozenset({"client_error", "server_error", "throttled", "unexpected_status"})
NEVER_DIALLED = frozenset({"no_such_name", "dns_failed"})
UNCONFIRMED = frozenset({404, 408, 425})
"""Answers of the 400s that are no last word: asked again once before they are final."""
CONFIRMING_ATTEMPT = 2


def kind_of(outcome: FetchOutcome, attempt_count: int) -> FailureKind:
    """The kind of failure that an outcome without a page is."""
    retry_after = outcome.answer.retry_after_seconds if outcome.answer else None
    if outcome.reason == "throttled" or (outcome.reason == "server_error" and retry_after is not None):
        return "throttled"
    if outcome.request.status in UNCONFIRMED and attempt_count < CONFIRMING_ATTEMPT:
        return "transient"
    if outcome.reason in TRANSIENT:
        return "transient"
    return "final" if outcome.reason in FINAL else "refused"


def reason_of(outcome: FetchOutcome) -> str:
    """The reason code that the frontier keeps: of answers their status."""
    return f"http_{outcome.request.status}" if outcome.reason in NAMED_BY_STATUS else outcome.reason


def failure_of(outcome: FetchOutcome, attempt_count: int, duration_micros: int) -> Failure:
    """What the frontier is told of a request that brought no page."""
    retry_after = outcome.answer.retry_after_seconds if outcome.answer else None
    return Failure(
        kind=kind_of(outcome, attempt_count),
        reason=reason_of(outcome),
        duration_micros=duration_micros,
        retry_after_micros=None if retry_after is None else retry_after * SECOND_MICROS,
        detail=outcome.detail or None,
    )


def is_dialled(outcome: FetchOutcome) -> bool:
    """Whether the origin could notice the request: neither guard nor names ended it."""
    return outcome.request.address is not None or outcome.reason in TRANSIENT - NEVER_DIALLED


def trace_of(made: RequestRecord) -> Trace | None:
    """What is told of a request; None where nothing went out."""
    if made.address is None:
        return None
    return Trace(to_unix_micros(made.started_at), to_unix_micros(made.ended_at), made.status, made.wire_bytes)


def robots_failure(entry: RobotsEntry, verdict: RobotsVerdict, wait_micros: int) -> Failure:
    """What the frontier is told of a URL that robots.txt does not allow.

    Where the file could not be read the whole origin rests, and the URL is not to blame.
    """
    if entry.state == "unreadable" and verdict.reason in {"unreadable", "never_read"}:
        return Failure("throttled", "robots_unreadable", 0, wait_micros, entry.detail)
    line = f", line {verdict.line_number}" if verdict.line_number else ""
    return Failure("refused", "robots_disallowed", detail=f"robots.txt {verdict.version}{line}")


def is_in_scope(page: UrlIdentity, target: UrlIdentity, scope: str) -> bool:
    """Whether a link leads to what is crawled: the page's registrable domain, host or origin, as ``scope`` says."""
    match scope:
        case "registrable_domain":
            return page.registrable_domain == target.registrable_domain
        case "host":
            return page.host == target.host
        case _:
            return page.origin == target.origin


def candidates_of(lease: Lease, targets: Iterable[UrlIdentity], source: str, scope: str) -> list[Candidate]:
    """The candidates that a page names: in scope, one level deeper, each once, and not the page itself."""
    page = normalise(lease.url)
    depth = lease.depth + 1
    if depth > MAX_DEPTH:
        return []
    wanted = {target.url: target for target in targets if is_in_scope(page, target, scope)}
    wanted.pop(page.url, None)
    return [Candidate(target, target.url, source, 0, depth) for target in wanted.values()]


def followed_links(page: Page) -> Iterator[UrlIdentity]:
    """Links that a page lets us follow."""
    if not page.is_nofollow:
        yield from (normalise(link.url) for link in page.links if not link.is_nofollow and link.kind != "feed")


def followed_feeds(page: Page) -> Iterator[UrlIdentity]:
    """Feeds that a page names and lets us follow, the first few of them."""
    if not page.is_nofollow:
        feeds = (normalise(link.url) for link in page.links if link.kind == "feed")
        yield from islice(feeds, MOST_FEEDS_OF_PAGE)


def kept_validators(outcome: FetchOutcome) -> tuple[str | None, str | None]:
    """ETag and Last-Modified to send back next time; none of a body that is not whole, nor what is no UTF-8."""
    if outcome.answer is None or outcome.reason != "fetched":
        return None, None
    validators = outcome.answer.validators
    return _text(validators.etag), _text(validators.last_modified)


def validators_of(lease: Lease) -> Validators:
    """What to send back, byte for byte."""
    return Validators(_bytes(lease.etag), _bytes(lease.last_modified))


def _text(value: bytes | None) -> str | None:
    try:
        return value.decode("utf-8") if value else None
    except UnicodeDecodeError:
        return None


def _bytes(value: str | None) -> bytes | None:
    return value.encode("utf-8") if value else None


def page_candidates(lease: Lease, page: Page, scope: str) -> list[Candidate]:
    """Everything that a page names for us: its links, and its feeds."""
    links = candidates_of(lease, followed_links(page), "link", scope)
    return links + candidates_of(lease, followed_feeds(page), "feed", scope)
