"""One request through the app: redirected only with a durable click, refused with the reason, counted either way."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from domain.parsing import ParsedEvent, parse_event
from domain.settings import Settings
from services.click import app as app_module
from services.click.journal import JournalUnavailableError
from tests.support.click_parts import ADS, AT, ClickParts, home_with_ads

PIXEL = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/126.0.0.0 Mobile Safari/537.36"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("click-app")
    home_with_ads(path)
    return path


@pytest.fixture
def parts(home: Path) -> ClickParts:
    return ClickParts(Settings(home=home))


def test_a_click_is_logged_and_redirected(parts: ClickParts) -> None:
    answer = asyncio.run(parts.ask(parts.query(), user_agent=PIXEL))
    assert answer.status == 302
    assert answer.headers == {
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "location": "https://shop.example/landing?from=ad&n=17",
        "content-length": "0",
    }
    assert parts.journal.records[0][0] == b"imp-7"
    assert parts.journal.events == [
        {
            "v": 1,
            "impression_id": "imp-7",
            "ad_id": 17,
            "advertiser_id": 3,
            "campaign_id": 5,
            "clicked_at": "2026-03-01T12:30:15.000250Z",
            "country": "ZZ",
            "device": "mobile",
            "ip": "198.51.100.7",
            "user_agent": PIXEL,
            "kind": "click",
            "server_id": "edge-1",
            "server_seq": 0,
        }
    ]
    assert parts.refusals == {}


@pytest.mark.parametrize(
    ("method", "headers", "kind"),
    [
        ("GET", {}, "click"),
        ("HEAD", {}, "head"),
        ("HEAD", {"purpose": "prefetch"}, "head"),
        ("GET", {"sec_purpose": "prefetch"}, "prefetch"),
        ("GET", {"sec_purpose": "prefetch;prerender"}, "prefetch"),
        ("GET", {"purpose": "prefetch"}, "prefetch"),
        ("GET", {"x_moz": "prefetch"}, "prefetch"),
    ],
)
def test_previews_are_served_and_logged_with_their_kind(
    parts: ClickParts, method: str, headers: dict[str, str], kind: str
) -> None:
    """R1: a HEAD or a prefetch gets its redirect and is an event of its own kind, which is never billed."""
    answer = asyncio.run(parts.ask(parts.query(), method, **headers))
    assert answer.status == 302
    assert [event["kind"] for event in parts.journal.events] == [kind]


def test_the_target_comes_from_the_ad_alone(parts: ClickParts) -> None:
    """R4: parameters that name another target are not looked at."""
    query = parts.query() + "&url=http://elsewhere.example&target_url=//elsewhere.example&ad_url=x"
    answer = asyncio.run(parts.ask(query))
    assert answer.headers["location"] == "https://shop.example/landing?from=ad&n=17"


def test_another_ad_in_a_signed_link_is_refused(parts: ClickParts) -> None:
    """R4: what is not signed is no click, and is counted."""
    answer = asyncio.run(parts.ask(parts.query().replace("ad=17", "ad=18")))
    assert (answer.status, answer.document["error"]) == (403, "bad_signature")
    assert "location" not in answer.headers
    assert parts.journal.records == []
    assert parts.refusals == {"bad_signature": 1}


@pytest.mark.parametrize(
    ("change", "method", "status", "error", "parameter"),
    [
        (lambda query: query, "POST", 405, "method_not_allowed", None),
        (lambda query: query + "&x=" + "y" * 5_000, "GET", 414, "query_too_long", None),
        (lambda query: query.replace("imp=", "pim="), "GET", 400, "missing_parameter", "imp"),
        (lambda query: query + "&ad=17", "GET", 400, "repeated_parameter", "ad"),
        (lambda query: query.replace("imp-7", "a" * 65), "GET", 400, "oversized_parameter", "imp"),
        (lambda query: query.replace("imp-7", "a%00"), "GET", 400, "malformed_parameter", "imp"),
        (lambda query: query.replace("kid=", "kid=x"), "GET", 403, "unknown_key", "kid"),
        (lambda query: query.replace("imp-7", "imp-8"), "GET", 403, "bad_signature", "sig"),
    ],
)
def test_what_is_wrong_is_told_and_counted(  # noqa: PLR0917
    parts: ClickParts, change: object, method: str, status: int, error: str, parameter: str | None
) -> None:
    answer = asyncio.run(parts.ask(change(parts.query()), method))  # type: ignore[operator]
    assert answer.status == status
    assert answer.document.keys() == {"error", "parameter", "expected"}
    assert (answer.document["error"], answer.document["parameter"]) == (error, parameter)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert ("allow" in answer.headers) == (status == 405)
    assert parts.journal.records == []
    assert parts.refusals == {error: 1}


def test_an_unknown_ad_is_told_to_those_only_who_have_a_signed_link(parts: ClickParts) -> None:
    answer = asyncio.run(parts.ask(parts.query(ad_id=999)))
    assert (answer.status, answer.document["error"]) == (404, "unknown_ad")
    forged = asyncio.run(parts.ask(parts.query(ad_id=17).replace("ad=17", "ad=999")))
    assert forged.document["error"] == "bad_signature"
    assert parts.refusals == {"unknown_ad": 1, "bad_signature": 1}


def test_no_redirect_before_the_acknowledgement(parts: ClickParts) -> None:
    """Law 1: the answer waits for the journal, however long it takes."""
    parts.journal.acknowledges_at_once = False

    async def scenario() -> int:
        request = asyncio.create_task(parts.ask(parts.query()))
        await asyncio.sleep(0.05)
        assert not request.done()
        assert len(parts.in_flight) == 1
        parts.journal.waiting[0].set_result(None)
        answer = await request
        assert len(parts.in_flight) == 0
        return answer.status

    assert asyncio.run(scenario()) == 302


def test_a_click_that_nothing_keeps_is_redirected_and_counted(parts: ClickParts) -> None:
    """Law 1's one exception, R5: the visitor does not pay for it, and it is never silent."""
    parts.journal.acknowledges_at_once = False

    async def scenario() -> None:
        request = asyncio.create_task(parts.ask(parts.query()))
        await asyncio.sleep(0)
        parts.journal.waiting[0].set_exception(JournalUnavailableError("gone"))
        answer = await request
        assert (answer.status, answer.headers["location"]) == (302, ADS[0].target_url)

    asyncio.run(scenario())
    assert parts.refusals == {"click_lost": 1}
    assert parts.app.lost_count == 1
    assert len(parts.in_flight) == 0


def test_no_redirect_before_the_journal_has_the_click(parts: ClickParts) -> None:
    """Law 1: an answer only behind the acknowledgement."""
    parts.journal.acknowledges_at_once = False

    async def scenario() -> None:
        request = asyncio.create_task(parts.ask(parts.query()))
        await asyncio.sleep(0.05)
        assert not request.done()
        parts.journal.waiting[0].set_result(None)
        assert (await request).status == 302

    asyncio.run(scenario())
    assert parts.refusals == {}


def test_a_click_stays_in_flight_after_its_visitor_was_sent_away(
    parts: ClickParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 7: a watermark must not overtake a click that the journal may still get."""
    monkeypatch.setattr(app_module, "SETTLED_WITHIN_SECONDS", 0.01)
    parts.journal.acknowledges_at_once = False

    async def scenario() -> None:
        answer = await parts.ask(parts.query())
        assert (answer.status, parts.refusals) == (302, {"click_lost": 1})
        parts.clock.pass_seconds(60)
        assert parts.in_flight.accepted_until(parts.clock()) == AT
        parts.journal.waiting[0].set_result(None)
        await asyncio.sleep(0)
        assert parts.in_flight.accepted_until(parts.clock()) == parts.clock.at

    asyncio.run(scenario())


def test_no_click_is_served_before_the_first_watermark(parts: ClickParts) -> None:
    parts.app.is_registered = False
    answer = asyncio.run(parts.ask(parts.query()))
    assert (answer.status, answer.document["error"]) == (503, "not_ready")
    assert parts.journal.records == []
    ready = asyncio.run(parts.ask("", path="/readyz"))
    assert (ready.status, ready.document["status"]) == (503, "waiting for the log")


def test_health(parts: ClickParts) -> None:
    assert asyncio.run(parts.ask("", path="/healthz")).status == 200
    ready = asyncio.run(parts.ask("", path="/readyz"))
    assert (ready.status, ready.document) == (200, {"status": "ready", "ads_count": 2, "in_flight_count": 0})


def test_an_unknown_path_is_no_click(parts: ClickParts) -> None:
    answer = asyncio.run(parts.ask(parts.query(), path="/v1/c/"))
    assert answer.status == 404
    assert parts.refusals == {}


def test_server_seq_counts_up(parts: ClickParts) -> None:
    for _ in range(3):
        asyncio.run(parts.ask(parts.query()))
    assert [event["server_seq"] for event in parts.journal.events] == [0, 1, 2]


def test_a_target_in_other_letters_is_escaped(parts: ClickParts) -> None:
    answer = asyncio.run(parts.ask(parts.query(ad_id=18)))
    assert answer.headers["location"] == "http://b%C3%BCcher.example/stra%C3%9Fe?q=%C3%BC"


@given(user_agent=st.binary(max_size=6_000), method=st.sampled_from(["GET", "HEAD"]))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
def test_no_header_makes_an_event_malformed(parts: ClickParts, user_agent: bytes, method: str) -> None:
    answer = asyncio.run(parts.ask(parts.query(), method, user_agent=user_agent))
    assert answer.status == 302
    event = parse_event(parts.journal.records[-1][1], datetime.now(UTC), known_ads={17})
    assert isinstance(event, ParsedEvent)
