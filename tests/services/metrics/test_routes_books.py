"""What finance sees is what the ledgers hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.seals import check_chain
from services.metrics.routes_books import SEAL_COLUMNS, seals
from services.metrics.views import Asked
from services.tokens import Caller
from tests.services.metrics.page_server import Page
from tests.support.page_world import AT, LIVE_MORE
from tests.support.sealed_world import HOUR, logged, sealed_world
from warehouse.seals import read_seals

FINANCE = Caller("finance")
NOVEMBER = {"from_": "2026-11-01T00:00Z", "to": "2026-11-02T10:00Z"}


def test_periods_newest_first(page: Page) -> None:
    found = page.document(FINANCE, "/v1/periods")
    states = [(row["period"], row["state"], row["sealed_hour_count"], row["hour_count"]) for row in found["rows"]]
    assert states == [("2026-11", "open", 34, 720), ("2026-10", "closed", 744, 744)]
    open_one = found["rows"][0]
    assert open_one["raw_clicks"] == open_one["billable_clicks"] + sum(open_one["excluded_clicks"].values()) > 0
    assert (found["closed_until"], found["rows"][1]["closed_by"]) == ("2026-11-01T00:00:00Z", "ada")


def test_what_keeps_a_period_from_closing(page: Page) -> None:
    found = page.document(FINANCE, "/v1/periods/2026-11")
    assert "it is not over before 2026-12-01T00:00:00Z" in found["reasons"]
    assert (found["is_closed"], found["reason_count"]) == (False, len(found["reasons"]))
    assert [one["case_id"] for one in found["open_disputes"]] == ["D-1"]
    assert page.document(FINANCE, "/v1/periods/2026-10")["is_closed"] is True


def test_seals_are_paged_from_the_head(page: Page) -> None:
    first = page.document(FINANCE, "/v1/seals", limit="2")
    second = page.document(FINANCE, "/v1/seals", limit="2", offset="2")
    chain = read_seals(page.settings)
    assert [row["seal_number"] for row in first["rows"] + second["rows"]] == [len(chain) - n for n in range(4)]
    assert (first["head_hash"], first["total_count"], first["is_chain_whole"]) == (chain[-1].hash, len(chain), True)
    assert first["rows"][0]["previous_hash"] == first["rows"][1]["hash"]


def test_no_seal_tells_its_salt(page: Page) -> None:
    """Who has it could guess the words that the chain only commits to."""
    assert "salt" not in SEAL_COLUMNS
    assert read_seals(page.settings)[-1].salt not in page.get(FINANCE, "/v1/seals").text


def test_seals_of_one_hour_are_its_revisions(page: Page) -> None:
    rows = page.document(FINANCE, "/v1/seals", hour="2026-11-01T20:00Z")["rows"]
    assert [(row["revision"], row["case_id"]) for row in rows] == [(1, "C-1"), (0, "")]


def test_a_broken_chain_is_said(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    world.seal(HOUR)
    world.tamper("seals", lambda row: row | {"hash": "0" * 64})
    found = seals(world.settings, Asked(FINANCE, AT, {}))
    assert found["is_chain_whole"] is False
    assert found["findings"] == check_chain(read_seals(world.settings)) != []


def test_drift_is_summed_up_and_listed(page: Page) -> None:
    found = page.document(FINANCE, "/v1/drift", **NOVEMBER, limit="500")
    assert [one["advertiser_id"] for one in found["summaries"]] == [10, 11]
    assert found["summaries"][0]["largest_error_clicks"] == LIVE_MORE
    assert (found["hour_count"], found["total_count"]) == (34, len(found["rows"]))
    own = page.document(FINANCE, "/v1/drift", **NOVEMBER, advertiser_id="11")
    assert {row["advertiser_id"] for row in own["rows"]} == {11}


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-11-02T10:00Z", "2026-11-02T10:00Z"),
        ("2026-01-01T00:00Z", "2026-11-02T10:00Z"),
        ("2026-11-02T10:30Z", "x"),
    ],
)
def test_a_range_of_drift_is_bounded(page: Page, start: str, end: str) -> None:
    response = page.get(FINANCE, "/v1/drift", from_=start, to=end)
    assert (response.status_code, response.json()["error"]) == (400, "bad_request")


def test_more_drift_than_one_answer_holds_is_refused(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.metrics.routes_books.MAX_ERRORS", 1)
    assert "rows of drift" in page.get(FINANCE, "/v1/drift", **NOVEMBER).json()["found"]


def test_adjustments_come_with_their_people(page: Page) -> None:
    found = page.document(FINANCE, "/v1/adjustments")
    assert (found["total_count"], found["delta_clicks"]) == (1, 3)
    row = found["rows"][0]
    assert (row["case_id"], row["billing_period"], row["requested_by"], row["approved_by"]) == (
        "C-7",
        "2026-11",
        "ada",
        "grace",
    )
    assert page.document(FINANCE, "/v1/adjustments", period="2026-12")["rows"] == []
