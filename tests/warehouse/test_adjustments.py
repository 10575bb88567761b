"""Adjustments in their table: a case once, all lines or none; on the statement of the month that bills them, apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from domain.adjustments import AdjustmentRefusedError
from domain.ads import Ad
from domain.buckets import parse_utc
from domain.chain import broken_links
from domain.errors import UsageError
from domain.periods import period_of
from tests.domain.test_adjustments import CASE, LINE
from tests.support.counts_tables import Clicks, CountsTables, counts_tables
from tests.support.periods import DECEMBER, NOVEMBER, close_month, settle_month
from warehouse.adjustments import adjust, read_adjustments, read_lines
from warehouse.ads import snapshot_ads
from warehouse.prices import amounts_of
from warehouse.statements import read_statement

ROWS = [Clicks("2026-11-01T01:00Z", 5), Clicks("2026-12-01T01:00Z", 7)]
SAID = vars(LINE) | {"charge_hour": "2026-11-01T01:00Z"}


@pytest.fixture
def tables(tmp_path: Path) -> CountsTables:
    found = counts_tables(tmp_path)
    settle_month(found, NOVEMBER, ROWS)
    close_month(found.settings)
    return found


def test_a_case_comes_back_and_is_adjusted_once(tables: CountsTables) -> None:
    fresh = adjust(tables.settings, CASE, [LINE, LINE])
    assert read_adjustments(tables.settings) == fresh
    with pytest.raises(AdjustmentRefusedError, match="case C-1: it was adjusted before"):
        adjust(tables.settings, CASE, [LINE])
    assert read_adjustments(tables.settings) == fresh


def test_all_cases_are_one_chain(tables: CountsTables) -> None:
    """In the order of writing; a case called before another one may come after it."""
    adjust(tables.settings, CASE, [LINE, LINE])
    adjust(tables.settings, replace(CASE, case_id="A-1"), [LINE])
    by_number = sorted(read_adjustments(tables.settings), key=lambda one: one.number)
    assert [(one.number, one.case_id) for one in by_number] == [(1, "C-1"), (2, "C-1"), (3, "A-1")]
    assert broken_links("adjustment", by_number) == []


def test_one_wrong_line_writes_none(tables: CountsTables) -> None:
    with pytest.raises(AdjustmentRefusedError, match="line 2: hour 2026-12-01T00:00:00Z is in no closed period"):
        adjust(tables.settings, CASE, [LINE, replace(LINE, charge_hour=DECEMBER.start)])
    assert read_adjustments(tables.settings) == []


def test_a_statement_shows_them_apart(tables: CountsTables) -> None:
    """F5: the charged month stays as it was; the month that bills it shows the line beside its own clicks."""
    adjust(tables.settings, CASE, [LINE, replace(LINE, advertiser_id=11)])
    settle_month(tables, DECEMBER, ROWS)
    close_month(tables.settings, DECEMBER, at=DECEMBER.end)
    november, december = (read_statement(tables.settings, 10, one, "UTC") for one in (NOVEMBER, DECEMBER))
    assert (november.total_clicks, november.adjusted_clicks) == (5, 0)
    assert (december.total_clicks, december.adjusted_clicks) == (7, -3)
    (line,) = december.adjustments.to_pylist()
    assert (period_of(line["charge_hour"]), line["case_id"], line["corrects_seal_number"]) == (NOVEMBER, "C-1", 2)


def test_a_correction_keeps_the_price_of_its_charge_hour(tables: CountsTables) -> None:
    for at, price in (("2026-11-01T00:59Z", 250_000), ("2026-11-01T01:00:00.5Z", 999), ("2026-12-01T00:00Z", 500_000)):
        snapshot_ads(tables.settings, [Ad(1, 10, 100, "https://example.org/", price, "EUR")], parse_utc(at))
    adjust(tables.settings, CASE, [LINE, replace(LINE, ad_id=2)])
    assert amounts_of(tables.settings, read_adjustments(tables.settings)) == {"EUR": -750_000}
    settle_month(tables, DECEMBER, ROWS)
    close_month(tables.settings, DECEMBER, at=DECEMBER.end)
    statement = read_statement(tables.settings, 10, DECEMBER, "UTC")
    assert [(row["price_micros"], row["amount_micros"]) for row in statement.adjustments.to_pylist()] == [
        (250_000, -750_000),
        (None, None),
    ]
    assert statement.adjusted_amounts == [("EUR", -3, -750_000)]
    assert statement.amounts == [("EUR", 7, 3_500_000)]


def test_lines_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(f"{json.dumps(SAID)}\n\n", encoding="utf-8")
    assert read_lines(file) == [LINE]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        json.dumps(SAID | {"more": 1}),
        json.dumps(SAID | {"delta_clicks": 1.5}),
        json.dumps(SAID | {"delta_clicks": True}),
        json.dumps(SAID | {"ad_id": 0}),
        json.dumps(SAID | {"country": ""}),
        json.dumps(SAID | {"country": "=A1"}),
        json.dumps(SAID | {"device": "phone"}),
        json.dumps(SAID | {"device": 7}),
        json.dumps(SAID | {"charge_hour": "2026-11-01T01:00"}),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(f"{json.dumps(SAID)}\n{text}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 2: "):
        read_lines(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_lines(tmp_path / "absent")
