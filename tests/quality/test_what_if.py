"""What another rule would have billed: equal to the oracle under that rule, and nothing is changed by asking."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.ads import Ad
from domain.buckets import DAY, MINUTE
from domain.buckets import HOUR as AN_HOUR
from domain.counting import Outcome, final_outcomes
from domain.errors import IntegrityError, UsageError
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from quality.what_if import AdvertiserEffect, Change, Effects, Supposition, countable_among, sealed_among, what_if
from tests.support.kept_world import EARLY, YEARS_LATER, kept_world
from tests.support.sealed_world import HORIZON_DAYS, HOUR, SealedWorld, logged, sealed_world, verdict_ids
from warehouse.ads import snapshot_ads
from warehouse.maintenance import maintain

NEXT_HOUR = HOUR + timedelta(hours=1)
OWN, OTHER = 10, 20
BOT = FraudVerdict("v1", ClickTarget("imp-0-0", 1), "fraud", "a bot", HOUR)
LATER_BOT = FraudVerdict("v2", ClickTarget("imp-0-5", 1), "fraud", "a bot", HOUR)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> SealedWorld:
    """For tests that only ask: a copy two days apart, a fraud, a conflicting copy, a head, another advertiser."""
    world = sealed_world(tmp_path_factory.mktemp("home"))
    world.archive(
        [
            logged(0, HOUR - 2 * DAY),
            logged(1, HOUR, impression_id="imp-0-0"),
            logged(2, HOUR + MINUTE, impression_id="imp-0-0", country="CA"),
            logged(3, HOUR, kind="head"),
            logged(4, HOUR + MINUTE, impression_id="imp-0-3"),
            logged(5, NEXT_HOUR),
            logged(6, NEXT_HOUR, advertiser_id=OTHER, ad_id=2),
        ]
    )
    world.judge_fraud(BOT)
    world.seal(HOUR, NEXT_HOUR)
    world.archive([logged(7, NEXT_HOUR)])
    world.publish()
    return world


@pytest.fixture
def own_world(world: SealedWorld, tmp_path: Path) -> SealedWorld:
    """A copy, for a test that changes something."""
    shutil.copytree(world.settings.home, tmp_path / "home")
    return SealedWorld(Settings(home=tmp_path / "home"), list(world.log))


def effects(world: SealedWorld, supposition: Supposition) -> Effects:
    found = Effects()
    for effect in what_if(world.settings, sealed_among(world.settings, [HOUR, NEXT_HOUR]), supposition):
        found.add(effect)
    return found


def changed(found: AdvertiserEffect) -> tuple[tuple[int, int], dict[str, tuple[int, int]]]:
    """Billable clicks now and then, and those of each reason that is another one."""
    billable = found.billable_clicks
    by_reason = {name: (one.now, one.then) for name, one in found.excluded_clicks.items() if one.difference}
    return (billable.now, billable.then), by_reason


SUPPOSED = {
    "a shorter horizon, of which the first copy is fraud": (
        Supposition(horizon_days=1),
        ((2, 2), {"duplicate": (1, 0), "fraud": (0, 1)}),
    ),
    "a shorter horizon without verdicts": (
        Supposition(horizon_days=1, verdict_set=0),
        ((2, 3), {"duplicate": (1, 0)}),
    ),
    "an older set": (Supposition(verdict_set=0, left_out=frozenset({"duplicate"})), ((2, 3), {"duplicate": (1, 0)})),
    "verdicts not yet taken in": (Supposition(verdicts=[LATER_BOT]), ((2, 1), {"fraud": (0, 1)})),
    "heads counted": (
        Supposition(left_out=frozenset({"head"})),
        ((2, 2), {"head": (1, 0), "duplicate": (1, 2)}),
    ),
    "copies counted, but not of a fraud": (
        Supposition(left_out=frozenset({"duplicate", "conflicting_duplicate"})),
        ((2, 2), {"duplicate": (1, 0), "conflicting_duplicate": (1, 0), "fraud": (0, 2)}),
    ),
    "copies and fraud counted": (
        Supposition(left_out=frozenset({"duplicate", "conflicting_duplicate", "fraud"})),
        ((2, 4), {"duplicate": (1, 0), "conflicting_duplicate": (1, 0)}),
    ),
}


@pytest.mark.parametrize(("supposition", "expected"), SUPPOSED.values(), ids=SUPPOSED)
def test_the_effect_by_reason(
    world: SealedWorld, supposition: Supposition, expected: tuple[tuple[int, int], dict[str, tuple[int, int]]]
) -> None:
    """Cut as sealed: the click that came later is in neither figure."""
    found = effects(world, supposition)
    assert changed(found.by_advertiser()[OWN]) == expected
    assert changed(found.by_advertiser()[OTHER]) == ((1, 1), {})
    total = found.total().billable_clicks
    assert (total.now, total.then) == (expected[0][0] + 1, expected[0][1] + 1)


@pytest.mark.parametrize("days", [1, 2, HORIZON_DAYS])
def test_another_horizon_is_the_oracle_s(world: SealedWorld, days: int) -> None:
    """Law 5, under a supposed rule: plain Python says the same."""
    found = effects(world, Supposition(horizon_days=days)).total()
    judged = final_outcomes(world.log[:-1], timedelta(days=days), verdict_ids(world.settings, 1))
    expected = Counter(outcome.reason for outcome in judged if _is_asked_for(outcome))
    assert found.billable_clicks.then == expected.pop(None)
    assert {name: one.then for name, one in found.excluded_clicks.items() if one.then} == expected


def _is_asked_for(outcome: Outcome) -> bool:
    return outcome.event.clicked_at >= HOUR


def test_prices_are_those_in_force_at_the_minute(own_world: SealedWorld) -> None:
    """Whole micros by currency; an ad without a price has none."""
    first = Ad(1, OWN, 100, "https://a.example/", 1_500_000, "EUR")
    snapshot_ads(own_world.settings, [first, Ad(2, OTHER, 200, "https://b.example/")], HOUR - DAY)
    snapshot_ads(own_world.settings, [Ad(1, OWN, 100, "https://a.example/", 2_000_000, "EUR")], NEXT_HOUR)
    snapshot_ads(own_world.settings, [Ad(1, OTHER, 100, "https://a.example/", 9_000_000, "EUR")], NEXT_HOUR + MINUTE)
    found = effects(own_world, Supposition(left_out=frozenset({"duplicate", "fraud"}))).by_advertiser()
    assert found[OWN].amounts_micros == {"EUR": Change(1_500_000 + 2_000_000, 2 * 1_500_000 + 2_000_000)}
    assert found[OTHER].amounts_micros == {}


def test_asking_changes_nothing(world: SealedWorld) -> None:
    """Every file of every table is what it was, the logs with their versions among them."""
    before = _files(world)
    effects(world, Supposition(horizon_days=1, verdicts=[LATER_BOT], left_out=frozenset({"head"})))
    assert _files(world) == before
    assert len(before) > 20


def _files(world: SealedWorld) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in world.settings.home.rglob("*") if path.is_file()}


def test_an_hour_that_is_not_what_was_sealed_has_nothing_to_compare_with(own_world: SealedWorld) -> None:
    own_world.tamper("raw_clicks", lambda row: None if row["offset"] == 5 else row)
    with pytest.raises(IntegrityError, match="hour 2026-11-30T10:00:00Z does not recount to its seal 2"):
        effects(own_world, Supposition(horizon_days=1))


def test_hours_whose_raw_retention_deleted_are_left_out(tmp_path: Path) -> None:
    """F7: nothing contradicts their seals. A longer horizon looks back at more that is gone."""
    world = kept_world(tmp_path)
    maintain(replace(world.settings, raw_retention_days=400), "test", lambda: YEARS_LATER)
    after = EARLY + 8 * DAY
    seals = sealed_among(world.settings, [EARLY, after, after + 2 * AN_HOUR])
    supposed = Supposition(verdict_set=0)
    kept = countable_among(world.settings, seals, supposed)
    assert [seal.hour for seal in kept] == [after + 2 * AN_HOUR]
    late = countable_among(world.settings, sealed_among(world.settings, [HOUR]), supposed)
    assert [effect.hour for effect in what_if(world.settings, late, supposed)] == [HOUR]
    with pytest.raises(UsageError, match="each is no longer verifiable: its raw clicks were deleted by retention"):
        countable_among(world.settings, seals, Supposition(horizon_days=8))


def test_a_seal_may_say_of_a_reason_that_there_was_none(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    world.seal(HOUR, excluded_clicks={"head": 0})
    (effect,) = what_if(world.settings, sealed_among(world.settings, [HOUR]), Supposition(horizon_days=1))
    assert effect.now == effect.then


def test_a_range_that_begins_with_a_quiet_hour(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, NEXT_HOUR)])
    world.seal(HOUR, NEXT_HOUR)
    world.publish()
    assert effects(world, Supposition(horizon_days=1)).total().billable_clicks.now == 1


def test_what_cannot_be_supposed(world: SealedWorld) -> None:
    with pytest.raises(UsageError, match="nothing is supposed"):
        Supposition()
    with pytest.raises(UsageError, match="reason late; expected any of head"):
        Supposition(left_out=frozenset({"late"}))
    with pytest.raises(UsageError, match="a set of verdicts and other verdicts"):
        Supposition(verdict_set=1, verdicts=[BOT])
    with pytest.raises(UsageError, match="verdict set 2; expected a set up to 1"):
        effects(world, Supposition(verdict_set=2))
    with pytest.raises(UsageError, match="no hour of the range is sealed"):
        sealed_among(world.settings, [HOUR - DAY])
