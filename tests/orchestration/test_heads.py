"""The hourly export: off without a place, and one head a file with one."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
import pytest

from orchestration.definitions import defs
from orchestration.heads import head_job, head_schedule
from tests.support.ledgers import WRITTEN_AT, seal_draft
from tests.support.sealed_world import sealed_world
from warehouse.seals import append_seals


def test_it_is_off_while_no_place_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    tick = defs.resolve_schedule_def(head_schedule.name).evaluate_tick
    context = dg.build_schedule_context(scheduled_execution_time=WRITTEN_AT)
    assert (tick(context).run_requests, tick(context).skip_message) == ([], "setting head_target is empty")
    monkeypatch.setenv("TALLYSTICK_HEAD_TARGET", str(tmp_path))
    assert len(tick(context).run_requests or ()) == 1


def test_a_run_keeps_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TALLYSTICK_HEAD_TARGET", str(tmp_path / "kept"))
    world = sealed_world(tmp_path / "home")
    (tmp_path / "kept").mkdir()
    append_seals(world.settings, [seal_draft(0)], 0, WRITTEN_AT)
    assert head_job.execute_in_process().success
    assert os.listdir(tmp_path / "kept") == ["head-0000000001-0000000000-0000000000-000000.json"]
    world.tamper("seals", lambda row: row | {"actor": "mallory"})
    assert not head_job.execute_in_process(raise_on_error=False).success
