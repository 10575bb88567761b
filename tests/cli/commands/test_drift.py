"""``tallystick drift``: hours and a summary for each advertiser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from domain.ads import Ad
from domain.buckets import parse_utc
from domain.settings import Settings
from tests.support.books import Books, books, by_hour
from tests.support.counts_tables import Clicks
from warehouse.ads import snapshot_ads


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    found = books(tmp_path)
    theirs = Clicks("2026-05-03T11:06Z", 5, ad=2, advertiser=11)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 8), Clicks("2026-05-03T11:05Z", 4), theirs), live={10: 9, 11: 1})
    found.publish(parse_utc("2026-05-03T13:00Z"))


def test_json_has_hours_then_summaries() -> None:
    result = CliRunner().invoke(app, ["drift", "--advertiser", "10", "--json"])
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["line"], line.get("hour"), line["live_clicks"], line["final_clicks"]) for line in lines] == [
        ("hour", "2026-05-03T10:00:00Z", 9, 8),
        ("hour", "2026-05-03T11:00:00Z", 9, 4),
        ("summary", None, 18, 12),
    ]
    summary = {name: lines[-1][name] for name in ("hour_count", "largest_error_clicks", "largest_error_hour")}
    assert summary == {"hour_count": 2, "largest_error_clicks": 5, "largest_error_hour": "2026-05-03T11:00:00Z"}


def test_tables_for_people() -> None:
    result = CliRunner().invoke(app, ["drift", "--from", "2026-05-03T11:00Z"])
    assert result.exit_code == 0
    assert "2026-05-03T10:00:00Z" not in result.stdout
    assert "1000 per mille" in result.stdout


@pytest.fixture
def _prices(_home: None, tmp_path: Path) -> None:
    """Hour 10 in two currencies, hour 11 with another live count than at the seal, advertiser 11 without a price."""
    tables = Books(Settings(home=tmp_path))
    ads = [Ad(1, 10, 100, "https://shop.example/", 250_000, "EUR"), Ad(3, 10, 100, "https://shop.example/", 7, "USD")]
    snapshot_ads(tables.settings, ads, parse_utc("2026-05-03T09:00Z"))
    tables.write_live([Clicks("2026-05-03T10:05Z", 6), Clicks("2026-05-03T10:05Z", 3, ad=3)])


@pytest.mark.usefixtures("_prices")
def test_money_in_json() -> None:
    """Hour 10: live 6 * 0.25 EUR and 3 * 0.000007 USD, final 8 * 0.25 EUR."""
    result = CliRunner().invoke(app, ["drift", "--json"])
    money = {
        (line["line"], line["advertiser_id"], line.get("hour")): line["money"]
        for line in map(json.loads, result.stdout.splitlines())
    }
    names = ("live_amount_micros", "final_amount_micros", "difference_amount_micros")
    euros, dollars = (
        dict(zip(names, (1_500_000, 2_000_000, -500_000), strict=True)),
        dict(zip(names, (21, 0, 21), strict=True)),
    )
    counted = {"hour_count": 1, "unknown_hour_count": 0}
    assert money == {
        ("hour", 10, "2026-05-03T10:00:00Z"): [{"currency": "EUR", **euros}, {"currency": "USD", **dollars}],
        ("hour", 10, "2026-05-03T11:00:00Z"): [
            {"currency": "EUR", **dict(zip(names, (None, 1_000_000, None), strict=True))}
        ],
        **{("hour", 11, f"2026-05-03T{hour}:00:00Z"): [] for hour in (10, 11)},
        ("summary", 10, None): [
            {"currency": "EUR", **counted, "unknown_hour_count": 1, **euros},
            {"currency": "USD", **counted, **dollars},
        ],
        ("summary", 11, None): [],
    }


@pytest.mark.usefixtures("_prices")
def test_money_for_people() -> None:
    result = CliRunner().invoke(app, ["drift"])
    hours = [line.split("│")[-4:-1] for line in result.stdout.splitlines() if line.startswith("│ 2026-05-03T")]
    assert [[cell.strip() for cell in line] for line in hours] == [
        ["1.50 EUR, 0.000021 USD", "2.00 EUR, 0.00 USD", "-0.50 EUR, 0.000021 USD"],
        ["-", "-", "-"],
        ["? EUR", "1.00 EUR", "? EUR"],
        ["-", "-", "-"],
    ]
    assert result.stdout.count("amount difference") == 2
    assert "1 hours of advertisers have no amount and are in no sum" in result.stderr


def test_without_prices_there_is_no_word_of_money() -> None:
    for arguments in ([], ["--json"]):
        result = CliRunner().invoke(app, ["drift", *arguments])
        assert result.exit_code == 0
        assert not [word for word in ("amount", "money") if word in result.stdout + result.stderr]


@pytest.mark.parametrize(
    "arguments", [["--from", "2026-05-03"], ["--from", "2026-05-03T11:00Z", "--to", "2026-05-03T11:00Z"]]
)
def test_a_range_that_is_none_is_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["drift", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
