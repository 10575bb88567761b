"""The robots.txt of an origin: what each answer means, for how long, and what a failure leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from crawler.robots import (
    FIRST_PAUSE,
    KEPT,
    LAST_GOOD_KEPT,
    LONGEST_PAUSE,
    MAX_REDIRECTS_COUNT,
    RobotsEntry,
    absent_entry,
    parsed_entry,
    read_robots,
    unreadable_entry,
)
from crawler.urls import normalise
from domain.frontier import UrlIdentity
from domain.robots import MAX_ROBOTS_BYTES
from tests.crawler.conftest import MakeFetcher
from tests.support.hostile_site import Behaviour, HostileSite, answer, head, raw, repeated

AT = datetime(2026, 3, 1, tzinfo=UTC)
ORIGIN = "http://a.example"
PAGE = normalise(f"{ORIGIN}/private/x")
CLOSED = b"User-agent: *\nDisallow: /private\n"


def _read(make_fetcher: MakeFetcher, behaviour: Behaviour, previous: RobotsEntry | None = None) -> RobotsEntry:
    async def use(site: HostileSite, read: Callable[[RobotsEntry | None], Awaitable[RobotsEntry]]) -> RobotsEntry:
        return await read(previous)

    return _on_site(make_fetcher, {"/robots.txt": behaviour}, use)


def _on_site(make_fetcher: MakeFetcher, behaviours: dict[str, Behaviour], use) -> RobotsEntry:  # type: ignore[no-untyped-def] - as in _read
    async def run() -> RobotsEntry:
        async with HostileSite(behaviours=behaviours) as site, make_fetcher(site.policy()) as fetcher:
            admitted: list[str] = []

            async def admit(url: UrlIdentity) -> None:
                admitted.append(url.url.removeprefix(site.origin))

            async def read(previous: RobotsEntry | None) -> RobotsEntry:
                return await read_robots(fetcher, site.origin, previous, admit)

            entry: RobotsEntry = await use(site, read)
            assert admitted == site.asked_paths(), "every request was admitted first"
            return entry

    return asyncio.run(run())


def _allows(entry: RobotsEntry, path: str = "/private/x", at: datetime | None = None) -> bool:
    url = normalise(path, entry.origin)
    return entry.verdict(url, "tallystick", at or entry.read_at).is_allowed


def test_a_file_is_parsed_and_kept_for_a_day(make_fetcher: MakeFetcher) -> None:
    entry = _read(make_fetcher, answer(CLOSED, content_type="text/plain"))
    assert (entry.state, entry.expires_at - entry.read_at) == ("parsed", KEPT)
    assert (_allows(entry), _allows(entry, "/public")) == (False, True)
    verdict = entry.verdict(normalise("/private/x", entry.origin), "tallystick", entry.read_at)
    assert (verdict.version, verdict.line_number) == (entry.version, 2)


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone", "403 Forbidden", "401 Unauthorized"])
def test_a_client_error_allows_all(make_fetcher: MakeFetcher, status: str) -> None:
    entry = _read(make_fetcher, answer(status=status))
    assert (entry.state, entry.version) == ("absent", "absent")
    assert _allows(entry)


@pytest.mark.parametrize(
    "behaviour",
    [
        answer(status="503 Later"),
        answer(status="500 No"),
        answer(status="429 Slow"),
        answer(status="302 Found", location="http://10.0.0.1/robots.txt"),
        raw(b"", is_closed=True),
        raw(head(content_length="99") + b"User-agent: *\n", is_closed=True),
        answer(b"no gzip", content_encoding="gzip"),
        answer(b"", status="206 Part"),
    ],
    ids=["503", "500", "429", "redirect_refused", "dropped", "cut", "bad_coding", "206"],
)
def test_what_cannot_be_read_allows_nothing(make_fetcher: MakeFetcher, behaviour: Behaviour) -> None:
    """C4: 503, then a timeout; the state says so."""
    entry = _read(make_fetcher, behaviour)
    assert (entry.state, entry.version, entry.failures_count) == ("unreadable", "unread", 1)
    assert not _allows(entry)
    assert entry.detail


def test_the_last_good_copy_speaks_for_a_bounded_time(make_fetcher: MakeFetcher) -> None:
    """C4."""
    good = parsed_entry(ORIGIN, CLOSED, AT)
    entry = _read(make_fetcher, answer(status="503 Later"), good)
    assert (entry.state, entry.version) == ("unreadable", good.version)
    until = AT + KEPT + LAST_GOOD_KEPT
    before = until - timedelta(seconds=1)
    assert [_allows(entry, "/public", at) for at in (before, until)] == [True, False]
    assert not _allows(entry, "/private/x", before)
    assert entry.verdict(normalise(f"{ORIGIN}/public"), "tallystick", until).reason == "unreadable"


def test_an_absent_file_that_becomes_unreadable_allows_for_a_bounded_time() -> None:
    entry = unreadable_entry(ORIGIN, absent_entry(ORIGIN, "status 404", AT), "503", AT)
    assert [_allows(entry, at=at) for at in (AT, AT + KEPT + LAST_GOOD_KEPT)] == [True, False]


def test_the_pause_doubles_up_to_a_limit() -> None:
    """C4: no endless re-queue."""
    entry, pauses = unreadable_entry(ORIGIN, None, "503", AT), []
    for _ in range(15):
        pauses.append(entry.expires_at - entry.read_at)
        entry = unreadable_entry(ORIGIN, entry, "503", AT)
    assert pauses[:4] == [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4, FIRST_PAUSE * 8]
    assert set(pauses[9:]) == {LONGEST_PAUSE}


def test_a_longer_pause_is_taken_if_asked(make_fetcher: MakeFetcher) -> None:
    entry = _read(make_fetcher, answer(status="503 Later", retry_after="7200"))
    assert entry.expires_at - entry.read_at == timedelta(hours=2)


def test_redirects_are_followed_as_far_as_the_rfc_names(make_fetcher: MakeFetcher) -> None:
    hops = [f"/hop{number}" for number in range(MAX_REDIRECTS_COUNT)]
    behaviours = {
        path: answer(status="301 Moved", location=target)
        for path, target in zip(["/robots.txt", *hops], [*hops, "/end"], strict=False)
    }

    async def use(site: HostileSite, read: Callable[[RobotsEntry | None], Awaitable[RobotsEntry]]) -> RobotsEntry:
        del site.behaviours[hops[-1]]
        site.behaviours[hops[-1]] = answer(CLOSED)
        entry = await read(None)
        assert (entry.origin, _allows(entry)) == (site.origin, False), "the rules of who was asked"
        return entry

    _on_site(make_fetcher, behaviours, use)


def test_a_redirect_loop_ends(make_fetcher: MakeFetcher) -> None:
    async def use(site: HostileSite, read: Callable[[RobotsEntry | None], Awaitable[RobotsEntry]]) -> RobotsEntry:
        entry = await read(None)
        assert site.asked_paths() == ["/robots.txt", "/b"] * 3
        return entry

    behaviours = {
        "/robots.txt": answer(status="302 Found", location="/b"),
        "/b": answer(status="302 Found", location="/robots.txt"),
    }
    assert _on_site(make_fetcher, behaviours, use).state == "absent"


def test_only_the_start_of_an_endless_file_counts(make_fetcher: MakeFetcher) -> None:
    endless = repeated(head(content_length="9" * 12) + CLOSED, b"#" * 65_536 + b"\nDisallow: /late\n")
    entry = _read(make_fetcher, endless)
    assert entry.state == "parsed"
    assert not _allows(entry)
    late = answer(CLOSED + b"#" * MAX_ROBOTS_BYTES + b"\nDisallow: /late\n")
    assert _allows(_read(make_fetcher, late), "/late")


def test_rules_are_of_an_origin() -> None:
    """C8: http allows, https forbids."""
    https = parsed_entry("https://a.example", b"User-agent: *\nDisallow: /", AT)
    http = parsed_entry("http://a.example", b"", AT)
    assert (_allows(http), _allows(https)) == (True, False)
    assert http.version != https.version


def test_the_file_itself_may_always_be_asked_for() -> None:
    entry = parsed_entry(ORIGIN, b"User-agent: *\nDisallow: /\nCrawl-delay: 600\n", AT)
    assert _allows(entry, "/robots.txt")
    assert not _allows(entry, "/")
    assert entry.crawl_delay_seconds("tallystick") == 600
