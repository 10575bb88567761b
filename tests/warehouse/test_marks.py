"""Marks move forward only, keep to themselves, and stay cheap."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from domain.buckets import MICROSECOND
from domain.errors import WriterBusyError
from domain.settings import Settings
from warehouse.layout import open_table, rows_of, table_uri
from warehouse.marks import Mark, reached_offsets, read_marks, write_marks

AT = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)


def _mark(partition: int, offset: int, query: str = "live", log: int = 1) -> Mark:
    return Mark(query, log, partition, offset, AT + offset * MICROSECOND, AT - offset * MICROSECOND)


def _version(settings: Settings) -> int:
    return open_table(settings, "stream_marks").version()


def test_marks_come_back_to_the_microsecond(settings: Settings) -> None:
    written = {0: _mark(0, 41), 7: Mark("live", 1, 7, 2**40, None, None)}
    write_marks(settings, "live", 1, written.values())
    assert read_marks(settings, "live", 1) == written
    assert reached_offsets(settings, "live", 1) == {0: 42, 7: 2**40 + 1}


def test_there_are_none_before_the_first_batch(settings: Settings) -> None:
    assert read_marks(settings, "live", 1) == {}


def test_queries_and_logs_keep_to_themselves(settings: Settings) -> None:
    for query, log in (("live", 1), ("live", 2), ("archive", 1)):
        write_marks(settings, query, log, [_mark(0, 10 * log, query, log)])
    write_marks(settings, "live", 1, [_mark(0, 11)])
    offsets = {
        (query, log): [mark.offset for mark in read_marks(settings, query, log).values()]
        for query in ("archive", "live")
        for log in (1, 2)
    }
    assert offsets == {("archive", 1): [10], ("archive", 2): [], ("live", 1): [11], ("live", 2): [20]}
    assert rows_of(open_table(settings, "stream_marks")).num_rows == len(offsets) - 1


def test_partitions_that_are_not_named_keep_their_marks(settings: Settings) -> None:
    write_marks(settings, "live", 1, [_mark(0, 5), _mark(1, 6)])
    write_marks(settings, "live", 1, [_mark(1, 9)])
    assert read_marks(settings, "live", 1) == {0: _mark(0, 5), 1: _mark(1, 9)}


def test_a_mark_never_moves_back(settings: Settings) -> None:
    """A replay from an older checkpoint writes what it has looked at again; it must not uncount what came after."""
    write_marks(settings, "live", 1, [_mark(0, 500), _mark(1, 5)])
    write_marks(settings, "live", 1, [_mark(0, 100), _mark(1, 6)])
    assert read_marks(settings, "live", 1) == {0: _mark(0, 500), 1: _mark(1, 6)}


def test_what_changes_nothing_is_no_commit(settings: Settings) -> None:
    write_marks(settings, "live", 1, [_mark(0, 500)])
    for marks in ([], [_mark(0, 500)], [_mark(0, 499)]):
        write_marks(settings, "live", 1, marks)
    assert _version(settings) == 1


def test_two_queries_commit_at_the_same_time(settings: Settings) -> None:
    """The archive and the live query of one driver move their marks in threads of their own."""
    batches, failures = 25, []

    def run(query: str) -> None:
        try:
            for batch in range(batches):
                write_marks(settings, query, 1, [_mark(0, batch, query)])
        except Exception as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)

    threads = [Thread(target=run, args=(query,)) for query in ("archive", "live")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {query: read_marks(settings, query, 1)[0].offset for query in ("archive", "live")} == {
        "archive": batches - 1,
        "live": batches - 1,
    }


def test_a_second_stream_is_told_apart_from_a_failure(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = open_table(settings, "stream_marks")
    write_marks(settings, "live", 1, [_mark(0, 1)])
    monkeypatch.setattr("warehouse.marks.open_table", lambda *_: stale)
    with pytest.raises(WriterBusyError, match="marks of query live were moved by another process"):
        write_marks(settings, "live", 1, [_mark(0, 2)])


@pytest.mark.parametrize(
    ("retention", "kept"), [("1 seconds", {12, 13}), ("10 minutes", {30})], ids=["replaced", "fresh"]
)
def test_replaced_files_go_when_nobody_can_read_them_any_more(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, retention: str, kept: set[int]
) -> None:
    """D11, D13: a commit per batch for ever leaves few files; one that was replaced just now stays for its readers."""
    # Version 1 is the change of the property, batch n is version n + 2; so the vacuum follows batch 18. By then the
    # files of batches 0..16 were replaced before the pause, those of 18 and later were not: 30 - 17 = 13 are left,
    # or 12, if the vacuum is slow and takes the one that batch 18 itself replaced.
    monkeypatch.setattr("warehouse.marks.COMMITS_PER_VACUUM", 20)
    table = open_table(settings, "stream_marks")
    table.alter.set_table_properties({"delta.deletedFileRetentionDuration": f"interval {retention}"})
    for batch in range(30):
        if batch == 18:
            time.sleep(1.2)
        write_marks(settings, "live", 1, [_mark(0, batch)])
    files = list(Path(table_uri(settings, "stream_marks")).glob("query=live/*.parquet"))
    assert read_marks(settings, "live", 1) == {0: _mark(0, 29)}
    assert len(files) in kept
