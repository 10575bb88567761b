"""One request against a hostile server: every trick ends in an outcome with its reason, within the limits."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from ipaddress import ip_network

import pytest
import zstandard

from crawler.egress import EgressPolicy
from crawler.fetch import Agent, Fetcher
from crawler.outcomes import FetchLimits, FetchOutcome, Validators
from crawler.urls import normalise
from domain.errors import SettingError
from tests.crawler.conftest import MakeFetcher
from tests.support.hostile_site import (
    CERTIFICATE,
    Behaviour,
    HostileSite,
    LyingNames,
    answer,
    head,
    raw,
    repeated,
    silence,
)

MIB = 1024 * 1024
SMALL = FetchLimits(wire_bytes=256 * 1024, decoded_bytes=MIB)
HTML = b"<!doctype html><title>t</title><p>Hello"
BOMB = bytes(20 * MIB)


def _chunked(*chunks: bytes) -> bytes:
    return head(transfer_encoding="chunked") + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks)


def _fetched(make_fetcher: MakeFetcher, behaviour: Behaviour, limits: FetchLimits = SMALL) -> FetchOutcome:
    async def run() -> FetchOutcome:
        async with HostileSite(behaviours={"/": behaviour}) as site, make_fetcher(site.policy()) as fetcher:
            outcome: FetchOutcome = await fetcher.fetch(normalise(site.origin), limits=limits)
            assert len(site.asked) <= 1, "asked once, whatever happens"
            return outcome

    return asyncio.run(run())


def _on_site(
    make_fetcher: MakeFetcher, behaviours: dict[str, Behaviour], use: Callable[[HostileSite, Fetcher], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with HostileSite(behaviours=behaviours) as site, make_fetcher(site.policy()) as fetcher:
            await use(site, fetcher)

    asyncio.run(run())


def test_a_page_and_its_record(make_fetcher: MakeFetcher) -> None:
    behaviour = answer(HTML, etag='"v1"', x_robots_tag="noindex", content_type="text/html; charset=utf-8")
    outcome = _fetched(make_fetcher, behaviour)
    request = outcome.request
    assert (outcome.reason, outcome.body, outcome.is_complete) == ("fetched", HTML, True)
    assert (request.status, request.wire_bytes, request.address) == (200, len(HTML), "127.0.0.1")
    assert request.started_at < request.ended_at
    assert outcome.answer is not None
    assert outcome.answer.validators == Validators(b'"v1"', None)
    assert outcome.answer.robots_tags == ("noindex",)
    assert (outcome.answer.content_type, outcome.answer.media_type) == ("text/html; charset=utf-8", "text/html")


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (answer(status="404 Not Found"), "client_error"),
        (answer(status="410 Gone"), "client_error"),
        (answer(status="500 No"), "server_error"),
        (answer(status="429 Slow"), "throttled"),
        (answer(status="503 Later"), "throttled"),
        (answer(status="304 Same"), "unexpected_status"),  # nothing was asked that it could answer
        (answer(status="206 Part"), "unexpected_status"),
        (answer(status="302 Found"), "unexpected_status"),  # to nowhere
        (answer(b"%PDF-1.7", content_type="application/pdf"), "type_refused"),
        (answer(b"%PDF-1.7 calls itself a page"), "type_refused"),
        (answer(b"<p>" + bytes(600)), "type_refused"),
        (answer(b"x", content_encoding="br"), "coding_refused"),
        (answer(b"x", content_encoding="gzip, gzip, gzip, gzip"), "coding_refused"),
        (answer(b"no gzip", content_encoding="gzip"), "bad_coding"),
        (answer(gzip.compress(HTML)[:-9], content_encoding="gzip"), "bad_coding"),
        (raw(head(content_length="1000") + HTML, is_closed=True), "body_cut"),
        (raw(_chunked(HTML), is_closed=True), "body_cut"),
        (raw(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 9\r\n\r\nhello"), "protocol_error"),
        (raw(b"SSH-2.0-hello\r\n\r\n", is_closed=True), "protocol_error"),
        (raw(b"", is_closed=True), "protocol_error"),
        (raw(head(x_long="y" * 10_000)), "headers_too_large"),
        (raw(head(**{f"x_{i}": "y" for i in range(200)})), "headers_too_large"),
        (repeated(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n" * 100), "headers_too_large"),
        (repeated(head(transfer_encoding="chunked"), b"400\r\n" + b"a" * 1024 + b"\r\n"), "wire_too_large"),
        (answer(gzip.compress(BOMB), content_encoding="gzip"), "type_refused"),  # zeros are no text
        (answer(gzip.compress(b"a" * len(BOMB)), content_encoding="gzip"), "decoded_too_large"),
        (answer(zlib.compress(b"a" * len(BOMB)), content_encoding="deflate"), "decoded_too_large"),
        (answer(zstandard.compress(b"a" * len(BOMB)), content_encoding="zstd"), "decoded_too_large"),
    ],
)  # fmt: skip
def test_what_an_answer_becomes(make_fetcher: MakeFetcher, behaviour: Behaviour, reason: str) -> None:
    """C22 among them: a bomb stops at the cap."""
    outcome = _fetched(make_fetcher, behaviour)
    assert (outcome.reason, outcome.request.reason) == (reason, reason), outcome.detail
    assert len(outcome.body) <= SMALL.decoded_bytes
    assert not outcome.is_complete


def test_bad_chunks(make_fetcher: MakeFetcher) -> None:
    """Where the headers arrive in the same packet, the client reads no answer at all."""
    outcome = _fetched(make_fetcher, raw(_chunked(HTML) + b"zz\r\nxx", is_closed=True))
    assert outcome.reason in {"body_cut", "protocol_error"}
    assert not outcome.is_complete


@pytest.mark.parametrize(
    ("behaviour", "limits", "reason"),
    [
        (silence, FetchLimits(headers_seconds=0.3), "headers_timeout"),
        (silence, FetchLimits(total_seconds=0.3), "total_timeout"),
        (repeated(head(content_length="99"), b"", 0.05), FetchLimits(idle_seconds=2.0), "idle_timeout"),
        (repeated(head(content_length="99999"), b"a", 0.02), FetchLimits(total_seconds=1.0), "total_timeout"),
        (repeated(b"HTTP/1.1 200 OK\r\nx: ", b"a", 0.02), FetchLimits(headers_seconds=1.0), "headers_timeout"),
    ],
    ids=["silent", "silent_in_all", "stops_in_the_body", "drips_its_body", "drips_its_headers"],
)
def test_each_phase_has_its_time(
    make_fetcher: MakeFetcher, behaviour: Behaviour, limits: FetchLimits, reason: str
) -> None:
    assert _fetched(make_fetcher, behaviour, limits).reason == reason


def test_what_is_cut_is_not_what_is_whole(make_fetcher: MakeFetcher) -> None:
    """C23: the start of a body that was cut at the cap equals a whole one byte for byte, and yet is not complete."""
    text = b"a" * SMALL.decoded_bytes
    whole = _fetched(make_fetcher, answer(gzip.compress(text), content_encoding="gzip"))
    cut = _fetched(make_fetcher, answer(gzip.compress(text + b"b"), content_encoding="gzip"))
    assert whole.body == cut.body
    assert (whole.is_complete, cut.is_complete) == (True, False)


def test_an_endless_body_is_left(make_fetcher: MakeFetcher) -> None:
    limits = replace(SMALL, wire_bytes=100_000)
    outcome = _fetched(make_fetcher, repeated(head(content_length="9" * 15), b"a" * 10_000), limits)
    assert (outcome.reason, len(outcome.body)) == ("wire_too_large", 100_000)


def test_what_follows_a_body_is_no_answer_to_the_next_request(make_fetcher: MakeFetcher) -> None:
    """A length that is too short, and behind it what looks like another answer."""
    forged = head(content_length="6") + b"forged"

    async def use(site: HostileSite, fetcher: Fetcher) -> None:
        first = await fetcher.fetch(normalise(f"{site.origin}/short"))
        second = await fetcher.fetch(normalise(f"{site.origin}/next"))
        assert (first.body, second.body) == (b"hello", b"honest")

    behaviours = {"/short": raw(head(content_length="5") + b"hello" + forged), "/next": answer(b"honest")}
    _on_site(make_fetcher, behaviours, use)


def test_validators_go_back_byte_for_byte(make_fetcher: MakeFetcher) -> None:
    etag, date = 'W/"é odd"', "Yesterday, at noon"

    async def use(site: HostileSite, fetcher: Fetcher) -> None:
        first = await fetcher.fetch(normalise(f"{site.origin}/new"))
        assert first.answer is not None
        second = await fetcher.fetch(normalise(f"{site.origin}/same"), first.answer.validators)
        assert (first.reason, second.reason, second.body) == ("fetched", "not_modified", b"")
        sent = site.asked[1].headers
        assert (sent["if-none-match"], sent["if-modified-since"]) == (etag, date)

    behaviours = {"/new": answer(HTML, etag=etag, last_modified=date), "/same": answer(status="304 Same")}
    _on_site(make_fetcher, behaviours, use)


def test_a_redirect_is_a_candidate_and_is_not_followed(make_fetcher: MakeFetcher) -> None:
    async def use(site: HostileSite, fetcher: Fetcher) -> None:
        outcome = await fetcher.fetch(normalise(f"{site.origin}/a"))
        assert outcome.reason == "redirected"
        assert outcome.answer is not None
        assert outcome.answer.redirect_to == normalise(f"{site.origin}/b")
        assert site.asked_paths() == ["/a"]

    _on_site(make_fetcher, {"/a": answer(status="301 Moved", location="./x/../b#part")}, use)


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/", "http://[::ffff:a9fe:a9fe]/", "http://2852039166/", "ftp://a.example/",
        "http://localhost/", "file:///etc/passwd", "http://user:secret@a.example/", "http://a.example:22/", "http://[",
    ],
)  # fmt: skip
def test_a_redirect_to_what_is_forbidden_ends_there(make_fetcher: MakeFetcher, location: str) -> None:
    """C11: public, then the metadata address of a cloud."""
    outcome = _fetched(make_fetcher, answer(status="302 Found", location=location))
    assert outcome.reason == "redirect_refused"
    assert outcome.answer is not None
    assert outcome.answer.redirect_to is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://10.0.0.1/", "not_public"),
        ("http://127.0.0.1/", "not_public"),
        ("http://[::1]/", "not_public"),
        ("http://0x7f000001/", "not_public"),
        ("http://localhost/", "local_name"),
        ("http://gone.test:22/", "port"),
    ],
)
def test_what_a_url_says_is_judged_before_anything_is_dialled(make_fetcher: MakeFetcher, url: str, reason: str) -> None:
    """C10: the resolver is never asked about a literal, so it cannot be the only guard."""

    async def run() -> FetchOutcome:
        async with make_fetcher(EgressPolicy(frozenset({80}))) as fetcher:
            return await fetcher.fetch(normalise(url))

    outcome = asyncio.run(run())
    assert (outcome.reason, outcome.request.address) == (reason, None)


def test_the_address_that_was_checked_is_the_one_that_is_dialled(make_fetcher: MakeFetcher) -> None:
    """C13: each look-up of this name gives another address; one look-up a connection, and it decides."""

    async def run() -> None:
        names = LyingNames(answers={"rebind.test": [["127.0.0.1"], ["127.0.0.2"]]})
        async with names, HostileSite(behaviours={"/": answer(HTML, connection="close")}) as site:
            policy = site.policy(ip_network("127.0.0.1/32"))
            async with make_fetcher(policy, names.server) as fetcher:
                url = normalise(site.origin_as("rebind.test"))
                first, second = await fetcher.fetch(url), await fetcher.fetch(url)
        assert (first.reason, first.request.address) == ("fetched", "127.0.0.1")
        assert (second.reason, second.request.address) == ("not_public", None)
        assert site.connections_count == 1
        assert names.questions.count(("rebind.test", 1)) == 2

    asyncio.run(run())


def test_a_name_with_a_private_address_among_others_is_not_dialled(make_fetcher: MakeFetcher) -> None:
    """C13: both in one answer."""

    async def run() -> None:
        names = LyingNames(answers={"mixed.test": [["127.0.0.1", "127.0.0.2"]]})
        async with names, HostileSite(behaviours={"/": answer(HTML)}) as site:
            policy = site.policy(ip_network("127.0.0.1/32"))
            async with make_fetcher(policy, names.server) as fetcher:
                outcome = await fetcher.fetch(normalise(site.origin_as("mixed.test")))
        assert outcome.reason == "mixed_answers"
        assert site.connections_count == 0

    asyncio.run(run())


@pytest.mark.parametrize(("name", "reason"), [("gone.test", "no_such_name"), ("broken.test", "dns_failed")])
def test_names_that_do_not_resolve(make_fetcher: MakeFetcher, name: str, reason: str) -> None:
    async def run() -> FetchOutcome:
        policy = EgressPolicy(frozenset({80}))
        async with LyingNames(failing={"broken.test"}) as names, make_fetcher(policy, names.server) as fetcher:
            return await fetcher.fetch(normalise(f"http://{name}/"))

    assert asyncio.run(run()).reason == reason


def test_no_cookie_is_kept_and_the_agent_is_honest(make_fetcher: MakeFetcher) -> None:
    """By a name: cookies of addresses are refused by many clients anyway."""

    async def run() -> None:
        names = LyingNames(answers={"cookies.test": [["127.0.0.1"]]})
        async with names, HostileSite(behaviours={"/": answer(HTML, set_cookie="id=1; Max-Age=999")}) as site:
            fetcher_context = make_fetcher(site.policy(), names.server)
            async with fetcher_context as fetcher:
                for _ in range(2):
                    await fetcher.fetch(normalise(site.origin_as("cookies.test")))
        sent = site.asked[1].headers
        assert sent["user-agent"] == "tallystick-test/1.0 (+https://crawler.example/about)"
        assert sent["accept-encoding"] == "gzip, deflate, zstd"
        assert {"cookie", "authorization", "referer", "if-none-match"} & sent.keys() == set()
        assert site.connections_count == 1, "the connection is used again"

    asyncio.run(run())


def test_no_proxy_of_the_environment_is_asked(make_fetcher: MakeFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with HostileSite() as proxy, HostileSite(behaviours={"/": answer(HTML)}) as site:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.origin)
            async with make_fetcher(site.policy()) as fetcher:
                outcome = await fetcher.fetch(normalise(site.origin))
        assert (outcome.reason, proxy.connections_count) == ("fetched", 0)

    asyncio.run(run())


def test_retry_after_is_reported(make_fetcher: MakeFetcher) -> None:
    """C1: what is told once holds for the whole origin, so it has to arrive."""
    outcome = _fetched(make_fetcher, answer(status="429 Slow", retry_after="120"))
    assert outcome.answer is not None
    assert outcome.answer.retry_after_seconds == 120


def test_a_connection_that_the_server_drops_is_not_asked_again(make_fetcher: MakeFetcher) -> None:
    """The HTTP client would ask a second time, and the politeness log would know of one request."""

    async def use(site: HostileSite, fetcher: Fetcher) -> None:
        await fetcher.fetch(normalise(f"{site.origin}/page"))
        outcome = await fetcher.fetch(normalise(f"{site.origin}/drop"))
        assert outcome.reason == "protocol_error"
        assert site.asked_paths() == ["/page", "/drop"]

    _on_site(make_fetcher, {"/page": answer(HTML), "/drop": raw(b"", is_closed=True)}, use)


def test_nobody_listens(make_fetcher: MakeFetcher) -> None:
    async def run() -> FetchOutcome:
        async with HostileSite() as site:
            pass
        async with make_fetcher(site.policy()) as fetcher:
            return await fetcher.fetch(normalise(site.origin))

    assert asyncio.run(run()).reason == "connect_failed"


@pytest.mark.parametrize(
    ("name", "is_trusted", "reason"),
    [("good.test", True, "fetched"), ("good.test", False, "tls_failed"), ("other.test", True, "tls_failed")],
)
def test_certificates_are_checked_against_the_name(
    make_fetcher: MakeFetcher, name: str, is_trusted: bool, reason: str
) -> None:
    """A pinned address changes nothing about whose certificate is expected."""
    tls = ssl.create_default_context(cafile=str(CERTIFICATE)) if is_trusted else None

    async def run() -> FetchOutcome:
        site = HostileSite(is_tls=True, behaviours={"/": answer(HTML)})
        async with LyingNames(answers={name: [["127.0.0.1"]]}) as names, site:
            async with make_fetcher(site.policy(), names.server, tls) as fetcher:
                outcome: FetchOutcome = await fetcher.fetch(normalise(site.origin_as(name)))
            return outcome

    assert asyncio.run(run()).reason == reason


def test_a_server_that_speaks_no_tls(make_fetcher: MakeFetcher) -> None:
    async def run() -> FetchOutcome:
        async with HostileSite() as site, make_fetcher(site.policy()) as fetcher:
            url = normalise(f"https://127.0.0.1:{site.port}/")
            return await fetcher.fetch(url, limits=FetchLimits(connect_seconds=1.0))

    assert asyncio.run(run()).reason in {"tls_failed", "connect_failed", "connect_timeout"}


@pytest.mark.parametrize(
    ("token", "contact_url"),
    [
        ("bot", ""),
        ("bot", "mailto:a@b.example"),
        ("bot", "https://a.example/\r\nx: y"),
        ("", "https://a.example/"),
        ("b/1", "https://a.example/"),
    ],
)
def test_who_does_not_say_who_asks_does_not_ask(token: str, contact_url: str) -> None:
    with pytest.raises(SettingError):
        Agent(token, contact_url)
