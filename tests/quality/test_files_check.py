"""Crowded partitions are told once maintenance should have been there, and not before."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from quality.files_check import COMPACTED_WITHIN, FILES
from tests.support.kept_world import EARLY, SOON, kept_world
from warehouse.maintenance import maintain


def test_a_crowded_partition_is_told_until_it_is_compacted(tmp_path: Path) -> None:
    settings = kept_world(tmp_path).settings
    due = EARLY + timedelta(hours=1) + COMPACTED_WITHIN
    found = FILES.run(settings, [due])
    assert (found.is_passed, found.is_blocking) == (False, False)
    assert found.metadata["violations"] == ["raw_clicks 2026-11-03T05: 5 small files"]
    assert FILES.run(settings, [due - timedelta(hours=1)]).is_passed
    maintain(settings, "test", lambda: SOON)
    after = FILES.run(settings, [due])
    assert (after.is_passed, after.metadata["file_count"]) == (True, 4)
