"""Two appends behind one head: one of them commits, the other is told, whoever they are and however close."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from deltalake import write_deltalake

from domain.errors import IntegrityError, LedgerConflictError
from domain.publications import check_publications
from domain.seals import check_chain
from domain.settings import Settings
from tests.support.ledgers import LOST, WON, WRITTEN_AT, race, seal_draft
from tests.support.peaks import peak_bytes
from warehouse import ledger
from warehouse.layout import open_table, rows_of, table_uri
from warehouse.ledger import append_after, check_head, check_stored, keep_few_files
from warehouse.publications import read_publications
from warehouse.schema import arrow_rows
from warehouse.seals import append_seals, read_seals
from warehouse.table import ColumnType
from warehouse.tables.logs import LOGS
from warehouse.tables.stream_batches import STREAM_BATCHES


def _row(log: int, topic_id: str) -> dict[str, Any]:
    return {"log": log, "topic": "clicks", "topic_id": topic_id, "first_offsets": "{}", "registered_at": WRITTEN_AT}


def _topic_ids(settings: Settings) -> list[str]:
    return sorted(rows_of(open_table(settings, "logs"))["topic_id"].to_pylist())


def test_an_append_to_the_newest_snapshot_commits(settings: Settings) -> None:
    append_after(settings, "logs", open_table(settings, "logs"), [_row(1, "a"), _row(2, "b")])
    assert _topic_ids(settings) == ["a", "b"]
    assert open_table(settings, "logs").version() == 1


def test_an_append_to_an_older_snapshot_conflicts(settings: Settings) -> None:
    old = open_table(settings, "logs")
    append_after(settings, "logs", open_table(settings, "logs"), [_row(1, "a")])
    with pytest.raises(LedgerConflictError, match=r"logs is at version 1.*version 0") as raised:
        append_after(settings, "logs", old, [_row(1, "b")])
    assert raised.value.is_transient
    assert _topic_ids(settings) == ["a"]


def test_a_commit_that_is_no_append_conflicts_too(settings: Settings) -> None:
    old = open_table(settings, "logs")
    open_table(settings, "logs").alter.set_table_properties({"delta.logRetentionDuration": "interval 40 days"})
    with pytest.raises(LedgerConflictError):
        append_after(settings, "logs", old, [_row(1, "b")])
    assert _topic_ids(settings) == []


def test_plain_appends_do_not_conflict(settings: Settings) -> None:
    """Why ``append_after`` exists. If this ever fails, the engine has changed and the ledger may be simplified."""
    first, second = open_table(settings, "logs"), open_table(settings, "logs")
    for snapshot, topic_id in ((first, "a"), (second, "b")):
        write_deltalake(snapshot, arrow_rows(LOGS, [_row(1, topic_id)]), mode="append")
    assert _topic_ids(settings) == ["a", "b"]


def test_a_failure_that_is_no_conflict_is_not_called_one(settings: Settings) -> None:
    snapshot = open_table(settings, "logs")
    with pytest.raises(ValueError, match="table logs has columns"):
        append_after(settings, "logs", snapshot, [{"log": 1}])
    assert open_table(settings, "logs").version() == 0


def test_a_ledger_keeps_few_files_and_every_row(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warehouse.ledger.MAX_FILES", 5)
    counts = []
    for head in range(14):
        append_seals(settings, [seal_draft(head)], head, WRITTEN_AT)
        counts.append(len(open_table(settings, "seals").file_uris()))
    assert counts == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4]
    assert [seal.number for seal in read_seals(settings)] == list(range(1, 15))
    assert check_chain(read_seals(settings)) == []


def test_files_as_they_were_appended_stay(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """F7, D13: nothing of a ledger is ever deleted, housekeeping or not."""
    monkeypatch.setattr("warehouse.ledger.MAX_FILES", 2)
    for head in range(3):
        append_seals(settings, [seal_draft(head)], head, WRITTEN_AT)
    files = list(Path(table_uri(settings, "seals")).glob("*.parquet"))
    assert len(files) == 3 + 1


def test_a_table_of_many_dates_is_not_tidied_in_vain(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """D11: files of two dates are never one, so with many dates each append would be looked through for nothing."""
    monkeypatch.setattr("warehouse.ledger.MAX_FILES", 5)
    compacted: list[int] = []
    uri = table_uri(settings, "stream_batches")
    for days in range(12):
        write_deltalake(
            table_uri(settings, "stream_batches"), arrow_rows(STREAM_BATCHES, [_batch(days)]), mode="append"
        )
    for number in range(6):
        write_deltalake(uri, arrow_rows(STREAM_BATCHES, [_batch(0)]), mode="append")
        snapshot = open_table(settings, "stream_batches")
        before = snapshot.version()
        keep_few_files(snapshot)
        if snapshot.version() != before:
            compacted.append(number)
    assert compacted == [4]


def _batch(days: int) -> dict[str, Any]:
    at = WRITTEN_AT - timedelta(days=days)
    values: dict[ColumnType, Any] = {"string": "{}", "int": 1, "long": 1, "timestamp": at, "date": at.date()}
    return {column.name: values[column.type] for column in STREAM_BATCHES.columns}


def test_another_head_than_expected_conflicts() -> None:
    check_head("seals", found=3, expected=3)
    with pytest.raises(LedgerConflictError, match=r"seals has number 4; expected number 3"):
        check_head("seals", found=4, expected=3)


def test_rows_that_read_back_otherwise_stop_everything() -> None:
    check_stored("seals", (1, 2), [1, 2])
    with pytest.raises(IntegrityError, match="append nothing more"):
        check_stored("seals", [1, 3], [1, 2])


@pytest.mark.parametrize(
    ("ledger", "by", "racers", "rounds"),
    [("seals", "threads", 4, 15), ("seals", "processes", 3, 15), ("publications", "threads", 4, 10)],
)
def test_one_racer_wins_each_head(
    settings: Settings, ledger: str, by: Literal["threads", "processes"], racers: int, rounds: int
) -> None:
    """D8 of the ledgers: a chain cannot fork; the losers are told and nothing of theirs is stored."""
    outcomes = race(settings, ledger, by, racers, rounds)
    assert outcomes == [Counter({WON: 1, LOST: racers - 1})] * rounds
    chain = read_seals(settings) if ledger == "seals" else read_publications(settings)
    assert len(chain) == rounds
    assert check_chain(read_seals(settings)) + check_publications(read_publications(settings)) == []


def test_twice_the_rows_take_no_more_memory(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one commit all the same, and what is wrong with the first piece is said as it is."""
    monkeypatch.setattr(ledger, "ROWS_AT_ONCE", 500)

    def append(count: int) -> None:
        append_after(settings, "logs", open_table(settings, "logs"), (_row(n, f"topic {n}") for n in range(count)))

    peaks = [peak_bytes(lambda count=count: append(count)) for count in (4_000, 8_000)]  # type: ignore[misc]
    assert peaks[1] < 1.3 * peaks[0]
    assert open_table(settings, "logs").version() == 2
    assert len(_topic_ids(settings)) == 12_000
    with pytest.raises(ValueError, match="table logs has columns"):
        append_after(settings, "logs", open_table(settings, "logs"), [{"log": 1}])
