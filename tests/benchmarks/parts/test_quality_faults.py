"""Faults: each changes something from its hour on, and nothing before; a statistical one breaks no invariant."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from parts.quality_effects import effect_sigmas, honest_rhythm
from parts.quality_faults import FAULTS, Fault, copy_of
from parts.quality_world import WEEK_HOURS, build_world

from domain.metric_history import History

ROW = 50


@cache
def clean() -> History:
    return build_world(1, 5).history


def test_there_are_25_kinds_and_3_strengths_of_each() -> None:
    assert len({fault.name for fault in FAULTS}) == 25
    assert all(len(set(fault.strengths)) == 3 for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_begins_at_its_hour(fault: Fault) -> None:
    for strength in fault.strengths:
        changed = copy_of(clean(), 0, WEEK_HOURS)
        fault.apply(changed, ROW, strength)
        is_changed = False
        for name, family in changed.families.items():
            before = clean().families[name].amount
            np.testing.assert_array_equal(family.amount[:ROW, : before.shape[1]], before[:ROW])
            is_changed |= not np.array_equal(family.amount[ROW:, : before.shape[1]], before[ROW:], equal_nan=True)
        assert is_changed


@pytest.mark.parametrize("fault", [one for one in FAULTS if one.series], ids=lambda fault: fault.name)
def test_a_statistical_fault_breaks_no_invariant(fault: Fault) -> None:
    changed = copy_of(clean(), 0, WEEK_HOURS)
    fault.apply(changed, ROW, fault.strengths[0])
    amounts = {name: family.amount.sum(axis=1) for name, family in changed.families.items()}
    np.testing.assert_array_equal(amounts["final"] + amounts["excluded"], amounts["rows"])
    for name in ("by_advertiser", "by_country", "by_device", "by_server", "by_kind"):
        np.testing.assert_array_equal(amounts[name], amounts["rows"], name)
    distinct = changed.families["distinct"].amount
    assert (distinct <= amounts["rows"][:, None]).all()


def test_an_effect_is_in_units_of_the_honest_rhythm() -> None:
    history = build_world(12, 5).history
    rhythm = honest_rhythm(history, 10 * WEEK_HOURS)
    fault = next(one for one in FAULTS if one.name == "traffic falls to")
    changed = copy_of(history, 0, history.hour_count)
    row = 11 * WEEK_HOURS
    fault.apply(changed, row, 0.5)
    assert fault.series is not None
    found = effect_sigmas(rhythm, fault.series, history, changed, row)
    assert found == pytest.approx(0.5 / rhythm.relative["rows", ""], rel=0.01)
    assert 0.02 < rhythm.relative["rows", ""] < 0.1
    assert rhythm.percents()["four_sigma_small_advertiser_percent"] > rhythm.percents()["four_sigma_all_clicks_percent"]
