"""Each click that live has and final has not, and the reverse, with its cause; totals are those of table drift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from domain.buckets import DAY, MINUTE, hour_of
from domain.buckets import HOUR as ONE_HOUR
from domain.counting import LoggedEvent, count_key, final_outcomes, live_counts
from domain.errors import UsageError
from domain.identity import LogPosition
from domain.verdicts import ClickTarget, FraudVerdict
from quality.live_differences import HourDifferences, live_differences
from tests.support.live_world import archive_identities, compare, count_live, position, write_live
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world

Line = tuple[int, str, str, object]
SECOND = timedelta(seconds=1)


def _fraud(number: int, impression_id: str, ad_id: int = 1) -> FraudVerdict:
    return FraudVerdict(f"file-{number}", ClickTarget(impression_id, ad_id), "fraud", "bot", HOUR)


def _lines(found: HourDifferences) -> list[Line]:
    """Offset, side, cause, evidence."""
    return [(one.position.offset, one.side, one.cause, one.verdict_id or one.other) for one in found.clicks]


def _settle(world: SealedWorld) -> HourDifferences:
    (seal,) = world.seal(HOUR)
    world.publish()
    compare(world, seal)
    found = live_differences(world.settings, HOUR)
    assert [total.disagreement for total in found.totals if total.disagreement] == []
    return found


def _same(world: SealedWorld) -> None:
    world.archive([logged(0, HOUR), logged(1, HOUR, impression_id="imp-0-0"), logged(2, HOUR, kind="head")])
    count_live(world)


def _late(world: SealedWorld) -> None:
    """Offset 1 was clicked 320 seconds before offset 0; its copy, offset 2, does not stand in for it. Offset 3, of the
    same minute, is in time.
    """
    newest = HOUR + 15 * MINUTE + 20 * SECOND
    world.archive(
        [
            logged(0, newest),
            logged(1, HOUR + 10 * MINUTE, logged_at=newest + MINUTE),
            logged(2, newest + MINUTE, impression_id="imp-0-1", logged_at=newest + 2 * MINUTE),
            logged(3, HOUR + 10 * MINUTE + 50 * SECOND, logged_at=newest + 3 * MINUTE),
        ]
    )
    count_live(world)


def _hour_sealed(world: SealedWorld) -> None:
    world.archive([logged(0, HOUR)])
    count_live(world, sealed_hours=[HOUR])


def _horizon(world: SealedWorld) -> None:
    """Offset 1 lies 25 hours after its first copy, offset 3 exactly 24 after its own; the copy of 2 is within both."""
    before = HOUR - 25 * ONE_HOUR
    world.archive(
        [
            logged(0, before),
            logged(1, before + ONE_HOUR, impression_id="b"),
            logged(2, HOUR, impression_id="imp-0-0"),
            logged(3, HOUR, impression_id="b", logged_at=before + 25 * ONE_HOUR + SECOND),
            logged(4, HOUR + MINUTE, impression_id="imp-0-0"),
        ]
    )
    count_live(world)


def _judged(world: SealedWorld) -> None:
    world.archive([logged(0, HOUR), logged(1, HOUR, impression_id="imp-0-0"), logged(2, HOUR)])
    count_live(world)
    world.judge_fraud(_fraud(1, "imp-0-0"))


def _winner(world: SealedWorld) -> None:
    """The copies of one click stand in two partitions; live met the later one first, which says another country."""
    first = logged(0, HOUR, impression_id="a")
    later = logged(7, HOUR + SECOND, 1, impression_id="a", country="CA")
    other = logged(1, HOUR + MINUTE)
    world.archive([first, other, later])
    count_live(world)
    world.tamper("live_clicks_minute", lambda _: None)
    write_live(world, {count_key(later.event): 1, count_key(other.event): 1}, [later, other])


def _winner_in_a_shared_row(world: SealedWorld) -> None:
    """The same, and live has counted another click after the winner in the winner's own row, and another one."""
    first = logged(0, HOUR, impression_id="a")
    beside, conflicting = logged(1, HOUR), logged(8, HOUR, 1, country="CA")
    later = logged(7, HOUR + SECOND, 1, impression_id="a", country="CA")
    world.archive([first, beside, later, conflicting])
    count_live(world)
    world.tamper("live_clicks_minute", lambda _: None)
    write_live(world, {count_key(first.event): 1, count_key(later.event): 2}, [beside, later, conflicting])


def _unseen(world: SealedWorld) -> None:
    """Live has not come to offset 1 when the hour is compared."""
    world.archive([logged(0, HOUR), logged(1, HOUR)])
    count_live(world, unseen=[1])


CASES: dict[str, tuple[Callable[[SealedWorld], None], list[Line]]] = {
    "nothing: a duplicate and a HEAD are in neither": (_same, []),
    "L11: refused as late": (_late, [(1, "final", "late", None)]),
    "the hour was sealed when it came": (_hour_sealed, [(0, "final", "hour_sealed", None)]),
    "L4: beyond the live horizon": (_horizon, [(2, "live", "dedup_horizon", position(0))]),
    "fraud, with its verdict": (_judged, [(0, "live", "fraud", "file-1")]),
    "L6: live counted another copy": (
        _winner,
        [(0, "final", "winner", position(7, 1)), (7, "live", "winner", position(0))],
    ),
    "L6: in rows that hold others too": (
        _winner_in_a_shared_row,
        [(0, "final", "winner", position(7, 1)), (7, "live", "winner", position(0))],
    ),
    "beyond what live has counted": (_unseen, [(1, "final", "missing", None)]),
}


@pytest.mark.parametrize(("happen", "expected"), CASES.values(), ids=CASES)
def test_causes(tmp_path: Path, happen: Callable[[SealedWorld], None], expected: list[Line]) -> None:
    world = sealed_world(tmp_path)
    happen(world)
    found = _settle(world)
    assert _lines(found) == expected
    assert found.keys == ()


def test_a_click_beyond_the_cut_that_live_has_is_a_late_arrival(tmp_path: Path) -> None:
    """Law 7: it waits for a revision, and is not told to be without a cause."""
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR)])
    count_live(world)
    (seal,) = world.seal(HOUR, cut={"1:0": 1})
    world.publish()
    compare(world, seal)
    assert _lines(live_differences(world.settings, HOUR)) == [(1, "live", "late_arrival", None)]


def test_what_cannot_be_told_by_click_is_told_by_key(tmp_path: Path) -> None:
    """F4: live has a row too many and one too few, and nobody knows by which clicks."""
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR), logged(2, HOUR + MINUTE)])
    keys = [count_key(one.event) for one in (world.log[0], world.log[2])]
    stale = keys[0]._replace(ad_id=5)
    write_live(world, {keys[0]: 1, keys[1]: 4, stale: 2}, world.log)
    found = _settle(world)
    assert found.clicks == ()
    told = [(one.key, one.side, one.cause, one.clicks) for one in found.keys]
    assert told == [
        (keys[0], "final", "missing", 1),
        (keys[1], "live", "extra", 3),
        (stale, "live", "extra", 2),
    ]
    assert [total.listed_clicks for total in found.totals] == [4]


def test_a_copy_too_many_whose_winner_live_counted_as_well_is_no_pair(tmp_path: Path) -> None:
    """Live counted both copies: one is extra, and nothing is missing."""
    world = sealed_world(tmp_path)
    copies = [logged(0, HOUR, impression_id="a"), logged(1, HOUR, impression_id="a", country="CA")]
    world.archive(copies)
    write_live(world, {count_key(one.event): 1 for one in copies}, copies)
    archive_identities(world)
    found = _settle(world)
    assert (found.clicks, [(one.cause, one.key.country) for one in found.keys]) == ((), [("extra", "CA")])


def test_an_advertiser_s_differences_are_its_own(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR, ad_id=2, advertiser_id=20)])
    count_live(world, unseen=[0, 1])
    everybody = _settle(world)
    assert [one.position.offset for one in everybody.clicks] == [0, 1]
    found = live_differences(world.settings, HOUR, advertiser_id=20)
    assert _lines(found) == [(1, "final", "missing", None)]
    assert [total.advertiser_id for total in found.totals] == [20]


def test_totals_that_drift_does_not_confirm_are_named(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR)])
    count_live(world, unseen=[1])
    _settle(world)
    world.tamper("drift", lambda row: row | {"live_clicks": 2})
    (total,) = live_differences(world.settings, HOUR).totals
    assert total.disagreement == (
        "advertiser 10: live is 1, table drift says 2; the difference that is listed is -1, table drift says 0"
    )


def test_a_revision_is_compared_by_its_own_seal(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    count_live(world)
    _settle(world)
    world.judge_fraud(_fraud(1, "imp-0-0"))
    (revision,) = world.seal(HOUR)
    assert live_differences(world.settings, HOUR).clicks == ()
    world.publish()
    compare(world, revision)
    found = live_differences(world.settings, HOUR)
    assert _lines(found) == [(0, "live", "fraud", "file-1")]
    assert found.seal == revision


def test_an_hour_that_is_not_final_has_none(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    world.seal(HOUR)
    with pytest.raises(UsageError, match="hour 2026-11-30T09:00:00Z is not final"):
        live_differences(world.settings, HOUR)


@pytest.mark.parametrize("seed", range(3))
def test_sets_are_those_of_the_oracle(tmp_path: Path, seed: int) -> None:
    """Random logs: copies up to eight days apart in two partitions, late clicks, verdicts, two advertisers."""
    random = Random(seed)
    world = sealed_world(tmp_path)
    world.archive(_random_log(random))
    count_live(world)
    for number in range(2):
        world.judge_fraud(_fraud(number, f"i{random.randrange(12)}", random.randint(1, 2)))
    found = _settle(world)
    live, final = _oracle_sets(world)
    assert live != final
    assert {one.position for one in found.clicks if one.side == "live"} == live - final
    assert {one.position for one in found.clicks if one.side == "final"} == final - live
    assert found.keys == ()


def _random_log(random: Random) -> list[LoggedEvent]:
    log = []
    times = sorted(
        random.choice((HOUR - 8 * DAY, HOUR - DAY, HOUR)) + random.randrange(3_600) * SECOND for _ in "x" * 60
    )
    for offset, at in enumerate(times):
        ad = random.randint(1, 2)
        event = logged(
            offset,
            at - random.choice((0, 0, 0, 600)) * SECOND,
            random.randint(0, 1),
            impression_id=f"i{random.randrange(12)}",
            ad_id=ad,
            advertiser_id=10 * ad,
            country=random.choice(("US", "CA")),
            kind=random.choice(("click", "click", "click", "head")),
            logged_at=at + SECOND,
        )
        log.append(replace(event, logged_at=at + SECOND))
    return log


def _oracle_sets(world: SealedWorld) -> tuple[set[LogPosition], set[LogPosition]]:
    settings = world.settings
    late = live_counts(world.log, settings.live_horizon, settings.late_bound).late
    first = final_outcomes(world.log, settings.live_horizon)
    final = world.outcomes(HOUR, world.end_offsets())
    return (
        {
            one.position
            for one in first
            if one.is_billable and one.position not in late and hour_of(one.event.clicked_at) == HOUR
        },
        {one.position for one in final if one.is_billable},
    )
