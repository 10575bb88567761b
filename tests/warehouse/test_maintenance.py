"""Maintenance of whole homes: what goes, what stays, what readers still see, and what a death in between leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from domain.disputes import Claim
from domain.errors import IntegrityError, UsageError, WriterBusyError
from domain.retention import Partition
from domain.settings import Settings
from tests.support.kept_world import (
    EARLY,
    HOUR,
    IN_SPRING,
    SOON,
    YEARS_LATER,
    hours_in,
    kept_world,
    vacuum_at_once,
    write_live,
)
from tests.support.sealed_world import SealedWorld, logged
from warehouse.disputes import open_dispute
from warehouse.layout import open_table, table_uri
from warehouse.locks import SEAL_LOCK, STREAM_LOCK, writer_lock
from warehouse.maintenance import LOCK, MaintenanceReceipt, TableReceipt, maintain, plan
from warehouse.publications import latest_publication
from warehouse.retention import settle_steps
from warehouse.retention_steps import deleted_hours, intend, read_steps
from warehouse.schema import arrow_rows
from warehouse.tables import TABLES

MINUTES = ("live_clicks_minute", "final_clicks_minute")


class Killed(BaseException):
    """Not caught by anything on its way."""


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    return kept_world(tmp_path)


def run(settings: Settings, at: datetime = IN_SPRING, **options: Any) -> MaintenanceReceipt:
    return maintain(settings, "test", lambda: at, **options)


def killed_at(settings: Settings, step: str, at: datetime = IN_SPRING) -> None:
    def die(name: str) -> None:
        if name == step:
            raise Killed

    with pytest.raises(Killed):
        run(settings, at, after_step=die)


CLAIM = Claim(
    advertiser_id=10,
    start=HOUR,
    end=HOUR + timedelta(hours=1),
    claim="why 5",
    actor="ada",
    claimed_clicks=None,
    opened_at=SOON,
)


def of_table(receipt: MaintenanceReceipt, name: str) -> TableReceipt:
    return next(one for one in receipt.tables if one.table == name)


def rows_of_version(settings: Settings, name: str, version: int) -> int:
    return DeltaTable(table_uri(settings, name), version=version).to_pyarrow_table().num_rows


def test_minutes_go_after_90_days_while_hours_days_and_raw_stay(world: SealedWorld) -> None:
    receipt = run(world.settings)
    assert [hours_in(world.settings, name) for name in MINUTES] == [set(), set()]
    assert [hours_in(world.settings, name) for name in ("final_clicks_hour", "raw_clicks")] == [{EARLY, HOUR}] * 2
    assert open_table(world.settings, "final_clicks_day").to_pyarrow_table().num_rows == 2
    steps = [
        (one.step_number, one.state, one.table_name, one.row_count, one.policy) for one in read_steps(world.settings)
    ]
    assert steps == [
        (1, "intended", "final_clicks_minute", 6, "90 days"),
        (1, "done", "final_clicks_minute", 6, "90 days"),
        (2, "intended", "live_clicks_minute", 2, "90 days"),
        (2, "done", "live_clicks_minute", 2, "90 days"),
    ]
    assert {one.actor for one in read_steps(world.settings)} == {"test"}
    assert deleted_hours(world.settings, "final_clicks_minute").hours == {EARLY, HOUR}
    assert [(one.table, one.deleted_partitions) for one in receipt.tables if one.deleted_partitions] == [
        ("live_clicks_minute", 2),
        ("final_clicks_minute", 2),
    ]


def test_nothing_goes_before(world: SealedWorld) -> None:
    run(world.settings, SOON)
    assert read_steps(world.settings) == []
    assert [hours_in(world.settings, name) for name in MINUTES] == [{EARLY, HOUR}] * 2


def test_hours_go_after_three_years_and_days_never(world: SealedWorld) -> None:
    run(world.settings, YEARS_LATER)
    assert hours_in(world.settings, "final_clicks_hour") == set()
    assert open_table(world.settings, "final_clicks_day").to_pyarrow_table().num_rows == 2
    assert hours_in(world.settings, "raw_clicks") == {EARLY, HOUR}


def test_raw_goes_only_if_a_setting_says_so(world: SealedWorld) -> None:
    """The last week of November is looked back at by December, which is open."""
    settings = replace(world.settings, raw_retention_days=400)
    receipt = run(settings, YEARS_LATER)
    assert hours_in(settings, "raw_clicks") == {HOUR}
    assert "kept: 2026-11-30T09: period 2026-12 is open" in of_table(receipt, "raw_clicks").notes
    identities = open_table(settings, "click_identities").to_pyarrow_table()["log_date"].to_pylist()
    assert set(identities) == {HOUR.date()}


def test_a_held_hour_survives(world: SealedWorld) -> None:
    """F7: legal hold."""
    open_dispute(world.settings, CLAIM)
    receipt = run(world.settings)
    assert [hours_in(world.settings, name) for name in MINUTES] == [{HOUR}, {HOUR}]
    assert of_table(receipt, "final_clicks_minute").notes == ("kept: 2026-11-30T09: dispute D-1 holds it",)


def test_a_dispute_that_is_opened_while_tables_are_compacted_holds_those_that_come_after(world: SealedWorld) -> None:
    """F7: the ledgers are read anew for each table."""
    opened = []

    def open_once(step: str) -> None:
        if step == "recorded" and not opened:
            opened.append(open_dispute(world.settings, CLAIM))

    run(world.settings, YEARS_LATER, after_step=open_once)
    left = [hours_in(world.settings, name) for name in ("final_clicks_minute", "final_clicks_hour")]
    assert left == [set(), {HOUR}]


def test_hours_of_an_open_period_survive(tmp_path: Path) -> None:
    world = kept_world(tmp_path, is_closed=False)
    receipt = run(world.settings)
    assert [hours_in(world.settings, name) for name in MINUTES] == [{EARLY, HOUR}] * 2
    notes = of_table(receipt, "live_clicks_minute").notes
    assert notes == ("kept: 2026-11-03T05 and 1 more: period 2026-11 is open",)


def test_an_unsealed_hour_survives_and_is_not_compacted(world: SealedWorld) -> None:
    """D6: compaction must not touch what is still written."""
    before = EARLY - timedelta(hours=1)
    for offset in range(100, 104):
        world.archive([logged(offset, before)])
    settings = replace(world.settings, raw_retention_days=400)
    receipt = run(settings, YEARS_LATER)
    assert before in hours_in(settings, "raw_clicks")
    notes = of_table(receipt, "raw_clicks").notes
    assert "kept: 2026-11-03T04: it is not sealed" in notes
    assert "not compacted: 2026-11-03T04: it is not sealed" in notes


def test_crowded_partitions_are_compacted_once(world: SealedWorld) -> None:
    rows = open_table(world.settings, "raw_clicks").to_pyarrow_table().sort_by("offset").to_pylist()
    receipt = run(world.settings, SOON)
    raw = open_table(world.settings, "raw_clicks")
    assert len(raw.file_uris()) == 2
    assert raw.to_pyarrow_table().sort_by("offset").to_pylist() == rows
    assert of_table(receipt, "raw_clicks").fewer_file_count == 8
    version = raw.version()
    assert of_table(run(world.settings, SOON), "raw_clicks").compacted_partitions == 0
    assert open_table(world.settings, "raw_clicks").version() == version
    assert (Path(table_uri(world.settings, "raw_clicks")) / "_delta_log" / "_last_checkpoint").exists()


def test_final_tables_are_left_alone_while_a_seal_is_not_published(world: SealedWorld) -> None:
    december = HOUR + timedelta(days=3)
    world.archive([logged(50, december)])
    seal = world.seal(december)[0].number
    receipt = run(world.settings)
    waits = f"seal {seal} is not published yet: `tallystick reconcile` does it"
    assert of_table(receipt, "final_clicks_minute").notes == (waits,)
    assert hours_in(world.settings, "final_clicks_minute") == {EARLY, HOUR}
    assert receipt.publication_number is None


def test_what_is_deleted_is_published_and_a_publication_stays_readable_after_the_vacuum(world: SealedWorld) -> None:
    """F7, D13: the versions that readers open keep their files."""
    vacuum_at_once(world.settings, "final_clicks_minute", "final_clicks_hour")
    first = latest_publication(world.settings)
    assert first is not None
    receipt = run(world.settings)
    newest = latest_publication(world.settings)
    assert newest is not None
    assert (newest.number, newest.seal_number, newest.final_until) == (3, first.seal_number, first.final_until)
    assert receipt.publication_number == 3
    assert rows_of_version(world.settings, "final_clicks_minute", newest.minute_version) == 0
    assert rows_of_version(world.settings, "final_clicks_hour", newest.hour_version) == 2
    assert of_table(receipt, "final_clicks_minute").vacuumed_file_count > 0
    with pytest.raises(OSError, match="part-"):
        rows_of_version(world.settings, "final_clicks_minute", first.minute_version)
    assert run(world.settings).publication_number is None


def test_a_final_table_that_somebody_else_changed_is_not_published(world: SealedWorld) -> None:
    rows = open_table(world.settings, "final_clicks_hour").to_pyarrow_table()
    write_deltalake(table_uri(world.settings, "final_clicks_hour"), rows, mode="append")
    with pytest.raises(IntegrityError, match="final_clicks_hour was changed by WRITE since version"):
        run(world.settings)
    newest = latest_publication(world.settings)
    assert newest is not None
    assert newest.number == 2


@pytest.mark.parametrize(
    ("step", "states"),
    [
        pytest.param("intended", ["intended", "abandoned", "intended", "done"], id="before-the-delete"),
        pytest.param("deleted", ["intended", "done"], id="after-the-delete"),
        pytest.param("recorded", ["intended", "done"], id="after-the-record"),
    ],
)
def test_a_run_killed_between_its_commits_is_finished_by_the_next(
    world: SealedWorld, step: str, states: list[str]
) -> None:
    killed_at(world.settings, step)
    receipt = run(world.settings)
    ours = [one for one in read_steps(world.settings) if one.table_name == "final_clicks_minute"]
    assert [one.state for one in ours] == states
    assert deleted_hours(world.settings, "final_clicks_minute").hours == {EARLY, HOUR}
    assert hours_in(world.settings, "final_clicks_minute") == set()
    newest = latest_publication(world.settings)
    assert newest is not None
    assert (receipt.publication_number, newest.number) == (3, 3)


def test_an_intention_is_judged_anew_after_a_death(world: SealedWorld) -> None:
    """A dispute that was opened meanwhile holds what had been meant to go."""
    killed_at(world.settings, "intended")
    open_dispute(world.settings, CLAIM)
    run(world.settings)
    assert hours_in(world.settings, "final_clicks_minute") == {HOUR}
    assert deleted_hours(world.settings, "final_clicks_minute").hours == {EARLY}


def test_a_late_click_after_the_delete_does_not_hide_it(world: SealedWorld) -> None:
    """The commit says which step it is, so a folder that appears anew is not taken for a delete that never was."""
    killed_at(world.settings, "deleted")
    first = latest_publication(world.settings)
    assert first is not None
    rows = DeltaTable(table_uri(world.settings, "final_clicks_minute"), version=first.minute_version)
    fresh = arrow_rows(TABLES["final_clicks_minute"], rows.to_pyarrow_table().slice(0, 1).to_pylist())
    write_deltalake(table_uri(world.settings, "final_clicks_minute"), fresh, mode="append")
    with pytest.raises(IntegrityError):
        run(world.settings)
    assert read_steps(world.settings)[1].state == "done"


@pytest.mark.parametrize(("is_taken", "state"), [(True, "done"), (False, "abandoned")])
def test_a_step_is_taken_whole_although_a_late_click_made_a_folder_anew(
    world: SealedWorld, is_taken: bool, state: str
) -> None:
    """One commit takes all or none; here the table's log no longer says by its step which one it was."""
    partitions = [Partition(at.date(), at.hour) for at in (EARLY, HOUR)]
    said = {"row_count": 2, "file_bytes": 1, "policy": "90 days", "actor": "ada", "at": SOON}
    intend(world.settings, "live_clicks_minute", partitions, **said)
    if is_taken:
        open_table(world.settings, "live_clicks_minute").delete()
        write_live(world.settings, EARLY)
    (ended,) = settle_steps(world.settings, TABLES["live_clicks_minute"], SOON)
    assert (ended.state, hours_in(world.settings, "live_clicks_minute")) == (
        state,
        {EARLY} if is_taken else {EARLY, HOUR},
    )


def test_two_maintainers_at_once(world: SealedWorld) -> None:
    with writer_lock(world.settings, LOCK), pytest.raises(WriterBusyError, match="holds the lock maintain"):
        run(world.settings)
    assert read_steps(world.settings) == []


@pytest.mark.parametrize(
    ("lock", "kept", "gone"),
    [
        (STREAM_LOCK, "live_clicks_minute", "final_clicks_minute"),
        (SEAL_LOCK, "final_clicks_minute", "live_clicks_minute"),
    ],
)
def test_tables_whose_writer_runs_are_left_for_the_next_time(
    world: SealedWorld, lock: str, kept: str, gone: str
) -> None:
    """D6."""
    with writer_lock(world.settings, lock):
        receipt = run(world.settings)
    assert kept in receipt.busy
    assert gone not in receipt.busy
    assert (hours_in(world.settings, kept), hours_in(world.settings, gone)) == ({EARLY, HOUR}, set())
    assert f"holds the lock {lock} since" in of_table(receipt, kept).notes[0]


def test_the_plan_says_what_a_run_does_and_changes_nothing(world: SealedWorld) -> None:
    plans = {one.table.name: one for one in plan(world.settings, IN_SPRING)}
    assert [str(one) for one in plans["live_clicks_minute"].deletable] == ["2026-11-03T05", "2026-11-30T09"]
    assert [str(one) for one in plans["raw_clicks"].compactable] == ["2026-11-03T05", "2026-11-30T09"]
    assert (read_steps(world.settings), hours_in(world.settings, "live_clicks_minute")) == ([], {EARLY, HOUR})


def test_nobody_in_particular_may_not_maintain(world: SealedWorld) -> None:
    with pytest.raises(UsageError, match="no actor"):
        maintain(world.settings, " ", lambda: IN_SPRING)
