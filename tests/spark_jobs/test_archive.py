"""The archive: every record once, in the right table, whatever happens to checkpoints and commits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from clicklog.broker import Broker
from clicklog.offsets import end_offsets
from domain.errors import TallystickError
from domain.identity import LogPosition, click_identity
from spark_jobs import archive
from spark_jobs.stream_params import StreamReceipt
from tests.support.events import click
from tests.support.stream_world import Record, StreamWorld, minutes_ago
from tests.support.topics import own_topics
from warehouse.layout import table_uri
from warehouse.marks import read_marks

pytestmark = [pytest.mark.spark, pytest.mark.broker]

REFUSED = {
    "malformed_json": b"{",
    "empty": None,
    "too_large": b'{"x": "' + b"y" * 900_000 + b'"}',
}
GOOD = 50


def everything(world: StreamWorld) -> list[LogPosition]:
    """Every position that the log ever gave out."""
    ends = end_offsets(world.settings, world.settings.clicks_topic)
    return sorted(LogPosition(1, partition, offset) for partition, end in ends.items() for offset in range(end))


def archived(world: StreamWorld) -> list[LogPosition]:
    return sorted(world.positions("raw_clicks") + world.positions("quarantined_clicks"))


@dataclass(frozen=True)
class OneRun:
    """One run over records of every kind, for tests that only look at what it left."""

    world: StreamWorld
    good: list[Record]
    unknown: Record
    receipt: StreamReceipt


@pytest.fixture(scope="module")
def one_run(broker: Broker, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> OneRun:
    settings = own_topics(broker, tmp_path_factory.mktemp("archived"))
    world = StreamWorld(replace(settings, shuffle_partitions=2), spark)
    good = [click(f"imp-{n}", minutes_ago(1)) for n in range(GOOD)]
    good += [click(f"imp-{kind}", minutes_ago(1), kind=kind) for kind in ("head", "prefetch")]
    unknown = click("imp-unknown", minutes_ago(1), ad_id=404)
    world.send([*good, unknown, *((b"k", value) for value in REFUSED.values())])
    return OneRun(world, good, unknown, world.run())


def test_each_record_lands_in_one_table_with_its_exact_bytes(one_run: OneRun) -> None:
    """A7, A8: bad records are kept with their reason, the good ones beside them are counted once."""
    world, receipt = one_run.world, one_run.receipt
    raw = world.rows("raw_clicks")
    assert sorted(row["payload"] for row in raw) == sorted(value or b"" for _, value in one_run.good)
    assert {(row["reason"], row["payload"]) for row in world.rows("quarantined_clicks")} == {
        *REFUSED.items(),
        ("unknown_ad", one_run.unknown[1]),
    }
    assert archived(world) == everything(world)
    assert (receipt.raw_rows, receipt.identity_rows, receipt.quarantined_rows) == (GOOD + 2, GOOD, 4)


def test_identities_are_those_of_click_kind_events(one_run: OneRun) -> None:
    found = sorted(bytes(row["identity"]) for row in one_run.world.rows("click_identities"))
    assert found == sorted(click_identity(f"imp-{n}", 17) for n in range(GOOD))


def test_logged_at_never_steps_back_within_a_partition(one_run: OneRun) -> None:
    by_partition: dict[int, list[tuple[int, object]]] = {}
    for row in one_run.world.rows("raw_clicks"):
        by_partition.setdefault(row["partition"], []).append((row["offset"], row["logged_at"]))
    assert len(by_partition) > 1
    for rows in by_partition.values():
        instants = [logged_at for _, logged_at in sorted(rows)]
        assert instants == sorted(instants)


def test_first_offsets_of_the_log_are_registered(one_run: OneRun) -> None:
    world = one_run.world
    (row,) = world.rows("logs")
    assert (row["log"], row["topic"]) == (1, world.settings.clicks_topic)
    assert set(json.loads(row["first_offsets"]).values()) == {0}


@pytest.mark.parametrize("loss", ["checkpoint and marks", pytest.param("checkpoint", marks=pytest.mark.soak)])
def test_a_lost_checkpoint_doubles_and_skips_nothing(world: StreamWorld, loss: str) -> None:
    """A1, D1: what is above a table's own mark is taken, whatever the query remembers."""
    world.send(click(f"imp-{n}", minutes_ago(1)) for n in range(30))
    world.run()
    world.lose_checkpoint("archive")
    if loss == "checkpoint and marks":
        shutil.rmtree(table_uri(world.settings, "stream_marks"))
    world.send(click(f"more-{n}", minutes_ago(1)) for n in range(30))
    world.run()
    assert archived(world) == everything(world)
    assert len(world.positions("click_identities")) == 60


def test_a_restored_old_checkpoint_doubles_nothing(world: StreamWorld, tmp_path: Path) -> None:
    world.send(click(f"imp-{n}", minutes_ago(1)) for n in range(30))
    world.run()
    world.keep_checkpoint("archive", tmp_path / "old")
    world.send(click(f"more-{n}", minutes_ago(1)) for n in range(30))
    world.run()
    world.restore_checkpoint("archive", tmp_path / "old")
    world.send(click(f"last-{n}", minutes_ago(1)) for n in range(30))
    world.run()
    assert archived(world) == everything(world)
    assert len(world.positions("raw_clicks")) == 90


@pytest.mark.parametrize(
    "failing_append", [1, pytest.param(2, marks=pytest.mark.soak), pytest.param(3, marks=pytest.mark.soak)]
)
def test_a_batch_that_fails_between_its_commits_is_finished_by_the_next_run(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch, failing_append: int
) -> None:
    """A2: the repeated batch adds to each table only what it lacks."""
    world.send([*(click(f"imp-{n}", minutes_ago(1)) for n in range(30)), (b"k", b"{")])
    monkeypatch.setattr(archive, "append_rows", failing_after(failing_append, archive.append_rows))
    with pytest.raises(TallystickError):
        world.run()
    monkeypatch.undo()
    world.run()
    assert archived(world) == everything(world)
    assert len(world.positions("click_identities")) == 30


def failing_after(count: int, append: Callable[..., None]) -> Callable[..., None]:
    """Does its work ``count`` times, the last time failing after the commit."""
    calls = 0

    def append_then_fail(*args: object) -> None:
        nonlocal calls
        calls += 1
        append(*args)
        if calls == count:
            raise OSError("the process dies here")

    return append_then_fail


def test_a_dropped_table_is_an_error_and_never_success(world: StreamWorld) -> None:
    """A10."""
    world.send([click("imp-1", minutes_ago(1))])
    world.run()
    shutil.rmtree(Path(table_uri(world.settings, "raw_clicks")) / "_delta_log")
    world.send([click("imp-2", minutes_ago(1))])
    with pytest.raises(TallystickError, match="no table raw_clicks"):
        world.run()
    assert max(mark.offset for mark in read_marks(world.settings, "archive", 1).values()) == 0
