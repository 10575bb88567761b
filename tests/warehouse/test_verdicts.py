"""Sets of verdicts: appended whole and once, read as of a set; which targets raw does not hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.errors import IntegrityError, LedgerConflictError, UsageError
from domain.identity import LogPosition
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from tests.support.archive_world import ArchiveWorld, Click
from warehouse.layout import open_table, rows_of
from warehouse.verdicts import (
    RejectedLine,
    VerdictSet,
    append_set,
    current_set,
    read_in_force,
    refuse_known_file,
    unknown_targets,
)

AT = datetime(2026, 5, 4, 23, 59, 59, 123456, tzinfo=UTC)
CLICK = ClickTarget("imp-1", 7)
PLACE = LogPosition(1, 0, 5)
BAD = RejectedLine(3, "no JSON", "{")


def verdict(number: int, target: ClickTarget | LogPosition = CLICK, **changes: Any) -> FraudVerdict:
    said = {"verdict": "fraud", "reason": "a bot", "decided_at": AT - timedelta(hours=1), "score_micros": 900_000}
    return FraudVerdict(**{"verdict_id": f"v{number}", "target": target, **said, **changes})


def verdict_set(digest: str, *verdicts: FraudVerdict, **changes: Any) -> VerdictSet:
    return VerdictSet(**{"file_digest": digest, "source": "lab", "actor": "ann", "verdicts": verdicts, **changes})


def rows(settings: Settings, name: str = "fraud_verdicts") -> list[dict[str, Any]]:
    return rows_of(open_table(settings, name)).to_pylist()


def test_without_a_set_nothing_is_in_force(settings: Settings) -> None:
    assert current_set(settings) == 0
    assert read_in_force(settings, 0) == {}


def test_each_file_is_one_commit_and_the_next_set(settings: Settings) -> None:
    assert append_set(settings, verdict_set("d1", verdict(1), verdict(2, PLACE, score_micros=None)), AT) == 1
    assert append_set(settings, verdict_set("d2", verdict(3, verdict="withdrawn", decided_at=AT)), AT) == 2
    assert current_set(settings) == open_table(settings, "fraud_verdicts").version() == 2
    found = read_in_force(settings, 1)
    assert {target: one.verdict for target, one in found.items()} == {
        CLICK: verdict(1),
        PLACE: verdict(2, PLACE, score_micros=None),
    }
    assert {(one.set_version, one.source) for one in found.values()} == {(1, "lab")}
    assert read_in_force(settings, 2).keys() == {PLACE}
    assert read_in_force(settings, 0) == {}


def test_a_row_says_all_of_it(settings: Settings) -> None:
    append_set(settings, verdict_set("d1", verdict(2, PLACE)), AT)
    assert rows(settings) == [
        {
            "verdict_id": "v2",
            "set_version": 1,
            "target_kind": "position",
            "impression_id": None,
            "ad_id": None,
            **{"log": 1, "partition": 0, "offset": 5},
            "verdict": "fraud",
            "reason": "a bot",
            "score_micros": 900_000,
            "source": "lab",
            "decided_at": AT - timedelta(hours=1),
            "received_at": AT,
            "actor": "ann",
            "file_digest": "d1",
            "verdict_date": AT.date(),
        }
    ]


def test_the_same_file_again_changes_nothing(settings: Settings) -> None:
    append_set(settings, verdict_set("d1", verdict(1)), AT)
    append_set(settings, verdict_set("d2", verdict(2)), AT)
    before = rows(settings)
    with pytest.raises(UsageError, match="this file was taken in as set 1; expected a file that is new"):
        append_set(settings, verdict_set("d1", verdict(3), source="another", rejected=[BAD]), AT)
    with pytest.raises(UsageError, match="this file was taken in as set 2"):
        refuse_known_file(settings, "d2")
    refuse_known_file(settings, "d3")
    assert rows(settings) == before
    assert rows(settings, "rejected_verdicts") == []


def test_a_file_without_a_verdict_is_refused(settings: Settings) -> None:
    with pytest.raises(UsageError, match="the file holds no verdict"):
        append_set(settings, verdict_set("d1", rejected=[BAD]), AT)
    assert current_set(settings) == 0
    assert rows(settings, "rejected_verdicts") == []


def test_two_intakes_at_once_do_not_share_a_set_version(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = open_table(settings, "fraud_verdicts")
    append_set(settings, verdict_set("d1", verdict(1)), AT)
    with monkeypatch.context() as patch:
        patch.setattr("warehouse.verdicts.open_table", lambda *_: stale)
        with pytest.raises(LedgerConflictError):
            append_set(settings, verdict_set("d2", verdict(2)), AT)
    assert append_set(settings, verdict_set("d2", verdict(2)), AT) == 2
    assert [row["set_version"] for row in sorted(rows(settings), key=lambda row: row["verdict_id"])] == [1, 2]


def test_rejected_lines_are_kept_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies between the two tables leaves them; the next try does not write them again."""
    given = verdict_set("d1", verdict(1), rejected=[BAD])

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("warehouse.verdicts._row", die)
        with pytest.raises(KeyboardInterrupt):
            append_set(settings, given, AT)
    assert (current_set(settings), len(rows(settings, "rejected_verdicts"))) == (0, 1)
    append_set(settings, given, AT + timedelta(hours=1))
    assert rows(settings, "rejected_verdicts") == [
        {**BAD._asdict(), "file_digest": "d1", "source": "lab", "actor": "ann", "received_at": AT}
    ]


@pytest.mark.parametrize("version", [2, -1])
def test_a_set_that_is_not_there_is_an_error(settings: Settings, version: int) -> None:
    append_set(settings, verdict_set("d1", verdict(1)), AT)
    with pytest.raises(IntegrityError, match=rf"ends at set 1; expected set {version}"):
        read_in_force(settings, version)


def test_targets_that_are_no_click_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A position next to a known one, in another partition, of another ad, and a request that was no click."""
    monkeypatch.setattr("warehouse.verdicts.TARGETS_AT_A_TIME", 2)
    world = ArchiveWorld(tmp_path)
    known = world.archive([Click("a"), Click("b", partition=1), Click("c", 1), Click("d", 2)])
    world.archive([Click("h", kind="head")])
    clicks = [ClickTarget(name, ad) for name, ad in [("a", 1), ("c", 1), ("d", 1)]]
    strangers = {ClickTarget("a", 2), ClickTarget("x", 1), ClickTarget("h", 1), LogPosition(1, 1, 1)}
    assert unknown_targets(world.settings, [*known, *clicks, *strangers]) == strangers
