"""Generated weeks: the same for the same seed, whole parts, and the same by rows as by arrays."""

from __future__ import annotations

import numpy as np
from parts.quality_world import HOLIDAY_WEEKS, LAUNCH_WEEKS, WEEK_HOURS, build_world, metrics_at

from domain.buckets import HOUR
from domain.metric_history import history_of

PARTS = ("by_advertiser", "by_country", "by_device", "by_server", "by_kind", "by_ad")


def test_the_same_seed_gives_the_same_weeks() -> None:
    first, again, other = (build_world(2, seed).history.families["rows"].amount for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_parts_come_to_the_whole_and_nothing_is_lost() -> None:
    families = build_world(2, 1).history.families
    rows = families["rows"].amount[:, 0]
    for name in PARTS:
        np.testing.assert_array_equal(families[name].amount.sum(axis=1), rows, name)
    billed = families["final"].amount.sum(axis=1) + families["excluded"].amount.sum(axis=1)
    np.testing.assert_array_equal(billed, rows)


def test_launch_and_holiday_are_explained_and_nothing_else_is() -> None:
    world = build_world(HOLIDAY_WEEKS + 1, 1)
    weeks = np.flatnonzero(world.is_explained) // WEEK_HOURS
    assert {int(week): int((weeks == week).sum()) for week in weeks} == {LAUNCH_WEEKS: 72, HOLIDAY_WEEKS: 24}


def test_metric_rows_give_the_arrays_back() -> None:
    history = build_world(1, 1).history
    rows = [one for row in range(24) for one in metrics_at(history, row)]
    found = history_of(rows, history.start, history.start + 24 * HOUR)
    for name, family in found.families.items():
        given = history.families[name]
        order = [given.groups.index(group) for group in family.groups]
        np.testing.assert_array_equal(family.amount, given.amount[:24, order], name)
        np.testing.assert_array_equal(family.out_of, given.out_of[:24, order], name)
