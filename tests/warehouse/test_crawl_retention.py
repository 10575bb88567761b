"""Retention of the crawl's tables: what a run that died is owed, and how few files are left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain.settings import Settings
from tests.warehouse.test_crawl_documents import DAY, row
from warehouse import retention
from warehouse.crawl_retention import retain_tables
from warehouse.crawl_rows import append_rows
from warehouse.layout import open_table
from warehouse.ledger import MAX_FILES
from warehouse.retention_steps import read_steps

NOW = datetime(2026, 6, 2, tzinfo=UTC)
"""30 days after the end of the date."""


def test_a_date_goes_with_its_last_day_and_not_sooner(settings: Settings) -> None:
    append_rows(settings, "links", [row("links"), row("links", link_number=2)])
    too_soon = NOW - timedelta(microseconds=1)
    assert retain_tables(settings, 30, "ann", lambda: too_soon) == {
        "documents": 0,
        "links": 0,
        "fetch_log": 0,
        "near_duplicates": 0,
    }
    assert retain_tables(settings, 30, "ann", lambda: NOW) == {
        "documents": 0,
        "links": 2,
        "fetch_log": 0,
        "near_duplicates": 0,
    }
    assert open_table(settings, "links").partitions() == []


def test_a_step_that_died_is_settled(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    append_rows(settings, "documents", [row("documents")])

    def die(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(retention, "end_step", die)
        with pytest.raises(KeyboardInterrupt):
            retain_tables(settings, 30, "ann", lambda: NOW)
    retain_tables(settings, 30, "ann", lambda: NOW)
    assert sorted(step.state for step in read_steps(settings)) == ["done", "intended"]
    assert open_table(settings, "documents").partitions() == []


def test_many_small_files_become_one(settings: Settings) -> None:
    snapshot = open_table(settings, "fetch_log")
    for number in range(MAX_FILES + 1):
        append_rows(settings, "fetch_log", [row("fetch_log", event_id=str(number), fetch_date=DAY)])
    retain_tables(settings, 365, "ann", lambda: NOW)
    snapshot.update_incremental()
    assert len(snapshot.file_uris()) == 1
