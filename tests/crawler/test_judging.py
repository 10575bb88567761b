"""What follows from an outcome: the kind of failure, its reason code, and which links become candidates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from crawler.egress import EgressReason
from crawler.frontier.leases import Failure
from crawler.judging import (
    BODY_REASONS,
    FINAL,
    TRANSIENT,
    candidates_of,
    failure_of,
    followed_links,
    is_dialled,
    kept_validators,
    kind_of,
    robots_failure,
    validators_of,
)
from crawler.outcomes import Answer, FetchOutcome, FetchReason, RequestRecord, Validators
from crawler.parse import PageSource, parse_page
from crawler.robots import parsed_entry, unreadable_entry
from crawler.urls import normalise
from domain.crawl_states import MAX_DEPTH, Lease
from domain.politeness import SECOND_MICROS

AT = datetime(2026, 3, 1, tzinfo=UTC)
PAGE = "https://www.a.example/page"
LEASE = Lease(1, PAGE, PAGE, "https://www.a.example", 1, None, "w", 1, 1, 2, 0, 1, '"v"', None)


def outcome(reason: FetchReason, status: int | None = None, **said: Any) -> FetchOutcome:
    address = "192.0.2.1" if status else None
    record = RequestRecord(PAGE, "https://www.a.example", address, AT, AT, status, 0, reason)
    return FetchOutcome(
        record, reason, "", Answer(status, said.pop("validators", Validators()), **said) if status else None
    )


def _reasons(kind: Any) -> set[str]:
    return {one for part in get_args(kind) for one in (_reasons(part) if get_args(part) else {part})}


def test_every_reason_is_judged() -> None:
    """What is neither transient nor final, nor a page, may not be fetched: that is what the guard says, and no more."""
    judged = TRANSIENT | FINAL | BODY_REASONS | {"not_modified", "redirected", "throttled"}
    assert _reasons(FetchReason) - judged == _reasons(EgressReason)
    assert not TRANSIENT & FINAL


@pytest.mark.parametrize(
    ("made", "attempt_count", "expected"),
    [
        (outcome("throttled", 429), 1, Failure("throttled", "http_429")),
        (outcome("throttled", 503, retry_after_seconds=7), 1, Failure("throttled", "http_503", 0, 7 * SECOND_MICROS)),
        (outcome("server_error", 502, retry_after_seconds=1), 1, Failure("throttled", "http_502", 0, SECOND_MICROS)),
        (outcome("server_error", 500), 1, Failure("transient", "http_500")),
        (outcome("client_error", 404), 1, Failure("transient", "http_404")),
        (outcome("client_error", 404), 2, Failure("final", "http_404")),
        (outcome("client_error", 410), 1, Failure("final", "http_410")),
        (outcome("client_error", 403), 1, Failure("final", "http_403")),
        (outcome("total_timeout", 200), 1, Failure("transient", "total_timeout")),
        (outcome("type_refused", 200), 1, Failure("final", "type_refused")),
        (outcome("redirect_refused", 302), 1, Failure("final", "redirect_refused")),
        (outcome("not_public"), 1, Failure("refused", "not_public")),
        (outcome("no_such_name"), 1, Failure("transient", "no_such_name")),
    ],
    ids=lambda value: value.reason if isinstance(value, FetchOutcome) else "",
)  # fmt: skip
def test_failures(made: FetchOutcome, attempt_count: int, expected: Failure) -> None:
    """C1 and C11 among them."""
    assert failure_of(made, attempt_count, 0) == expected


@pytest.mark.parametrize(
    ("made", "is_seen"),
    [(outcome("connect_failed"), True), (outcome("dns_failed"), False), (outcome("port"), False)],
    ids=["connect_failed", "dns_failed", "port"],
)
def test_only_what_an_origin_could_notice_is_a_request(made: FetchOutcome, is_seen: bool) -> None:
    assert is_dialled(made) is is_seen
    assert is_dialled(outcome("fetched", 200))


def test_what_robots_forbids_is_refused_and_what_it_does_not_say_rests() -> None:
    """C4."""
    entry = parsed_entry("https://www.a.example", b"User-agent: *\nDisallow: /page", AT)
    refusal = robots_failure(entry, entry.verdict(normalise(PAGE), "t", AT), 0)
    assert refusal == Failure("refused", "robots_disallowed", detail=f"robots.txt {entry.version}, line 2")
    away = unreadable_entry("https://www.a.example", None, "server_error 500", AT)
    resting = robots_failure(away, away.verdict(normalise(PAGE), "t", AT), 60)
    assert resting == Failure("throttled", "robots_unreadable", 0, 60, "server_error 500")
    last_good = unreadable_entry("https://www.a.example", entry, "server_error 500", AT + timedelta(hours=30))
    still = robots_failure(last_good, last_good.verdict(normalise(PAGE), "t", AT + timedelta(hours=30)), 0)
    assert still.kind == "refused", "the last good copy speaks"


@pytest.mark.parametrize(
    ("scope", "paths"),
    [
        ("registrable_domain", ["https://www.a.example/x", "http://www.a.example/x", "https://b.a.example/"]),
        ("host", ["https://www.a.example/x", "http://www.a.example/x"]),
        ("origin", ["https://www.a.example/x"]),
    ],
)
def test_links_in_scope_are_candidates_once_and_deeper(scope: str, paths: list[str]) -> None:
    links = ["/x", "/x#again", PAGE, "http://www.a.example/x", "https://b.a.example/", "https://c.example/"]
    made = candidates_of(LEASE, [normalise(link, PAGE) for link in links], "link", scope)
    assert [(one.identity.url, one.depth, one.source) for one in made] == [(path, 3, "link") for path in paths]
    assert candidates_of(LEASE._replace(depth=MAX_DEPTH), [normalise("/x", PAGE)], "link", scope) == []


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b"<a href=/a>a</a><a href=/b rel=nofollow>b</a>", ["https://www.a.example/a"]),
        (b"<meta name=robots content=nofollow><a href=/a>a</a>", []),
    ],
)
def test_nofollow_is_obeyed(body: bytes, paths: list[str]) -> None:
    page = parse_page(PageSource(PAGE, body, "text/html", None, (), "t"))
    assert [link.url for link in followed_links(page)] == paths


def test_validators_are_kept_verbatim_and_only_of_what_is_whole() -> None:
    """C23."""
    said = Validators('"é"'.encode(), b"Yesterday")
    assert kept_validators(outcome("fetched", 200, validators=said)) == ('"é"', "Yesterday")
    assert kept_validators(outcome("wire_too_large", 200, validators=said)) == (None, None)
    assert kept_validators(outcome("fetched", 200, validators=Validators(b"\xff", None))) == (None, None)
    assert validators_of(LEASE) == Validators(b'"v"', None)
    assert kind_of(outcome("body_cut", 200), 1) == "transient"
