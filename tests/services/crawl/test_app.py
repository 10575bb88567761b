"""The crawl API over a real socket: operators alone, each under a name, and what they do is done."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from crawler.frontier.claims import Claimer
from crawler.frontier.outbox import undelivered_count
from crawler.frontier.reading import status_of
from services.crawl import app
from services.tokens import ROLES, Caller
from tests.services.crawl.conftest import ANN, CrawlApi
from tests.support.frontiers import FrontierWorld
from tests.support.stored_pages import commit

A, B = "https://a.example/", "https://b.example/x"
REASONED = {"name": "a.example", "reason": "they asked"}
OPT_OUT = {"kind": "host", "pattern": "a.example", "reason": "asked", "verification": "mail"}
READS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/crawl/status/a.example", {}),
    ("GET", "/crawl/why", {"params": {"url": A}}),
]
WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/crawl/seeds", {"json": {"urls": [B]}}),
    ("POST", "/crawl/pause", {"json": REASONED}),
    ("POST", "/crawl/resume", {"json": REASONED}),
    ("POST", "/crawl/kill", {"json": REASONED}),
    ("POST", "/crawl/suppressions", {"json": OPT_OUT}),
]


def caller_of(role: str, person: str | None = "ann") -> Caller:
    known = next(one for one in ROLES if one == role)
    return Caller(known, 7 if known == "advertiser" else None, person)


@pytest.mark.parametrize("role", ROLES)
def test_operators_alone_are_answered(api: CrawlApi, role: str) -> None:
    api.post("/crawl/seeds", urls=[A])
    expected = 200 if role == "operator" else 403
    for method, path, arguments in (*READS, *WRITES):
        answer = api.ask(method, path, caller_of(role), **arguments)
        assert answer.status_code == expected, (path, answer.text)
    (origin,) = status_of(api.frontier, "a.example").origins
    assert origin.switch == ("suppressed" if role == "operator" else "open")


def test_nobody_is_answered_without_a_token(api: CrawlApi) -> None:
    for method, path, arguments in (*READS, *WRITES):
        answer = api.ask(method, path, None, **arguments)
        assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized"), path
    forged = api.http.post("/crawl/kill", json=REASONED, headers={"Authorization": "Bearer x.y.z"})
    assert forged.status_code == 401


def test_who_names_nobody_may_look_and_change_nothing(api: CrawlApi) -> None:
    """What is changed is kept under a name."""
    api.post("/crawl/seeds", urls=[A])
    nobody = caller_of("operator", None)
    assert [api.ask(method, path, nobody, **arguments).status_code for method, path, arguments in READS] == [200, 200]
    for method, path, arguments in WRITES:
        answer = api.ask(method, path, nobody, **arguments)
        assert answer.status_code == 403, path
        assert "names nobody" in answer.json()["found"]
    assert status_of(api.frontier, "a.example").origins[0].switch == "open"


def test_bad_seeds_are_refused_and_the_others_taken_in(api: CrawlApi) -> None:
    told = api.post("/crawl/seeds", urls=["ftp://a.example/", A, "https://u:p@a.example/", A], priority=9).json()
    assert [(one["outcome"], one["reason"]) for one in told["urls"]] == [
        ("refused", "scheme"),
        ("refused", "credentials"),
        ("added", ""),
        ("known", ""),
    ]
    (lease,) = Claimer(api.frontier, "w1").claim(1)
    assert (lease.url, lease.priority, lease.class_name) == (A, 9, "general")
    assert api.get("/crawl/why", url=A)["events"][0]["actor"] == "ann"


@pytest.mark.parametrize(
    "fields",
    [
        {"urls": [A], "priority": 1_001},
        {"urls": [A], "class": "nothing"},
        {"urls": []},
        {"urls": [A] * 1_001},
        {"urls": [A, 7]},
    ],
)
def test_a_body_that_is_wrong_takes_nothing_in(api: CrawlApi, fields: dict[str, Any]) -> None:
    answer = api.post("/crawl/seeds", **fields)
    assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")
    assert api.ask("GET", "/crawl/status/a.example").status_code == 400, "nothing is known of it"


def test_a_switch_holds_and_says_who(api: CrawlApi) -> None:
    api.post("/crawl/seeds", urls=[A])
    for verb, switch in (("pause", "paused"), ("kill", "killed"), ("resume", "open")):
        assert api.post(f"/crawl/{verb}", **REASONED).json() == {"origins": [A[:-1]]}
        (origin,) = api.get(f"/crawl/status/{A[:-1]}")["origins"]
        assert origin["switch"] == switch
    events = api.get("/crawl/why", url=A)["origin_events"]
    assert [(one["event"], one["reason"], one["actor"]) for one in events] == [
        (event, "they asked", "ann") for event in ("paused", "killed", "open")
    ]
    assert all(one["happened_at"].endswith("Z") for one in events)


def test_an_opt_out_suppresses_and_deletes(api: CrawlApi) -> None:
    world = FrontierWorld(api.frontier)
    api.post("/crawl/seeds", urls=[A])
    commit(api.frontier, world.lease())
    assert undelivered_count(api.frontier) == 1
    told = api.post("/crawl/suppressions", **OPT_OUT, delete=True).json()
    assert (told["kind"], told["pattern"], told["deleted"]["outbox"], told["deleted"]["urls"]) == (
        *("host", "a.example"),
        *(1, 1),
    )
    again = api.post("/crawl/seeds", urls=[A]).json()["urls"]
    assert [one["outcome"] for one in again] == ["refused"]
    assert api.get("/crawl/status/a.example")["suppressions"][0]["verification"] == "mail"


@pytest.mark.parametrize(
    ("path", "fields", "found"),
    [
        ("/crawl/suppressions", {**OPT_OUT, "kind": "planet"}, "kind 'planet'"),
        ("/crawl/suppressions", {**OPT_OUT, "kind": "prefix", "pattern": "https://a.example"}, "a.example"),
        ("/crawl/suppressions", {**OPT_OUT, "verification": " "}, "verification"),
        ("/crawl/pause", {**REASONED, "name": "never.example"}, "never.example"),
        ("/crawl/pause", {**REASONED, "reason": ""}, "reason"),
    ],
)
def test_what_is_no_order_is_refused(api: CrawlApi, path: str, fields: dict[str, Any], found: str) -> None:
    answer = api.post(path, **fields)
    assert answer.status_code == 400
    assert found in answer.json()["found"]


def test_a_url_is_asked_for_once_and_has_to_be_one(api: CrawlApi) -> None:
    for parameters in ({}, {"url": "nothing"}, {"url": A, "uri": A}, [("url", A), ("url", B)]):
        assert api.ask("GET", "/crawl/why", params=parameters).status_code == 400, parameters
    assert api.get("/crawl/why", url=f"{A}never")["state"] is None


def test_paths_and_methods_that_are_not_there_are_refused(api: CrawlApi) -> None:
    assert api.ask("GET", "/crawl/nothing").json()["error"] == "not_found"
    answer = api.ask("GET", "/crawl/kill")
    assert (answer.status_code, answer.headers["allow"], answer.json()["error"]) == (405, "POST", "method_not_allowed")
    assert api.http.get("/healthz").json() == {"status": "ok"}


def test_too_many_at_once_are_told_to_come_back(api: CrawlApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The frontier is slow; whoever would wait too long in line is refused, and nothing of it is done."""
    api.post("/crawl/seeds", urls=[A])
    has_begun, may_end = threading.Semaphore(0), threading.Event()

    def slow(*_of_it: object) -> object:
        has_begun.release()
        may_end.wait(20)
        return status_of(api.frontier, "a.example")

    monkeypatch.setattr(app, "status_of", slow)
    with ThreadPoolExecutor(app.ANSWERS_AT_ONCE) as pool:
        asked = [pool.submit(api.ask, *READS[0][:2], ANN) for _ in range(app.ANSWERS_AT_ONCE)]
        for _ in asked:
            assert has_begun.acquire(timeout=20)
        monkeypatch.setattr(app, "MAX_WAITING", 0)
        answer = api.ask("POST", "/crawl/kill", json=REASONED)
        may_end.set()
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert [one.result().status_code for one in asked] == [200] * len(asked)
    assert status_of(api.frontier, "a.example").origins[0].switch == "open"
