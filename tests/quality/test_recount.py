"""``verify`` on tables that were left alone, and on tables that somebody changed: it has to say where.

Every way to change something is gathered in ``tests/faults/test_tampering.py``; here is what is said in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from domain.errors import IntegrityError
from domain.identity import LogPosition
from domain.periods import close_of, period_of
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from quality.recount import Verdict, verify
from tests.support.kept_world import EARLY, YEARS_LATER, kept_world
from tests.support.sealed_world import HOUR, Row, SealedWorld, exchanged, logged, sealed_world
from warehouse.layout import table_uri
from warehouse.maintenance import maintain
from warehouse.periods import append_close
from warehouse.seals import read_seals

NEXT_HOUR = HOUR + timedelta(hours=1)
LAST_HOUR = HOUR + timedelta(hours=2)
HOURS = [HOUR, NEXT_HOUR, LAST_HOUR]
KEY = "advertiser 10, campaign 100, ad 1, country US, device mobile"
LEDGERS, FIRST, SECOND, THIRD, DAY = (
    "ledgers",
    "hour 2026-11-30T09:00:00Z",
    "hour 2026-11-30T10:00:00Z",
    "hour 2026-11-30T11:00:00Z",
    "day 2026-11-30",
)


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """Three sealed, published hours: 4 clicks of which one is a duplicate and one a head; 1 click; none."""
    world = sealed_world(tmp_path)
    world.archive(
        [
            logged(0, HOUR),
            logged(1, HOUR + timedelta(minutes=1)),
            logged(2, HOUR + timedelta(minutes=2), impression_id="imp-0-0"),
            logged(3, HOUR, kind="head"),
            logged(4, NEXT_HOUR),
        ]
    )
    world.seal(HOUR)
    world.seal(NEXT_HOUR, LAST_HOUR)
    world.publish()
    return world


def differences(world: SealedWorld, kept_head: str | None = None) -> dict[str, tuple[str, ...]]:
    """Subject -> differences, of those that differ."""
    verdicts = list(verify(world.settings, HOURS, kept_head))
    assert [verdict.subject for verdict in verdicts] == [LEDGERS, FIRST, SECOND, THIRD, DAY]
    return {verdict.subject: verdict.differences for verdict in verdicts if not verdict.is_agreeing}


def of_hours(settings: Settings, *hours: datetime) -> list[Verdict]:
    """The verdicts on these hours alone."""
    return [verdict for verdict in verify(settings, hours) if verdict.hour is not None]


def at_offset(offset: int, change: Callable[[Row], Row | None]) -> Callable[[Row], Row | None]:
    return lambda row: change(row) if row["offset"] == offset else row


def test_what_was_left_alone_agrees(world: SealedWorld) -> None:
    """Law 11. An hour without clicks is verified as well."""
    head = read_seals(world.settings)[-1].hash
    assert list(verify(world.settings, HOURS, head)) == [
        Verdict(LEDGERS, f"3 seals, 1 publications, head {head}"),
        Verdict(FIRST, "seal 1: 4 raw = 2 billable + 1 duplicate + 1 head", hour=HOUR),
        Verdict(SECOND, "seal 2: 1 raw = 1 billable", hour=NEXT_HOUR),
        Verdict(THIRD, "seal 3: 0 raw = 0 billable", hour=LAST_HOUR),
        Verdict(DAY, "published day = sum of its hours"),
    ]


def test_a_count_changed_in_final_is_named_by_key(world: SealedWorld) -> None:
    world.tamper("final_clicks_minute", lambda row: row | {"clicks": 7} if row["minute"] == HOUR else row)
    assert differences(world) == {
        FIRST: (
            f"minute 2026-11-30T09:00:00Z, {KEY}: published 7, recounted 1",
            f"{KEY}: hour 2026-11-30T09:00:00Z has 2 clicks, its minutes add up to 8",
        )
    }


def test_a_raw_row_deleted_is_missed(world: SealedWorld) -> None:
    seal = read_seals(world.settings)[0]
    DeltaTable(table_uri(world.settings, "raw_clicks")).delete('"offset" = 1')
    (found,) = differences(world)[FIRST][2:3]
    assert differences(world) == {
        FIRST: (
            "seal 1: 4 raw clicks sealed, 3 recounted",
            "seal 1: 2 billable clicks sealed, 1 recounted",
            found,
            f"minute 2026-11-30T09:01:00Z, {KEY}: published 1, recounted 0",
        )
    }
    assert found.startswith(f"seal 1: digest {seal.digest} sealed, ")


def test_a_deleted_first_copy_makes_its_duplicate_billable(world: SealedWorld) -> None:
    """Same number of billable clicks, another set: the digest and the keys tell."""
    DeltaTable(table_uri(world.settings, "raw_clicks")).delete('"offset" = 0')
    found = differences(world)
    assert found.keys() == {FIRST}
    assert found[FIRST][:2] == (
        "seal 1: 4 raw clicks sealed, 3 recounted",
        "seal 1: 1 clicks excluded as duplicate sealed, 0 recounted",
    )
    assert found[FIRST][3:] == (
        f"minute 2026-11-30T09:00:00Z, {KEY}: published 1, recounted 0",
        f"minute 2026-11-30T09:02:00Z, {KEY}: published 0, recounted 1",
    )


@pytest.mark.parametrize(
    ("old", "new", "column", "is_counted"),
    [
        pytest.param(b'"campaign_id": 100', b'"campaign_id": 101', "campaign_id", True, id="campaign"),
        pytest.param(b'"imp-0-1"', b'"imp-0-9"', "impression_id", True, id="impression"),
        pytest.param(b"Mozilla/5.0", b"Mozilla/6.0", "user_agent", False, id="user-agent"),
        pytest.param(b'"edge-1"', b'"edge-2"', "server_id", False, id="server"),
    ],
)
def test_a_changed_payload_is_named_by_its_place(
    world: SealedWorld, old: bytes, new: bytes, column: str, is_counted: bool
) -> None:
    world.tamper("raw_clicks", at_offset(1, exchanged("payload", old, new)))
    found = differences(world)
    assert found.keys() == {FIRST}
    assert found[FIRST][0] == f"raw row 1:0:1: its payload says something else than its {column}"
    assert any("digest" in line for line in found[FIRST][1:]) is is_counted


def test_a_position_moved_by_the_log_breaks_the_digest(world: SealedWorld) -> None:
    """The digest covers where a click stands, so a row cannot be taken for another one."""
    world.tamper("raw_clicks", at_offset(4, lambda row: row | {"offset": 2}))
    assert differences(world)[SECOND][0].startswith("seal 2: digest ")


def test_a_tail_cut_off_is_seen_by_the_publication_and_by_a_head_kept_elsewhere(world: SealedWorld) -> None:
    """F6: the chain that is left holds; what was kept elsewhere and what was published do not fit it."""
    head = read_seals(world.settings)[-1].hash
    world.tamper("seals", lambda row: None if row["seal_number"] > 1 else row)
    found = differences(world, head)
    assert found[LEDGERS] == (
        f"no seal has the kept head {head}: the tail was cut off or the chain written anew",
        "publication 1 shows seals up to 3, there are 1",
        "publication 1 says final until 2026-11-30T12:00:00Z, its seals say 2026-11-30T10:00:00Z",
    )
    assert found[SECOND] == ("figures of it are published, though no seal of it is",)
    assert THIRD not in found


def test_an_older_head_is_still_there(world: SealedWorld) -> None:
    """F6: a head kept after the first seal is found below the newer ones."""
    assert differences(world, read_seals(world.settings)[0].hash) == {}


def test_a_seal_that_was_changed_is_named(world: SealedWorld) -> None:
    """Somebody raises a count and its hash is left as it was."""
    world.tamper(
        "seals",
        lambda row: row | {"raw_clicks": 5, "billable_clicks": 3} if row["seal_number"] == 1 else row,
    )
    assert differences(world) == {
        LEDGERS: ("seal 1: its columns do not have its hash, they were changed",),
        FIRST: ("seal 1: 5 raw clicks sealed, 4 recounted", "seal 1: 3 billable clicks sealed, 2 recounted"),
    }


def test_late_arrivals_are_a_note_and_a_revision_takes_them_in(world: SealedWorld) -> None:
    """Law 11 for both revisions: each is recounted at its own cut, the published figures are those of the newer one."""
    world.archive([logged(5, HOUR)])
    (verdict,) = [verdict for verdict in verify(world.settings, [HOUR]) if verdict.subject == FIRST]
    assert verdict.is_agreeing
    assert verdict.notes == ("1 raw clicks came after the cut and wait for a revision",)
    world.seal(HOUR)
    assert differences(world) == {FIRST: ("seal 4 is not published; the published figures are those of seal 1",)}
    world.publish()
    (verdict,) = [verdict for verdict in verify(world.settings, [HOUR]) if verdict.subject == FIRST]
    assert verdict == Verdict(FIRST, "seal 4, revision 1: 5 raw = 3 billable + 1 duplicate + 1 head", hour=HOUR)


def test_an_old_revision_that_does_not_recount_is_named(world: SealedWorld) -> None:
    world.archive([logged(5, HOUR)])
    world.seal(HOUR, digest="f" * 64)
    world.seal(HOUR)
    world.publish()
    (line,) = differences(world)[FIRST]
    assert line.startswith(f"seal 4: digest {'f' * 64} sealed, ")


def test_an_hour_without_a_seal_is_neither_verified_nor_different(world: SealedWorld) -> None:
    after = LAST_HOUR + timedelta(hours=1)
    verdicts = list(verify(world.settings, [after]))
    assert [(one.hour, one.differences, one.is_sealed) for one in verdicts] == [
        (None, (), True),
        (after, (), False),
        (None, (), True),
    ]


def test_nothing_published_yet(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    world.seal(HOUR)
    verdicts = list(verify(world.settings, [HOUR]))
    assert [verdict.differences for verdict in verdicts] == [
        (),
        ("seal 1 is not published; nothing of it is",),
    ]


def test_the_ledgers_may_be_empty(tmp_path: Path) -> None:
    verdicts = list(verify(sealed_world(tmp_path).settings, [HOUR]))
    assert [(verdict.found, verdict.differences) for verdict in verdicts] == [
        ("0 seals, 0 publications, no head", ()),
        ("not sealed", ()),
    ]


def test_another_rule_version_is_not_judged(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    world.seal(HOUR, rule_version=9)
    world.publish()
    (_, hour, _) = verify(world.settings, [HOUR])
    assert hour.differences == ("seal 1 follows rule version 9, this recount knows 1 and 2 only",)


def test_what_was_sealed_by_the_first_rule_is_recounted_by_it(tmp_path: Path) -> None:
    """Law 11: that rule knew no verdicts, whatever set its seal names; by the second, this click would be fraud."""
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR, kind="head"), logged(2, HOUR, impression_id="imp-0-0")])
    world.seal(HOUR, rule_version=1)
    world.publish()
    world.judge_fraud(FraudVerdict("v-1", ClickTarget("imp-0-0", 1), "fraud", "a bot", HOUR))
    world.tamper("seals", lambda row: row | {"verdict_set": 1})
    (_, hour, _) = verify(world.settings, [HOUR])
    assert (hour.found, hour.differences) == ("seal 1: 3 raw = 1 billable + 1 duplicate + 1 head", ())


def test_a_raw_file_that_is_gone_stops_the_hours_that_need_it_and_no_others(world: SealedWorld) -> None:
    """The last hour has to look back on the file; the first one, verified after it, has not."""
    world.archive([logged(5, LAST_HOUR)])
    world.seal(LAST_HOUR)
    world.publish()
    for path in DeltaTable(table_uri(world.settings, "raw_clicks")).file_uris():
        if "click_hour=10" in path:
            Path(path).unlink()
    found = {verdict.subject: verdict.differences for verdict in verify(world.settings, [LAST_HOUR, NEXT_HOUR, HOUR])}
    assert found[FIRST] == ()
    for subject in (SECOND, THIRD):
        (line,) = found[subject]
        assert line.startswith("a file of raw_clicks cannot be read")


def test_a_ledger_that_cannot_be_read_is_named(world: SealedWorld) -> None:
    path = Path(DeltaTable(table_uri(world.settings, "seals")).file_uris()[0])
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(IntegrityError, match="table seals cannot be read"):
        list(verify(world.settings, HOURS))


def test_the_horizon_is_that_of_the_seal(tmp_path: Path) -> None:
    """A copy 2 days apart is billable to a seal that was made with a horizon of 1 day."""
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR - timedelta(days=2)), logged(1, HOUR, impression_id="imp-0-0")])
    world.seal(HOUR, horizon_days=1)
    (_, hour) = verify(world.settings, [HOUR])
    assert "seal 1: 0 billable clicks sealed, 1 recounted" in hour.differences


def test_verdicts_are_those_of_the_seal(world: SealedWorld) -> None:
    """A later set changes nothing that is sealed; a revision takes it in; a set that is gone is named."""
    world.judge_fraud(FraudVerdict("v1", ClickTarget("imp-0-0", 1), "fraud", "a bot", HOUR))
    assert differences(world) == {}
    world.seal(HOUR)
    world.publish()
    found = {verdict.subject: verdict.found for verdict in verify(world.settings, HOURS)}
    assert differences(world) == {}
    assert found[FIRST] == "seal 4, revision 1: 4 raw = 1 billable + 1 duplicate + 1 fraud + 1 head"
    DeltaTable(table_uri(world.settings, "fraud_verdicts")).restore(0)
    assert differences(world)[FIRST][:3] == (
        "seal 4 was counted with verdict set 1, table fraud_verdicts ends at 0",
        "seal 4: 1 billable clicks sealed, 2 recounted",
        "seal 4: 1 clicks excluded as fraud sealed, 0 recounted",
    )


def test_positions_are_as_the_seal_names_them(world: SealedWorld) -> None:
    """A topic that was recreated is another log: its offsets start anew and shadow nothing of the old one."""
    world.archive([logged(0, LAST_HOUR, log=2), logged(0, LAST_HOUR, log=2, partition=1, impression_id="imp-0-0")])
    world.seal(LAST_HOUR)
    world.publish()
    assert differences(world) == {}
    (seal,) = [seal for seal in read_seals(world.settings) if seal.revision == 1]
    assert seal.cut == {"1:0": 5, "2:0": 1, "2:1": 1}
    assert {outcome.winner for outcome in world.outcomes(LAST_HOUR, seal.cut)} == {LogPosition(1, 0, 0)}


def test_a_closed_period_of_the_range_is_recomputed(world: SealedWorld) -> None:
    """Its close says other sums than the three hours that this world has sealed."""
    seals = read_seals(world.settings)
    close = close_of(period_of(HOUR), seals, "ada", HOUR)
    append_close(world.settings, close, 0)
    digest = close.root_digest
    found = {verdict.subject: verdict for verdict in verify(world.settings, HOURS)}["closed period 2026-11"]
    assert found == Verdict("closed period 2026-11", f"3 hours, 3 billable, root digest {digest}")
    world.tamper("period_closes", lambda row: row | {"billable_clicks": 4})
    found = {verdict.subject: verdict for verdict in verify(world.settings, HOURS)}["closed period 2026-11"]
    assert found.differences == ("4 billable clicks closed, 3 found",)
    december = [HOUR + timedelta(days=1)]
    assert "closed period 2026-11" not in {verdict.subject for verdict in verify(world.settings, december)}


def test_hours_whose_raw_was_deleted_by_retention_are_no_longer_verifiable(tmp_path: Path) -> None:
    """F7: not a difference, as long as the step is in its ledger and the figures add up to the seal."""
    world = kept_world(tmp_path)
    settings = replace(world.settings, raw_retention_days=400)
    maintain(settings, "test", lambda: YEARS_LATER)
    after = EARLY + timedelta(days=8)
    later = after + timedelta(hours=2)
    early, looks_back, verified = of_hours(settings, EARLY, after, later)
    lost = "no longer verifiable: raw clicks that it rests on were deleted, their retention was over"
    assert (verified.is_agreeing, verified.is_verifiable) == (True, True)
    assert [(one.found, one.differences, one.is_verifiable) for one in (early, looks_back)] == [(lost, (), False)] * 2


def test_raw_that_went_without_a_step_differs(tmp_path: Path) -> None:
    """Law 11: whoever deletes behind our back leaves no step."""
    world = kept_world(tmp_path)
    DeltaTable(table_uri(world.settings, "raw_clicks")).delete("click_date = DATE '2026-11-03'")
    (early,) = of_hours(world.settings, EARLY)
    assert early.is_verifiable
    assert early.differences[0] == "seal 1: 5 raw clicks sealed, 0 recounted"


def test_minutes_of_an_hour_without_raw_still_have_to_add_up(tmp_path: Path) -> None:
    world = kept_world(tmp_path)
    settings = replace(world.settings, raw_retention_days=400)
    maintain(settings, "test", lambda: YEARS_LATER)
    world.tamper("reconciled_clicks_minute", lambda row: row | {"clicks": 9} if row["minute"] == EARLY else row)
    (early,) = of_hours(settings, EARLY)
    assert early.differences == ("seal 1: 5 billable clicks sealed, its published minutes add up to 9",)


def test_figures_past_their_retention_are_recounted_out_of_the_attempts(tmp_path: Path) -> None:
    """Law 9, F7: minutes and hours are gone from the final tables, raw is kept."""
    world = kept_world(tmp_path)
    maintain(world.settings, "test", lambda: YEARS_LATER)
    assert [verdict.differences for verdict in verify(world.settings, [EARLY, HOUR])] == [()] * 6
    world.tamper("reconciled_clicks_minute", lambda row: row | {"clicks": 9} if row["minute"] == EARLY else row)
    _, _, early, _, day, _ = verify(world.settings, [EARLY, HOUR])
    assert early.differences == (f"minute 2026-11-03T05:00:00Z, {KEY}: published 9, recounted 5",)
    assert day.differences == (f"{KEY}: day 2026-11-03T00:00:00Z has 5 clicks, its hours add up to 9",)
