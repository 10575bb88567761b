"""The truth as a file: what is written is what is read, and what is no truth is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.errors import UsageError
from tests.traffic.samples import LATE_BOUND_SECONDS, SHOP, START, event, options, planned
from traffic.event import Dimensions
from traffic.recount import Recount
from traffic.truth import HourTruth, PartitionTruth, RunFacts, Truth, load_truth, reserve_truth, save_truth, truth_of

FRENCH = Dimensions(11, 1101, 10_001, "FR", "desktop")
MADE = {"late": 1, "double_click": 1}
FACTS = RunFacts(options(), MADE, False, ("before",), start_offsets={0: 5, 1: 0}, end_offsets={0: 12, 1: 0})
HTTP_FACTS = RunFacts(options().over_http(), MADE, True)


def _small(is_over_http: bool = False) -> Truth:
    recount = Recount(lambda _: 0, LATE_BOUND_SECONDS, {}, has_times=not is_over_http)
    for each in (
        event("a", 3_600),
        event("a", 3_601),
        event("b", 7, FRENCH),  # 310 s and more behind: late
        event("c", 3_602),
        event("d", 3_603, kind="head"),
        event("e", 0, reason="unknown_ad"),
    ):
        recount.look_at(each)
    return truth_of(recount, HTTP_FACTS if is_over_http else FACTS)


def test_figures() -> None:
    truth = _small()
    nine, ten = START, START + timedelta(hours=1)
    assert truth.final_rows() == {(*SHOP[:3], ten, "DE", "mobile"): 2, (*FRENCH[:3], nine, "FR", "desktop"): 1}
    assert truth.late_rows() == {(*FRENCH[:3], nine, "FR", "desktop"): 1}
    assert truth.live_rows() == {(*SHOP[:3], ten, "DE", "mobile"): 2}
    assert truth.hours == (
        HourTruth(nine, 11, raw=1, billable=1, late=1, excluded={}),
        HourTruth(ten, 11, raw=4, billable=2, late=0, excluded={"head": 1, "duplicate": 1}),
    )
    assert truth.partitions == {
        0: PartitionTruth(5, 12, ten + timedelta(seconds=2)),
        1: PartitionTruth(0, 0, None),
    }
    assert truth.totals() == {
        **{"records": 6, "raw": 5, "billable": 3, "live": 2, "late": 1},
        **{"head": 1, "prefetch": 0, "duplicate": 1, "conflicting_duplicate": 0},
        **{"quarantined": 1, "refused": 0},
    }


def test_over_http_rows_have_no_minute_and_nothing_is_quarantined() -> None:
    truth = _small(is_over_http=True)
    assert truth.final_rows() == {
        (*SHOP[:3], None, "DE", "mobile"): 2,
        (*FRENCH[:3], None, "FR", "desktop"): 1,
    }
    assert (truth.quarantined, truth.refused) == ({}, {"unknown_ad": 1})
    assert [hour.hour for hour in truth.hours] == [None]


def test_conservation_in_every_hour_of_a_large_run() -> None:
    """Law 3, of the truth itself."""
    recount = Recount(lambda key: key[0] % 8, LATE_BOUND_SECONDS, {})
    for each in planned(options()):
        recount.look_at(each)
    truth = truth_of(recount, FACTS)
    assert len(truth.hours) == 6
    for hour in truth.hours:
        assert hour.raw == hour.billable + sum(hour.excluded.values())
        of_hour = {key: clicks for key, clicks in truth.final_rows().items() if _is_of(key, hour)}
        assert sum(of_hour.values()) == hour.billable
        assert sum(clicks for key, clicks in truth.live_rows().items() if _is_of(key, hour)) == hour.live


def _is_of(key: tuple[int, int, int, datetime | None, str, str], hour: HourTruth) -> bool:
    assert key[3] is not None
    return key[0] == hour.advertiser_id and key[3].replace(minute=0) == hour.hour


@pytest.mark.parametrize("is_over_http", [False, True])
def test_a_saved_truth_is_loaded_as_it_was(tmp_path: Path, is_over_http: bool) -> None:
    truth = _small(is_over_http)
    path = tmp_path / "new" / "truth.json"
    save_truth(truth, path)
    assert load_truth(path) == truth
    assert [each.name for each in path.parent.iterdir()] == ["truth.json"]


def test_the_file_as_the_documents_show_it(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    save_truth(_small(), path)
    document = json.loads(path.read_text())
    assert (document["format"], document["format_version"]) == ("tallystick-truth", 1)
    assert document["totals"]["billable"] == 3
    assert document["dimensions"] == [list(SHOP), list(FRENCH)]
    assert document["minutes"] == [["2026-03-01T09:00:00Z", [[1, 1, 1]]], ["2026-03-01T10:00:00Z", [[0, 2, 0]]]]
    assert document["hours"][1]["live"] == 2
    assert datetime.fromisoformat(document["hours"][1]["hour"]) == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert document["partitions"]["0"]["highest_clicked_at"] == "2026-03-01T10:00:02Z"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param(b"{", "cannot be read", id="no JSON"),
        pytest.param(b"[]", "holds None", id="a list"),
        pytest.param(b'{"format":"tallystick-truth","format_version":2}', "2", id="a later version"),
    ],
)
def test_no_truth(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "truth.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=named):
        load_truth(path)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.json cannot be read"):
        load_truth(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="is a folder"):
        reserve_truth(tmp_path)
