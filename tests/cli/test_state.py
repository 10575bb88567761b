"""The state of an installation: what does not run or does not exist yet is said, not raised."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.state import read_state
from domain.publications import PublicationDraft
from domain.settings import Settings
from warehouse.create import create_missing_tables
from warehouse.locks import writer_lock
from warehouse.publications import append_publication

AT = datetime(2026, 1, 31, 13, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def test_before_anything_ran(settings: Settings) -> None:
    state = read_state(settings)
    assert {process.name for process in state.processes} == {
        "broker", "stream", "reconcile", "click", "metrics", "dagster",
    }  # fmt: skip
    assert not any(process.is_running for process in state.processes if process.name in {"broker", "stream"})
    assert state.partitions is None
    assert "`tallystick broker`" in (state.log_problem or "")
    assert (state.last_live_batch_at, state.live_logged_at, state.final_until) == (None, None, None)


def test_tables_that_were_only_created_have_no_last_batch(settings: Settings) -> None:
    create_missing_tables(settings)
    assert read_state(settings).last_live_batch_at is None


def test_a_held_lock_is_a_running_writer(settings: Settings) -> None:
    with writer_lock(settings, "stream"):
        running = {process.name: process.is_running for process in read_state(settings).processes}
    assert (running["stream"], running["reconcile"]) == (True, False)


def test_final_until_is_that_of_the_newest_publication(settings: Settings) -> None:
    create_missing_tables(settings)
    for number, until in enumerate((AT, AT.replace(hour=14))):
        draft = PublicationDraft(seal_number=1, minute_version=1, hour_version=1, day_version=1, final_until=until)
        append_publication(settings, draft, number, AT)
    assert read_state(settings).final_until == AT.replace(hour=14)
