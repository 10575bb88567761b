"""The catalogue file, snapshots that append changes only, and the ads in force."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.ads import Ad
from domain.errors import LedgerConflictError, UsageError
from domain.settings import Settings
from warehouse.ads import AdsReceipt, ads_version, read_ads, read_ads_file, snapshot_ads
from warehouse.layout import open_table, rows_of

AT = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)
LATER = AT + timedelta(microseconds=1)
SHOES = Ad(1, 10, 100, "https://shoes.example/a?b=c", 250_000, "EUR")
HATS = Ad(2, 10, 101, "http://hats.example/")
MANY = 25_000
MANY_CPU_SECONDS = 5
"""Takes about 1; the bound tells seconds from minutes, on any machine."""
LINE: dict[str, Any] = {"ad_id": 1, "advertiser_id": 10, "campaign_id": 100, "target_url": "https://shoes.example/"}


def _rows(settings: Settings) -> list[tuple[int, datetime, int]]:
    rows = rows_of(open_table(settings, "ads")).sort_by([("ad_id", "ascending"), ("valid_from", "ascending")])
    return [(row["ad_id"], row["valid_from"], row["campaign_id"]) for row in rows.to_pylist()]


def test_the_first_snapshot_adds_all(settings: Settings) -> None:
    assert snapshot_ads(settings, [SHOES, HATS], AT) == AdsReceipt(1, 2, 0, 0)
    assert read_ads(settings) == {1: SHOES, 2: HATS}


def test_only_what_is_new_or_changed_is_appended(settings: Settings) -> None:
    boots = Ad(3, 11, 102, "https://boots.example/")
    snapshot_ads(settings, [SHOES, HATS], AT)
    moved = replace(HATS, campaign_id=999)
    assert snapshot_ads(settings, [SHOES, moved, boots], LATER) == AdsReceipt(2, 1, 1, 1)
    assert _rows(settings) == [(1, AT, 100), (2, AT, 101), (2, LATER, 999), (3, LATER, 102)]
    assert read_ads(settings) == {1: SHOES, 2: moved, 3: boots}


@pytest.mark.parametrize(
    "change",
    [
        {"advertiser_id": 11},
        {"campaign_id": 7},
        {"target_url": "https://shoes.example/b"},
        {"price_micros": 1},
        {"currency": "USD"},
        {"price_micros": None, "currency": None},
    ],
    ids="+".join,
)
def test_a_change_of_any_field_is_a_change(settings: Settings, change: dict[str, Any]) -> None:
    snapshot_ads(settings, [SHOES], AT)
    assert snapshot_ads(settings, [replace(SHOES, **change)], LATER).changed_count == 1
    assert read_ads(settings) == {1: replace(SHOES, **change)}


def test_a_snapshot_of_the_same_is_no_commit(settings: Settings) -> None:
    snapshot_ads(settings, [SHOES, HATS], AT)
    assert snapshot_ads(settings, [HATS, SHOES], AT) == AdsReceipt(1, 0, 0, 2)
    assert snapshot_ads(settings, [], LATER) == AdsReceipt(1, 0, 0, 0)
    assert ads_version(settings) == 1


def test_an_ad_that_is_gone_keeps_its_row(settings: Settings) -> None:
    snapshot_ads(settings, [SHOES, HATS], AT)
    snapshot_ads(settings, [SHOES], LATER)
    assert read_ads(settings) == {1: SHOES, 2: HATS}


def test_a_change_back_is_a_change(settings: Settings) -> None:
    for minute, ad in enumerate([SHOES, replace(SHOES, campaign_id=7), SHOES]):
        snapshot_ads(settings, [ad], AT + timedelta(minutes=minute))
    assert read_ads(settings) == {1: SHOES}
    assert len(_rows(settings)) == 3


@pytest.mark.parametrize("at", [AT, AT - timedelta(hours=1)], ids=["same instant", "clock set back"])
def test_a_change_must_be_newer_than_what_it_changes(settings: Settings, at: datetime) -> None:
    snapshot_ads(settings, [SHOES], AT)
    with pytest.raises(UsageError, match=r"change of ad 1 from .* expected an instant after"):
        snapshot_ads(settings, [replace(SHOES, campaign_id=7)], at)
    assert read_ads(settings) == {1: SHOES}


def test_an_ad_given_twice_is_refused(settings: Settings) -> None:
    with pytest.raises(UsageError, match="ad 1 is given twice"):
        snapshot_ads(settings, [SHOES, SHOES], AT)


def test_two_snapshots_at_once_do_not_both_add(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = open_table(settings, "ads")
    snapshot_ads(settings, [SHOES], AT)
    monkeypatch.setattr("warehouse.ads.open_table", lambda *_: stale)
    with pytest.raises(LedgerConflictError):
        snapshot_ads(settings, [SHOES], LATER)


def test_many_ads_are_a_matter_of_seconds(settings: Settings) -> None:
    ads = [Ad(n, n % 500 + 1, n % 5_000 + 1, f"https://shop.example/{n}") for n in range(1, MANY + 1)]
    started = time.process_time()
    assert snapshot_ads(settings, ads, AT).added_count == MANY
    changed = [replace(ad, campaign_id=1) if ad.ad_id <= 10 else ad for ad in ads]
    assert snapshot_ads(settings, changed, LATER) == AdsReceipt(2, 0, 10, MANY - 10)
    assert read_ads(settings)[MANY] == ads[-1]
    assert time.process_time() - started < MANY_CPU_SECONDS


def test_a_catalogue_file_is_read_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "ads.jsonl"
    lines = [LINE | {"ad_id": 2}, LINE | {"price_micros": 5, "currency": "EUR"}]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n  \n", encoding="utf-8")
    assert read_ads_file(path) == [
        Ad(2, 10, 100, "https://shoes.example/"),
        Ad(1, 10, 100, "https://shoes.example/", 5, "EUR"),
    ]


def test_a_line_ends_at_a_line_feed_only(tmp_path: Path) -> None:
    """U+2028 and U+0085 are allowed inside a JSON string and end no line."""
    path = tmp_path / "ads.jsonl"
    url = "https://shoes.example/\u2028\u0085"
    path.write_text(json.dumps(LINE | {"target_url": url}, ensure_ascii=False) + "\r\n", encoding="utf-8", newline="")
    assert [ad.target_url for ad in read_ads_file(path)] == [url]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no JSON"),
        ("[1]", r"\[1\]; expected a JSON object"),
        ("[" * 100_000, "no JSON"),
        ('"text"', "expected a JSON object"),
        ("{}", "no ad_id, advertiser_id, campaign_id, target_url"),
        (json.dumps(LINE | {"colour": 1, "Ad_id": 2}), "unknown Ad_id, colour"),
        (json.dumps(LINE | {"ad_id": "1"}), "ad_id is '1'; expected a whole number"),
        (json.dumps(LINE | {"target_url": "javascript:alert(1)"}), "target_url is 'javascript"),
        (json.dumps(LINE | {"price_micros": 1}), "expected a price and its currency"),
        (json.dumps(LINE), "ad 1 a second time"),
    ],
    ids=["cut", "array", "deep", "text", "empty", "unknown field", "text id", "script", "half a price", "twice"],
)
def test_a_wrong_line_is_named_by_its_number(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "ads.jsonl"
    path.write_text(f"{json.dumps(LINE)}\n\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=rf"ads\.jsonl line 3: .*{message}"):
        read_ads_file(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ads\.jsonl cannot be read: No such file"):
        read_ads_file(tmp_path / "ads.jsonl")
    (tmp_path / "ads.jsonl").write_bytes(b'{"ad_id": \xff}')
    with pytest.raises(UsageError, match="byte 10 is not UTF-8"):
        read_ads_file(tmp_path / "ads.jsonl")
