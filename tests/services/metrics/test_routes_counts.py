"""Who the token is, counts as a file, statements: what an advertiser gets is its own."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

from services.tokens import Caller
from tests.services.metrics.page_server import Page

TEN, FINANCE = Caller("advertiser", 10), Caller("finance")
RANGE = {"from_": "2026-11-02T08:00Z", "to": "2026-11-02T12:00Z"}


def test_who_the_token_is(page: Page) -> None:
    said = page.document(TEN, "/v1/me")
    assert {name: said[name] for name in ("role", "advertiser_id", "final_until", "closed_until")} == {
        "role": "advertiser",
        "advertiser_id": 10,
        "final_until": "2026-11-02T10:00:00Z",
        "closed_until": "2026-11-01T00:00:00Z",
    }


@pytest.mark.parametrize("group_by", ["", "ad,country"])
def test_the_csv_has_the_rows_of_the_api(page: Page, group_by: str) -> None:
    asked = RANGE | {"group_by": group_by}
    expected = page.document(TEN, "/v1/ads/metrics", **asked)["rows"]
    response = page.get(TEN, "/v1/ads/metrics/file", **asked)
    found = list(csv.DictReader(io.StringIO(response.text)))
    assert [list(row.values()) for row in found] == [[str(value) for value in row.values()] for row in expected]
    assert found
    assert response.headers["content-disposition"] == (
        'attachment; filename="clicks-hour-20261102T0800Z-20261102T1200Z.csv"'
    )


def test_the_workbook_opens_and_has_a_row_each(page: Page) -> None:
    expected = page.document(TEN, "/v1/ads/metrics", **RANGE)["rows"]
    book = zipfile.ZipFile(io.BytesIO(page.get(TEN, "/v1/ads/metrics/file", **RANGE, format="xlsx").content))
    assert book.read("xl/worksheets/sheet2.xml").count(b"<row ") == 1 + len(expected)
    assert b"2026-11-02T10:00:00Z" in book.read("xl/worksheets/sheet1.xml")


FORBIDDEN = {
    "counts of another": ("/v1/ads/metrics/file", RANGE | {"advertiser_id": "11"}),
    "an ad of another": ("/v1/ads/metrics/file", RANGE | {"ad_ids": "3"}),
    "a statement of another": ("/v1/statements/2026-10", {"advertiser_id": "11"}),
}


@pytest.mark.parametrize(("path", "parameters"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_is_another_s_is_403(page: Page, path: str, parameters: dict[str, str]) -> None:
    """Law 13, S3."""
    response = page.get(TEN, path, **parameters)
    assert (response.status_code, response.json()["error"]) == (403, "forbidden")


def test_an_empty_list_of_ads_is_no_ad(page: Page) -> None:
    """S3: never all."""
    response = page.get(TEN, "/v1/ads/metrics/file", **RANGE, ad_ids="")
    assert response.text == "bucket,ad_id,clicks,final\n"


def test_statements_are_of_closed_periods(page: Page) -> None:
    assert [row["period"] for row in page.document(TEN, "/v1/statements")["rows"]] == ["2026-10"]
    own = page.get(TEN, "/v1/statements/2026-10", time_zone="Europe/Berlin")
    assert (
        own.content
        == page.get(FINANCE, "/v1/statements/2026-10", advertiser_id="10", time_zone="Europe/Berlin").content
    )
    assert b"total,2026-10,10,Europe/Berlin" in own.content


BAD = {
    "an open period": ("/v1/statements/2026-11", {}),
    "no period": ("/v1/statements/x", {}),
    "no such zone": ("/v1/statements/2026-10", {"time_zone": "Mars/Base"}),
    "no such format": ("/v1/statements/2026-10", {"format": "pdf"}),
    "no such format of counts": ("/v1/ads/metrics/file", RANGE | {"format": "pdf"}),
    "counts without a range": ("/v1/ads/metrics/file", {}),
}


@pytest.mark.parametrize(("path", "parameters"), BAD.values(), ids=BAD)
def test_what_cannot_be_asked_is_400(page: Page, path: str, parameters: dict[str, str]) -> None:
    response = page.get(TEN, path, **parameters)
    assert (response.status_code, response.json()["error"]) == (400, "bad_request")


def test_finance_names_the_advertiser(page: Page) -> None:
    response = page.get(FINANCE, "/v1/statements/2026-10")
    assert (response.status_code, response.json()["found"]) == (400, "no advertiser_id")
