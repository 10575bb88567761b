"""The API over a real socket: what each role sees, and every refusal as a status and a JSON object."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import anyio
import httpx
import pytest
from jsonschema import Draft202012Validator

from domain.buckets import parse_utc
from services.metrics.app import make_app
from services.metrics.openapi import counts_as_of_schema
from services.tokens import Caller, make_token, token_key
from tests.services.metrics.conftest import PATH, Api
from tests.support.books import Books, books, by_hour
from tests.support.counts_tables import Clicks
from warehouse.counts import CountsReader
from warehouse.counts_query import CountsQuery, GroupKey

TEN, ELEVEN, TWELVE = (Caller("advertiser", advertiser_id) for advertiser_id in (10, 11, 12))
SEES_ALL = [Caller("finance"), Caller("auditor"), Caller("operator")]

MINE_FINAL = {"bucket": "2026-05-03T10:00:00Z", "ad_id": 1, "clicks": 1, "final": True}
MINE_LIVE = {"bucket": "2026-05-03T12:00:00Z", "ad_id": 1, "clicks": 3, "final": False}
THEIRS_FINAL = {"bucket": "2026-05-03T10:00:00Z", "ad_id": 2, "clicks": 2, "final": True}
THEIRS_LIVE = {"bucket": "2026-05-03T12:00:00Z", "ad_id": 2, "clicks": 4, "final": False}
ALL = [MINE_FINAL, THEIRS_FINAL, MINE_LIVE, THEIRS_LIVE]

SEEN: dict[str, tuple[Caller, dict[str, str], list[dict[str, Any]]]] = {
    "an advertiser, without a filter": (TEN, {}, [MINE_FINAL, MINE_LIVE]),
    "the other one": (ELEVEN, {}, [THEIRS_FINAL, THEIRS_LIVE]),
    "its own ad": (TEN, {"ad_ids": "1"}, [MINE_FINAL, MINE_LIVE]),
    "its own ad without clicks": (TEN, {"ad_ids": "3"}, []),
    "an ad that nobody knows": (TEN, {"ad_ids": "77"}, []),
    "S3: an empty list of ads": (TEN, {"ad_ids": ""}, []),
    "another's campaign": (TEN, {"campaign_id": "200"}, []),
    "its own name": (TEN, {"advertiser_id": "10"}, [MINE_FINAL, MINE_LIVE]),
    "an advertiser without ads": (TWELVE, {}, []),
    "finance": (SEES_ALL[0], {}, ALL),
    "auditor": (SEES_ALL[1], {}, ALL),
    "operator": (SEES_ALL[2], {}, ALL),
    "finance, one advertiser": (SEES_ALL[0], {"advertiser_id": "11"}, [THEIRS_FINAL, THEIRS_LIVE]),
    "finance, an empty list of ads": (SEES_ALL[0], {"ad_ids": ""}, []),
    "a total of its own only": (
        TEN,
        {"group_by": "", "granularity": "day"},
        [{"bucket": "2026-05-03T00:00:00Z", "clicks": 4, "final": False}],
    ),
}


@pytest.mark.parametrize(("caller", "parameters", "expected"), SEEN.values(), ids=SEEN)
def test_who_sees_what(api: Api, caller: Caller, parameters: dict[str, str], expected: list[dict[str, Any]]) -> None:
    """Law 13, S3."""
    assert api.rows(caller, **parameters) == expected


def test_grouping_by_advertiser_shows_no_other(api: Api) -> None:
    """Law 13."""
    assert {row["advertiser_id"] for row in api.rows(TEN, group_by="advertiser,ad")} == {10}


def test_the_answer_is_the_engine_s(api: Api) -> None:
    """One code: what `tallystick counts` prints, byte for byte."""
    group: tuple[GroupKey, ...] = ("ad", "country", "device")
    query = CountsQuery(parse_utc("2026-05-03T00:00Z"), parse_utc("2026-05-04T00:00Z"), "minute", group)
    answer = b"".join(CountsReader(api.settings).answer(query).json_chunks())
    response = api.get(SEES_ALL[0], granularity="minute", group_by="device,ad,country")
    assert response.content == answer
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"


FORBIDDEN = {
    "another's ad": {"ad_ids": "2"},
    "another's ad among its own": {"ad_ids": "1,2"},
    "another advertiser": {"advertiser_id": "11"},
}


@pytest.mark.parametrize("parameters", FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_is_another_s_is_403(api: Api, parameters: dict[str, str]) -> None:
    """Law 13, S3."""
    _assert_refused(api.get(TEN, **parameters), 403, "forbidden")


BAD = {
    "a misspelt filter": {"ad_id": "1"},
    "no such granularity": {"granularity": "week"},
    "no such group": {"group_by": "planet"},
    "no zone": {"from_": "2026-05-03T10:00"},
    "S5: within a minute": {"from_": "2026-05-03T10:00:00.999Z"},
    "reversed": {"from_": "2026-05-05T00:00Z"},
    "too long": {"granularity": "minute", "from_": "2020-05-03T10:00Z"},
    "no ad": {"ad_ids": "x"},
    "too many ads": {"ad_ids": ",".join(map(str, range(1, 1_002)))},
}


@pytest.mark.parametrize("parameters", BAD.values(), ids=BAD)
def test_what_cannot_be_asked_is_400(api: Api, parameters: dict[str, str]) -> None:
    _assert_refused(api.get(TEN, **parameters), 400, "bad_request")


def test_a_repeated_parameter_is_400(api: Api) -> None:
    """Neither the first nor the last may win in silence."""
    headers = {"Authorization": f"Bearer {api.token(TEN)}"}
    twice = [("ad_ids", "1"), ("ad_ids", "3"), ("from", "2026-05-03T00:00Z"), ("to", "2026-05-04T00:00Z")]
    _assert_refused(api.http.get(PATH, params=twice, headers=headers), 400, "bad_request")


def test_a_question_without_a_range_is_400(api: Api) -> None:
    response = api.http.get(PATH, headers={"Authorization": f"Bearer {api.token(TEN)}"})
    assert "no from" in _assert_refused(response, 400, "bad_request")["found"]


def test_callers_without_a_valid_token_are_401(api: Api) -> None:
    expired = api.token(TEN, age=timedelta(days=2))
    for header in (
        "",
        "Basic dXNlcjpwYXNz",
        "Bearer",
        "Bearer nonsense",
        f"Bearer {expired}",
        api.token(TEN),
    ):
        response = api.http.get(PATH, headers={"Authorization": header} if header else {})
        _assert_refused(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"


def test_a_token_in_the_url_is_not_taken(api: Api) -> None:
    """Addresses end up in logs."""
    _assert_refused(api.http.get(PATH, params={"token": api.token(TEN)}), 401, "unauthorized")


@pytest.mark.parametrize(
    "path", ["/page", "/page/", "/page/..%2fapp.py", "/v1/ads", "/v1/ads/metrics/", "/v1/ads/metrics/1", "/docs"]
)
def test_other_paths_are_404(api: Api, path: str) -> None:
    _assert_refused(api.http.get(path), 404, "not_found")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_405(api: Api, method: str) -> None:
    response = api.http.request(method, PATH)
    _assert_refused(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "GET"


def test_head_costs_no_answer(api: Api) -> None:
    assert api.http.head(PATH).status_code == 405


def test_healthz(api: Api) -> None:
    response = api.http.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_answers_at_the_same_time(api: Api) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: api.rows(TEN), range(24)))
    assert found == [[MINE_FINAL, MINE_LIVE]] * 24


def test_more_questions_than_can_wait_are_503(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.metrics.app.MAX_WAITING", 0)
    response = api.get(TEN)
    _assert_refused(response, 503, "overloaded")
    assert response.headers["retry-after"] == "1"


def test_bytes_that_are_no_request_do_no_harm(api: Api) -> None:
    url = httpx.URL(api.http.base_url)
    with socket.create_connection((url.host, url.port), timeout=10) as connection:
        connection.sendall(b"\x00\xff garbage\r\n\r\n")
        assert b"400" in connection.recv(200)
    assert api.rows(TEN, ad_ids="3") == []


def _assert_refused(response: httpx.Response, status: int, name: str) -> dict[str, str]:
    assert response.status_code == status, response.text
    refusal = response.json()
    assert list(refusal) == ["error", "found", "expected", "remedy"]
    assert refusal["error"] == name
    assert all(isinstance(text, str) and text and "Traceback" not in text for text in refusal.values())
    assert response.headers["cache-control"] == "no-store"
    return dict(refusal)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Books:
    """Hour 10 was published with 8 and 5 clicks, then revised to 7; hour 11 was sealed after that."""
    found = books(tmp_path_factory.mktemp("past") / "home")
    theirs = Clicks("2026-05-03T10:06Z", 5, ad=2, advertiser=11)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 8), theirs))
    found.publish(THEN)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 7), Clicks("2026-05-03T11:05Z", 3)), live={10: 9, 11: 1})
    found.publish(THEN + timedelta(hours=1))
    return found


THEN = parse_utc("2026-05-03T12:00Z")
NOW = THEN + timedelta(hours=2)


def _ask_past(past: Books, caller: Caller, as_of: str) -> httpx.Response:
    """Through the app itself, whose clock is ours."""
    token = make_token(token_key(past.settings), caller, NOW, days=1)
    asked = {"from": "2026-05-03T10:00Z", "to": "2026-05-03T12:00Z", "as_of": as_of}

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(make_app(past.settings, lambda: NOW))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
            return await http.get(PATH, params=asked, headers={"Authorization": f"Bearer {token}"})

    return anyio.run(ask)


def test_an_advertiser_asks_about_the_past_of_its_own_rows(past: Books) -> None:
    """Law 13, also for what live was worth. The answer is what the document describes."""
    response = _ask_past(past, TEN, "2026-05-03T12:30Z")
    assert response.status_code == 200, response.text
    answer = response.json()
    Draft202012Validator(counts_as_of_schema()).validate(answer)
    assert answer["rows"] == [{"bucket": "2026-05-03T10:00:00Z", "ad_id": 1, "clicks": 8, "final": True}]
    error = {"live_clicks": 9, "final_clicks": 3, "difference_clicks": 6}
    assert answer["later_errors"] == [{"hour": "2026-05-03T11:00:00Z", "advertiser_id": 10, **error}]
    everybody = _ask_past(past, SEES_ALL[0], "2026-05-03T12:30Z").json()
    assert [row["clicks"] for row in everybody["rows"]] == [8, 5]
    assert [row["advertiser_id"] for row in everybody["later_errors"]] == [10, 11]


@pytest.mark.parametrize("as_of", ["2026-05-03T11:59Z", "2026-05-03T14:00:01Z", "2026-05-03T12:30", ""])
def test_a_past_that_cannot_be_told_is_400(past: Books, as_of: str) -> None:
    """Before the first publication, in the future, without a zone, empty."""
    _assert_refused(_ask_past(past, TEN, as_of), 400, "bad_request")
