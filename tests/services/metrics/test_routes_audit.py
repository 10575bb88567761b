"""What an auditor sees: an hour that adds up, and a dispute down to the click."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from services.metrics.routes_audit import dispute_clicks, hour
from services.metrics.views import Asked
from services.tokens import Caller
from tests.services.metrics.page_server import Page
from tests.support.dispute_world import dispute_world, opened
from tests.support.outcomes_world import seal_with_outcomes
from tests.support.page_world import AT
from tests.support.sealed_world import HOUR, logged, sealed_world

AUDITOR = Caller("auditor")


def test_an_hour_adds_up_for_each_advertiser(page: Page) -> None:
    """Law 3."""
    found = page.document(AUDITOR, "/v1/hours/2026-11-01T20:00Z")
    assert (found["is_final"], found["violations"]) == (True, [])
    assert [row["advertiser_id"] for row in found["rows"]] == [10, 11]
    for row in found["rows"]:
        assert row["raw_clicks"] == row["billable_clicks"] + sum(row["excluded_clicks"].values())
        assert row["is_conserved"] is True
    assert sum(row["raw_clicks"] for row in found["rows"]) == found["seals"][0]["raw_clicks"]
    assert [seal["revision"] for seal in found["seals"]] == [1, 0]


def test_an_hour_that_does_not_add_up_is_said(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR)])
    seal_with_outcomes(world, HOUR)
    world.publish()
    world.tamper("click_outcomes_hour", lambda row: row | {"raw_clicks": row["raw_clicks"] + 1})
    found = hour(world.settings, Asked(AUDITOR, AT, {"hour": "2026-11-30T09:00Z"}))
    assert found["violations"]
    assert [row["is_conserved"] for row in found["rows"]] == [False]


def test_an_hour_that_is_not_final_has_no_figures(page: Page) -> None:
    found = page.document(AUDITOR, "/v1/hours/2026-11-02T10:00Z")
    assert (found["is_final"], found["rows"], found["seals"]) == (False, [], [])


@pytest.mark.parametrize("text", ["2026-11-01T20:30Z", "2026-11-01T20:00", "x", "9999-99-99T00:00Z"])
def test_no_hour_is_400(page: Page, text: str) -> None:
    response = page.get(AUDITOR, f"/v1/hours/{text}")
    assert (response.status_code, response.json()["error"]) == (400, "bad_request")


def test_disputes_are_listed_and_looked_into(page: Page) -> None:
    assert [(row["case_id"], row["state"]) for row in page.document(AUDITOR, "/v1/disputes")["rows"]] == [
        ("D-1", "open")
    ]
    found = page.document(AUDITOR, "/v1/disputes/D-1")
    assert found["billable_clicks"] == sum(row["billable_clicks"] for row in found["rows"]) > 0
    assert {row["ad_id"] for row in found["rows"]} == {1, 2}
    assert (found["missing_hours"], found["incomplete_hours"]) == ([], [])


def test_clicks_of_a_dispute_are_paged_and_are_of_its_advertiser(page: Page) -> None:
    path = "/v1/disputes/D-1/clicks"
    every = page.document(AUDITOR, path, limit="500")
    assert every["has_more"] is False
    assert {row["ad_id"] for row in every["rows"]} <= {1, 2}
    assert not {"ip", "user_agent", "payload"} & every["rows"][0].keys()
    first = page.document(AUDITOR, path, limit="3")
    assert (first["has_more"], first["rows"]) == (True, every["rows"][:3])
    last = page.document(AUDITOR, path, limit="3", offset=str(len(every["rows"]) - 3))
    assert (last["has_more"], last["rows"]) == (False, every["rows"][-3:])


def test_earlier_copies_are_no_clicks_of_the_dispute(tmp_path: Path) -> None:
    """Offset 90 was logged days before; a pack shows it as evidence, the list of clicks does not."""
    world = dispute_world(tmp_path)
    opened(world)
    rows = dispute_clicks(world.settings, Asked(AUDITOR, AT, {"case_id": "D-1"}))["rows"]
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13]


def test_the_pack_is_the_zip(page: Page) -> None:
    response = page.get(AUDITOR, "/v1/disputes/D-1/pack")
    assert response.headers["content-type"] == "application/zip"
    assert "sha256sums.txt" in zipfile.ZipFile(io.BytesIO(response.content)).namelist()


@pytest.mark.parametrize("path", ["/v1/disputes/D-9", "/v1/disputes/D-9/clicks", "/v1/disputes/D-9/pack"])
def test_an_unknown_dispute_is_400(page: Page, path: str) -> None:
    assert "D-9" in page.get(AUDITOR, path).json()["found"]
    assert page.get(AUDITOR, path).status_code == 400
