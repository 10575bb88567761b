"""The live count: each click once, in the row of its first copy, whatever is replayed and however batches are cut."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from domain.counting import CountKey
from domain.errors import IntegrityError, TallystickError
from spark_jobs import live
from spark_jobs.stream import checkpoint_path, refuse_dropped_rows, run_stream
from spark_jobs.stream_params import StreamParams
from tests.support.events import AD, ADVERTISER, CAMPAIGN, click
from tests.support.stream_world import StreamWorld, minutes_ago
from warehouse.layout import table_uri
from warehouse.marks import LIVE_QUERY, read_marks

pytestmark = [pytest.mark.spark, pytest.mark.broker]


def soak(*values: object) -> object:
    """A case of a class of faults that another case stands for in every run."""
    return pytest.param(*values, marks=pytest.mark.soak)


def total(world: StreamWorld) -> int:
    return sum(world.live().values())


def key_of(at: datetime, **changes: object) -> CountKey:
    fields = {
        "advertiser_id": ADVERTISER,
        "campaign_id": CAMPAIGN,
        "ad_id": AD,
        "minute": at.replace(second=0, microsecond=0),
        "country": "US",
        "device": "mobile",
        **changes,
    }
    return CountKey(**fields)  # type: ignore[arg-type]


def test_what_counts_and_what_does_not(world: StreamWorld) -> None:
    """R1, L5, L6, L7, L8, L12: one run over the kinds of clicks that others counted wrongly."""
    at = minutes_ago(30)
    world.know_ads(18)
    world.send([click("head-first", at, kind="head"), click("head-first", at)])  # R1: one billable click
    world.send([click("two-ads", at), click("two-ads", at, ad_id=18)])  # L5: an identity is impression and ad
    world.send([click("conflict", at), click("conflict", at, country="CA")])  # L6: the first copy's row
    world.send([click("instant-1", at), click("instant-2", at)])  # L7: never one by time
    world.send([click("future", at + timedelta(days=1))])  # L8: quarantined before the watermark
    world.send([click("moved-1", at, campaign_id=1), click("moved-2", at, campaign_id=2)])  # an ad moved in mid-minute
    world.run()
    assert world.live() == {
        key_of(at): 1 + 1 + 1 + 2,
        key_of(at, ad_id=18): 1,
        key_of(at, campaign_id=1): 1,
        key_of(at, campaign_id=2): 1,
    }
    # L12: a second batch of equal shape is no repetition.
    world.send([click("instant-3", at), click("instant-4", at)])
    world.run()
    assert world.live()[key_of(at)] == 7
    world.assert_live_equals_oracle()


def test_a_batch_of_nothing_but_duplicates_moves_the_mark(world: StreamWorld) -> None:
    clicks = [click(f"imp-{n}", minutes_ago(30)) for n in range(20)]
    world.send(clicks)
    world.run()
    version = DeltaTable(table_uri(world.settings, "live_clicks_minute")).version()
    world.send(clicks)
    receipt = world.run()
    assert (receipt.live_looked_at_count, receipt.live_counted_count) == (20, 0)
    assert DeltaTable(table_uri(world.settings, "live_clicks_minute")).version() == version
    assert sum(mark.offset + 1 for mark in read_marks(world.settings, "live", 1).values()) == 40
    world.lose_checkpoint("live")
    world.run()
    assert total(world) == 20


def test_partial_totals_rise_within_one_row(world: StreamWorld) -> None:
    """L9, D4: a minute read in many batches is one row a key."""
    at = minutes_ago(30)
    for batch in range(3):
        world.send(click(f"imp-{batch}-{n}", at) for n in range(10))
        world.run()
    assert [row["clicks"] for row in world.rows("live_clicks_minute")] == [30]


def test_late_clicks_are_kept_with_their_reason(world: StreamWorld) -> None:
    """L11: nothing is only counted away; a late copy still occupies its identity."""
    key = "same-partition"
    new, old = minutes_ago(1), minutes_ago(20)
    records = [click(key, new), click(key, old, ad_id=18), click(key, new, ad_id=18), click(key, old, ad_id=19)]
    world.know_ads(18, 19)
    world.send(records)
    world.run()
    assert world.live() == {key_of(new): 1}
    assert [(row["reason"], row["ad_id"]) for row in world.rows("late_clicks")] == [("late", 18), ("late", 19)]
    world.assert_live_equals_oracle()


@pytest.mark.parametrize("loss", ["both checkpoints", soak("checkpoint"), soak("checkpoint and marks")])
def test_replay_after_a_loss_changes_no_count(world: StreamWorld, loss: str) -> None:
    """Law 4, D1."""
    clicks = [click(f"imp-{n % 40}", minutes_ago(30 - n % 5)) for n in range(60)]
    world.send(clicks)
    world.run()
    world.lose_checkpoint("live")
    if loss == "both checkpoints":
        world.lose_checkpoint("archive")
    if loss == "checkpoint and marks":
        shutil.rmtree(table_uri(world.settings, "stream_marks"))
    world.send([*clicks, click("new", minutes_ago(30))])
    world.run()
    assert total(world) == 41
    world.assert_live_equals_oracle()


def test_an_old_checkpoint_restored_changes_no_count(world: StreamWorld, tmp_path: Path) -> None:
    """Law 4."""
    world.send(click(f"imp-{n}", minutes_ago(30)) for n in range(20))
    world.run()
    world.keep_checkpoint("live", tmp_path / "old")
    world.send(click(f"more-{n}", minutes_ago(30)) for n in range(20))
    world.run()
    world.restore_checkpoint("live", tmp_path / "old")
    world.send(click(f"more-{n}", minutes_ago(30)) for n in range(25))
    world.run()
    assert total(world) == 45
    world.assert_live_equals_oracle()


@pytest.mark.parametrize(
    ("step", "loses_checkpoint"),
    [
        ("append_rows", False),
        ("merge_counts", True),
        soak("merge_counts", False),
        soak("append_rows", True),
        soak("write_marks", False),
        soak("write_marks", True),
    ],
)
def test_a_crash_after_any_commit_is_repaired(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch, step: str, loses_checkpoint: bool
) -> None:
    """L1, L2, L3: the process dies right after a commit; the next run counts everything once.

    With a new checkpoint and more clicks the batches are cut elsewhere, so a key's partial count overlaps what its row
    has counted and the events are compared one by one.
    """
    key = "one-partition"
    records = [click(key, minutes_ago(1), ad_id=ad) for ad in range(100, 110)]
    late = click(key, minutes_ago(40), ad_id=110)
    world.know_ads(*range(100, 200))
    world.send([*records, late])
    commit = getattr(live, step)

    def commit_then_die(*args: object) -> None:
        commit(*args)
        raise OSError("the process dies here")

    monkeypatch.setattr(live, step, commit_then_die)
    with pytest.raises(TallystickError):
        world.run()
    monkeypatch.undo()
    if loses_checkpoint:
        world.lose_checkpoint("live")
    same_row = [click("another-impression", minutes_ago(1), ad_id=ad) for ad in range(100, 110)]
    world.send([*same_row, *(click(key, minutes_ago(1), ad_id=ad) for ad in range(150, 160))])
    world.run()
    assert total(world) == 30
    world.assert_live_equals_oracle()


def test_a_query_that_fails_between_two_looks_is_an_error(world: StreamWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the other query ended in that moment, or a stop was asked for: it never looks like success."""
    world.send([click("a", minutes_ago(1))])

    def die(*_: object) -> None:
        raise OSError("the process dies here")

    def is_over() -> bool:
        while any(query.name == LIVE_QUERY for query in world.spark.streams.active):
            time.sleep(0.05)
        return True

    monkeypatch.setattr(live, "merge_counts", die)
    with pytest.raises(TallystickError, match="the live query ended"):
        run_stream(world.settings, world.spark, StreamParams(is_once=True), should_stop=is_over)


def test_versions_alone_protect_where_the_mark_is_behind(world: StreamWorld) -> None:
    """A key's count lies partly above its version: compared event by event."""
    at = minutes_ago(10)
    world.send(click(f"imp-{n}", at) for n in range(20))
    world.run()
    world.lose_checkpoint("live")
    shutil.rmtree(table_uri(world.settings, "stream_marks"))
    world.send(click(f"more-{n}", at) for n in range(20))
    world.run()
    assert world.live() == {key_of(at): 40}


def test_of_copies_in_one_batch_the_lowest_offset_wins(world: StreamWorld) -> None:
    """Spark keeps a partition's order through the shuffle; nothing but this test promises it."""
    at = minutes_ago(30)
    countries = ("US", "CA", "DE", "FR", "JP")
    records = [click(f"imp-{n}", at, country=countries[(n + copy) % 5]) for copy in range(5) for n in range(2_000)]
    world.send(records)
    world.run()
    assert world.live() == {key_of(at, country=country): 400 for country in countries}


def test_batch_cuts_do_not_matter(world: StreamWorld) -> None:
    """Law 4: many small batches count what one large one does, lateness included."""
    records = [
        click(f"imp-{n % 900}", minutes_ago(12 if n % 10 == 9 else 1), device=("mobile", "desktop")[n % 2])
        for n in range(3_000)
    ]
    world.send(records)
    small = StreamWorld.sized(world, max_batch_events=1_000)
    receipt = small.run()
    assert receipt.live_looked_at_count == 3_000
    small.assert_live_equals_oracle()
    assert small.rows("late_clicks")


def test_clicks_of_a_sealed_hour_go_to_late_clicks(world: StreamWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = (minutes_ago(0) - timedelta(hours=5)).replace(minute=0, second=0, microsecond=0)
    world.seal_for_test(sealed)
    inside, before, after = sealed, sealed - timedelta(microseconds=1), sealed + timedelta(hours=1)
    world.send([click("in", inside), click("before", before), click("after", after)])
    world.run()
    assert [(row["reason"], row["clicked_at"].astimezone(UTC)) for row in world.rows("late_clicks")] == [
        ("hour_sealed", inside)
    ]
    assert set(world.live()) == {key_of(before), key_of(after)}


def test_a_recreated_topic_halts_and_goes_on_as_a_new_log_when_accepted(world: StreamWorld) -> None:
    """A3: offsets of the new topic are below those of the old, and count all the same."""
    world.send(click(f"imp-{n}", minutes_ago(30)) for n in range(40))
    world.run()
    world.recreate_topic()
    world.send(click(f"new-{n}", minutes_ago(30)) for n in range(10))
    with pytest.raises(TallystickError, match="has id"):
        world.run()
    assert total(world) == 40
    receipt = world.run(accepts_new_log=True)
    assert receipt.log == 2
    assert total(world) == 50
    assert len(world.positions("raw_clicks")) == 50


def test_partitions_added_lose_and_double_nothing(world: StreamWorld) -> None:
    """A4: keys move; a copy in another partition is still a copy."""
    clicks = [click(f"imp-{n}", minutes_ago(30)) for n in range(40)]
    world.send(clicks)
    world.run()
    world.add_partitions(world.settings.clicks_partitions * 2)
    world.send([*clicks, *(click(f"new-{n}", minutes_ago(30)) for n in range(40))])
    world.run()
    assert total(world) == 80
    assert len(world.positions("raw_clicks")) == 120


def test_records_removed_before_they_were_read_halt_the_stream(world: StreamWorld) -> None:
    """A6: a loss is never passed over."""
    world.send(click(f"imp-{n}", minutes_ago(30)) for n in range(20))
    world.run()
    world.send(click(f"lost-{n}", minutes_ago(30)) for n in range(40))
    world.delete_all_records()
    with pytest.raises(TallystickError):
        world.run()


def test_gaps_of_transaction_markers_are_no_loss(world: StreamWorld) -> None:
    """A5."""
    world.send_in_transaction([click("imp-1", minutes_ago(30))])
    world.send_in_transaction([click("imp-2", minutes_ago(30))])
    world.run()
    assert total(world) == 2


def test_a_checkpoint_without_metadata_fails_loudly(world: StreamWorld) -> None:
    """L15."""
    world.send([click("imp-1", minutes_ago(30))])
    world.run()
    (Path(checkpoint_path(world.settings, 1, "live")) / "metadata").unlink()
    world.send([click("imp-2", minutes_ago(30))])
    with pytest.raises(TallystickError, match="live query ended"):
        world.run()
    world.lose_checkpoint("live")
    world.run()
    assert total(world) == 2


def test_rows_that_spark_drops_as_too_old_halt_the_query() -> None:
    """L11: Spark's own counter of dropped rows is not silence here."""
    with pytest.raises(IntegrityError, match="dropped 2 rows"):
        refuse_dropped_rows("live", {"batchId": 7, "stateOperators": [{"numRowsDroppedByWatermark": 2}]})
    refuse_dropped_rows("live", {"batchId": 7, "stateOperators": [{"numRowsDroppedByWatermark": 0}]})


def test_one_merge_a_batch_reads_the_source_once(world: StreamWorld) -> None:
    """L14, D3, D7, D11: one commit, whose predicate names the batch's hour and minutes."""
    world.send(click(f"imp-{n}", minutes_ago(30)) for n in range(50))
    table = DeltaTable(table_uri(world.settings, "live_clicks_minute"))
    before = table.version()
    world.run()
    table.update_incremental()
    assert table.version() == before + 1
    (commit,) = table.history(1)
    predicate = commit["operationParameters"]["predicate"]
    assert "click_hour" in predicate
    assert "minute" in predicate
