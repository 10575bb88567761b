"""What is to be done with an hour, and why it cannot be sealed yet. No JVM."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest

from clicklog.watermarks import Watermark
from domain.buckets import HOUR
from domain.periods import PeriodClose, PeriodClosedError, close_of, parse_period
from domain.retention import Partition
from spark_jobs.planning import plan, receipt_of_waiting
from tests.support.archive_world import NOW, ArchiveWorld, Click, H
from tests.support.ledgers import publication_draft, seal_draft
from warehouse.locks import writer_lock
from warehouse.logs import TopicRecreatedError, register_log
from warehouse.periods import append_close
from warehouse.publications import append_publication
from warehouse.retention_steps import end_step, intend
from warehouse.seals import append_seals

GRACE = timedelta(seconds=300)
MAY = parse_period("2026-05")


@pytest.fixture
def world(tmp_path: Path) -> ArchiveWorld:
    return ArchiveWorld(tmp_path)


def seal(world: ArchiveWorld, **changes: object) -> None:
    append_seals(world.settings, [seal_draft(hour=H, **changes)], len(world.seals()), NOW)


def reasons(world: ArchiveWorld) -> tuple[str, ...]:
    (one,) = world.plan()
    assert (one.action == "blocked") == bool(one.reasons)
    return one.reasons


def test_loads_no_spark() -> None:
    """`tallystick status` shows the plan within a second."""
    code = "import sys, spark_jobs.planning, spark_jobs.params; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_archived_hour_is_sealed_up_to_the_ends_of_the_log(world: ArchiveWorld) -> None:
    world.archive([Click("a"), Click("b", partition=1), Click("c", kind="head"), Click("d", 90)])
    world.quarantine(1)
    (one,) = world.plan()
    assert (one.action, one.cut, one.reasons) == ("seal", {"1:0": 3, "1:1": 2}, ())


def test_an_hour_without_any_click_is_sealed(world: ArchiveWorld) -> None:
    assert world.plan()[0].action == "seal"


def test_an_hour_waits_until_its_grace_is_over(world: ArchiveWorld) -> None:
    """Also one in the future: nobody can seal what has not happened."""
    due_at = H + HOUR + GRACE
    early, due = (world.plan(now=now)[0] for now in (due_at - timedelta(microseconds=1), due_at))
    assert (early.action, due.action) == ("blocked", "seal")
    assert early.reasons == ("ends at 2026-05-04T11:00:00Z, grace until 2026-05-04T11:05:00Z",)
    assert world.plan(H + 24 * HOUR, now=H)[0].action == "blocked"


def test_an_hour_waits_for_each_click_server(world: ArchiveWorld) -> None:
    """Law 7: a click that a server accepted and the log does not hold yet may belong to the hour."""
    behind = Watermark("edge-2", H + HOUR - timedelta(seconds=1), False, H + HOUR)
    world.log.watermarks = {"edge-1": Watermark("edge-1", H + HOUR, False, H + HOUR), "edge-2": behind}
    (reason,) = reasons(world)
    assert reason.startswith("click server edge-2 has not reported past 2026-05-04T11:00:00Z")
    world.log.watermarks["edge-2"] = replace(behind, is_closing=True)
    assert reasons(world) == ()


def test_an_hour_waits_for_the_archive(world: ArchiveWorld) -> None:
    """Law 7, F1: records that nobody has looked at may belong to any hour."""
    world.archive([Click("a"), Click("b", partition=1)])
    world.log_only([Click("c", partition=1)])
    assert reasons(world) == ("waits for the archive: partition 1 is at 1, the log ends at 2",)


def test_an_hour_waits_where_nothing_was_ever_archived(tmp_path: Path) -> None:
    """An empty archive of an empty log looks complete, and proves nothing."""
    world = ArchiveWorld(tmp_path, clicks_topic="another")
    world.settings = replace(world.settings, clicks_topic="clicks")
    assert reasons(world) == ("waits for the archive: it has never run, no log is registered",)


def test_a_hole_is_named(world: ArchiveWorld) -> None:
    """F1, A11: a file of one partition went missing; the archive's mark says it was looked at."""
    world.archive([Click("a")])
    world.archive([Click("b", partition=1), Click("c", partition=1)], without=["raw_clicks", "click_identities"])
    world.archive([Click("d", partition=1)])
    assert reasons(world) == (
        "the archive has a hole: partition 1 lacks offsets 0 to 1, which the log does not explain",
    )


def test_a_gap_that_the_log_explains_is_no_hole(world: ArchiveWorld) -> None:
    """A5: transaction markers and compaction leave offsets without records."""
    world.archive([Click("a")])
    world.archive([Click("marker")], without=["raw_clicks", "click_identities"])
    world.archive([Click("b")])
    world.log.explained.add((0, 1, 2))
    assert reasons(world) == ()


def test_what_was_deleted_before_the_log_was_registered_is_no_hole(tmp_path: Path) -> None:
    world = ArchiveWorld(tmp_path, clicks_topic="older")
    world.log_number = register_log(world.settings, "young", "id", {0: 7, 1: 0}, H)
    world.settings = replace(world.settings, clicks_topic="young")
    world.log.topic_id, world.log.ends = "id", {0: 7, 1: 0}
    assert reasons(world) == ()
    world.archive([Click("a")])
    assert (reasons(world), world.plan()[0].cut) == ((), {"2:0": 8, "2:1": 0})


def test_a_new_partition_is_read_from_its_beginning(world: ArchiveWorld) -> None:
    """A4: the partition count was raised; what the new one holds must be archived too."""
    world.archive([Click("a", partition=2)], without=["raw_clicks", "click_identities"])
    assert reasons(world) == (
        "the archive has a hole: partition 2 lacks offsets 0 to 0, which the log does not explain",
    )


def test_a_record_that_was_archived_twice_blocks(world: ArchiveWorld) -> None:
    world.archive([Click("a")])
    world.write_rows("raw_clicks", world.rows("raw_clicks"))
    assert reasons(world) == ("the archive holds log 1 partition 0 offset 0 twice",)


def test_a_click_without_its_identity_blocks(world: ArchiveWorld) -> None:
    """A look-back would not find it, and a later copy would be billed."""
    world.archive([Click("a"), Click("b", kind="head")], without=["click_identities"])
    assert reasons(world) == ("click_identities lacks log 1 partition 0 offset 0, which raw_clicks holds",)


def test_only_what_no_seal_has_looked_at_is_looked_at(world: ArchiveWorld) -> None:
    world.archive([Click("a")], without=["raw_clicks", "click_identities"])
    seal(world, cut={"1:0": 1, "1:1": 0})
    world.archive([Click("b", 70)])
    assert world.plan(H + HOUR)[0].action == "seal"
    world.archive([Click("c", 71)], without=["raw_clicks", "click_identities"])
    assert world.plan(H + HOUR)[0].reasons == (
        "the archive has a hole: partition 0 lacks offsets 2 to 2, which the log does not explain",
    )


def test_a_recreated_topic_is_refused_until_it_is_accepted(world: ArchiveWorld) -> None:
    """A3."""
    world.archive([Click("a")])
    world.log.topic_id = "another"
    with pytest.raises(TopicRecreatedError):
        world.plan()
    world.log_number = register_log(world.settings, "clicks", "another", {0: 0, 1: 0}, NOW, accept_new=True)
    world.log.ends = {0: 0, 1: 0}
    world.archive([Click("b", partition=1)])
    (one,) = world.plan()
    assert (one.action, one.cut) == ("seal", {"1:0": 1, "1:1": 0, "2:0": 0, "2:1": 1})


def test_a_hole_in_a_log_that_is_gone_is_named(world: ArchiveWorld) -> None:
    world.archive([Click("a")], without=["raw_clicks", "click_identities"])
    world.log.topic_id, world.log.ends = "another", {0: 0, 1: 0}
    register_log(world.settings, "clicks", "another", {0: 0, 1: 0}, NOW, accept_new=True)
    (reason,) = reasons(world)
    assert reason.startswith("the archive has a hole: log 1 partition 0 lacks offsets 0 to 0, and its topic is gone")


def test_a_sealed_hour_is_published_then_verified(world: ArchiveWorld) -> None:
    seal(world, cut={"1:0": 0, "1:1": 0})
    (one,) = world.plan()
    assert (one.action, one.seal_number) == ("publish", 1)
    append_publication(world.settings, publication_draft(1), 0, NOW)
    (one,) = world.plan()
    assert (one.action, one.cut) == ("verify", {"1:0": 0, "1:1": 0})


@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize("is_revising", [True, False])
@pytest.mark.parametrize(("days_before", "is_lost"), [(0, True), (8, True), (9, False)])
def test_a_sealed_hour_whose_raw_retention_deleted_is_not_counted_again(
    world: ArchiveWorld, days_before: int, is_lost: bool, is_revising: bool, is_ended: bool
) -> None:
    """F7: no contradiction. What it looks back at went, or its own clicks; by a step that has ended or that has not."""
    world.archive([Click("a")])
    seal(world, cut={"1:0": 1, "1:1": 0})
    append_publication(world.settings, publication_draft(1), 0, NOW)
    if not days_before:
        world.delete_rows("raw_clicks", f"click_date = DATE '{H.date()}'")
    gone = H - timedelta(days=days_before)
    said = {"row_count": 1, "file_bytes": 1, "policy": "400 days", "actor": "ada", "at": NOW}
    step = intend(world.settings, "raw_clicks", [Partition(gone.date(), gone.hour)], **said)
    if is_ended:
        end_step(world.settings, step, "done", NOW)
    (one,) = world.plan(is_revising=is_revising)
    if is_lost:
        why = "no longer verifiable: its raw clicks were deleted by retention"
        assert (one.action, one.reasons, one.seal_number) == ("blocked", (why,), 1)
    else:
        assert (one.action, one.reasons) == ("revise" if is_revising else "verify", ())


def test_a_sealed_hour_does_not_ask_the_log(world: ArchiveWorld) -> None:
    """A verification works without a broker."""
    seal(world)
    world.log.topic_id = "whatever"
    assert world.plan()[0].action == "publish"


def test_a_long_range_goes_on_where_it_was_left(world: ArchiveWorld) -> None:
    """O8, F8: days of hours, of which a run that was killed had published some and only sealed others, in any order."""
    drafts = [seal_draft(hour=H + HOUR * number, attempt=f"a-{number}") for number in (40, 0, 1, 2, 50)]
    append_seals(world.settings, drafts, 0, NOW)
    append_publication(world.settings, publication_draft(4, final_until=H + 3 * HOUR), 0, NOW)
    plans = world.plan(count=72, now=H + 100 * HOUR)
    done = {number: plans[number].action for number in (0, 1, 2, 40, 50)}
    assert done == {0: "verify", 1: "verify", 2: "verify", 40: "verify", 50: "publish"}
    left = [one for number, one in enumerate(plans) if number not in done]
    assert {one.action for one in left} == {"seal"}
    assert [one.hour for one in plans] == [H + HOUR * number for number in range(72)]
    append_seals(world.settings, [seal_draft(hour=one.hour, attempt="b") for one in reversed(left)], 5, NOW)
    assert {one.action for one in world.plan(count=72, now=H + 100 * HOUR)} == {"verify", "publish"}


def test_late_arrivals_of_a_sealed_hour_are_counted(world: ArchiveWorld) -> None:
    world.archive([Click("a"), Click("b", 61)])
    seal(world, cut={"1:0": 2, "1:1": 0})
    world.archive([Click("late", 5, logged=90), Click("too", 6, logged=91, partition=1), Click("other", 92)])
    assert world.plan()[0].late_arrival_count == 2


def test_a_running_archive_is_waited_for(world: ArchiveWorld) -> None:
    """It is always a batch behind the log. One that does not run is not waited for."""
    world.log_only([Click("a")])
    started = time.monotonic()
    assert plan(world.settings, [H], NOW, world.log, archive_wait_seconds=60)[0].action == "blocked"
    assert time.monotonic() - started < 30
    catching_up = Thread(target=archive_soon, args=(world,))
    with writer_lock(world.settings, "stream"):
        catching_up.start()
        (one,) = plan(world.settings, [H], NOW, world.log, archive_wait_seconds=60)
    catching_up.join()
    assert one.reasons == ("the archive has a hole: partition 0 lacks offsets 0 to 0, which the log does not explain",)


def archive_soon(world: ArchiveWorld) -> None:
    """The mark moves while the plan waits; that nothing was archived is then seen."""
    time.sleep(0.7)
    world.mark()


def test_a_receipt_of_waiting_says_why(world: ArchiveWorld) -> None:
    plans = world.plan(now=H)
    receipt = receipt_of_waiting(world.settings, plans)
    assert receipt.is_all_blocked
    assert receipt.hours[0].reasons == plans[0].reasons
    assert receipt.final_until is None


def test_no_hour_of_a_closed_period_is_sealed(world: ArchiveWorld) -> None:
    """Nor one before it; a sealed hour again is a verification still, and the month after goes on."""
    close = PeriodClose(
        period=MAY, closed_at=NOW, actor="ada", last_seal_number=1, root_digest="", billable_clicks=7, hour_count=744
    )
    append_close(world.settings, close, 0)
    plans = [world.plan(at, now=NOW + 40 * 24 * HOUR)[0] for at in (MAY.start - HOUR, H, MAY.end - HOUR, MAY.end)]
    assert [one.action for one in plans] == ["blocked", "blocked", "blocked", "seal"]
    closed = "period 2026-05 is closed: a difference becomes an adjustment, see docs/periods.md"
    before = "period 2026-04 lies before the first closed one, and nothing before closed_until changes"
    assert [one.reasons for one in plans] == [(before,), (closed,), (closed,), ()]


def test_a_sealed_hour_of_a_closed_period_is_verified(world: ArchiveWorld) -> None:
    seal(world)
    append_publication(world.settings, publication_draft(1), 0, NOW)
    close = close_of(MAY, world.seals(), "ada", NOW)
    append_close(world.settings, close, 0)
    assert world.plan()[0].action == "verify"


def test_a_sealed_hour_is_revised_up_to_the_ends_of_today(world: ArchiveWorld) -> None:
    """By the gate of an unsealed one, published or not; an unsealed one of the range is sealed."""
    world.archive([Click("a"), Click("b", partition=1)])
    seal(world, cut={"1:0": 1, "1:1": 1})
    world.archive([Click("late", 5, logged=90)])
    first, second = world.plan(count=2, is_revising=True)
    assert (first.action, first.cut, first.seal_number, first.late_arrival_count) == (
        "revise",
        {"1:0": 2, "1:1": 1},
        1,
        1,
    )
    assert (second.action, second.cut) == ("seal", {"1:0": 2, "1:1": 1})


def test_a_revision_waits_as_a_first_seal_does(world: ArchiveWorld) -> None:
    """Law 7: what the archive has not looked at may belong to it."""
    world.archive([Click("a")])
    seal(world, cut={"1:0": 1, "1:1": 0})
    world.log_only([Click("late", 5, logged=90)])
    (one,) = world.plan(is_revising=True)
    assert (one.action, one.seal_number) == ("blocked", 1)
    assert one.reasons == ("waits for the archive: partition 0 is at 1, the log ends at 2",)


def test_a_revision_never_reads_less_than_its_seal(world: ArchiveWorld) -> None:
    world.archive([Click("a"), Click("b", partition=1)])
    seal(world, cut={"1:0": 1, "1:1": 5, "9:0": 3})
    (one,) = world.plan(is_revising=True)
    assert (one.action, one.reasons) == ("blocked", ("the log ends before the cut of seal 1 in 1:1, 9:0",))


@pytest.mark.parametrize("is_sealed", [True, False])
def test_no_hour_of_a_closed_period_is_revised(world: ArchiveWorld, is_sealed: bool) -> None:
    """Law 10: refused whole, whatever else the range holds; what differs is an adjustment."""
    if is_sealed:
        seal(world)
    close = PeriodClose(
        period=MAY, closed_at=NOW, actor="ada", last_seal_number=1, root_digest="", billable_clicks=7, hour_count=744
    )
    append_close(world.settings, close, 0)
    with pytest.raises(PeriodClosedError, match="period 2026-05 is closed"):
        world.plan(is_revising=True)
    with pytest.raises(PeriodClosedError):
        world.plan(MAY.end - HOUR, 2, now=NOW + 40 * 24 * HOUR, is_revising=True)
    (after,) = world.plan(MAY.end, now=NOW + 40 * 24 * HOUR, is_revising=True)
    assert after.action == "seal"
