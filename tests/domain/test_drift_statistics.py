"""Statistics on arrays: robust, causal, and never a division by nothing."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest

from domain.buckets import HOUR
from domain.drift_statistics import (
    count_sigmas,
    day_level,
    dispersion,
    earlier,
    jensen_shannon,
    level,
    like_days,
    lower_and_upper_cusum,
    median,
    mix_surprise,
    robust_sigma,
    robust_z,
    trailing,
    usual_count,
    usual_share,
    weekly,
)
from domain.metric_history import Array, History
from tests.support.metric_weeks import MONDAY


def history(rows: int) -> History:
    return History(MONDAY, np.ones(rows, dtype=bool), {})


def test_trailing_rows_are_those_before_and_never_the_row_itself() -> None:
    found = trailing(np.array([[1.0], [2.0], [3.0]]), 2)[:, 0]
    np.testing.assert_array_equal(found, [[np.nan, np.nan], [np.nan, 1], [1, 2]])
    np.testing.assert_array_equal(earlier(np.array([[1.0], [2.0]]), 1), [[np.nan], [1]])
    np.testing.assert_array_equal(earlier(np.array([[1.0]]), 5), [[np.nan]])


def test_noise_of_less_than_a_day_is_not_known() -> None:
    values = np.full((26, 1), 100.0)
    assert np.isnan(dispersion(values, values)[23, 0])
    assert dispersion(values, values)[24, 0] == pytest.approx(0.01)


def weeks(count: int, seed: int = 1) -> Array:
    """Poisson clicks with a daily and weekly rhythm, one column."""
    hours = np.arange(count * 168)
    mean = 1_000 * (1 + 0.5 * np.sin(hours / 24 * 2 * np.pi)) * np.where(hours % 168 >= 120, 0.7, 1.0)
    return np.random.default_rng(seed).poisson(mean).astype(float)[:, None]


def test_the_median_passes_over_gaps() -> None:
    values = np.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan], [4.0, 1.0, np.nan]])
    np.testing.assert_array_equal(median(values, 1), [2, np.nan, 2.5])
    np.testing.assert_array_equal(median(values, 1, 3), [np.nan] * 3)
    np.testing.assert_array_equal(robust_sigma(np.array([5.0, 5.0, 5.0]), 0), 0)


@pytest.mark.parametrize(
    ("reference", "floor", "z"),
    [
        # median 100, MAD 10: sigma 14.826, more than the chance of 101 clicks
        ([80.0, 90.0, 100.0, 110.0, 120.0], 0.0, 50 / 14.826),
        # MAD 0: the chance of a count of 100, sqrt(101)
        ([100.0, 100.0, 100.0], 0.0, 50 / math.sqrt(101)),
        ([100.0, 100.0, 100.0], 25.0, 2.0),
        # one outlier of five moves neither
        ([80.0, 90.0, 100.0, 110.0, 9_999.0], 0.0, 50 / 14.826),
    ],
    ids=["mad", "chance", "floor", "outlier"],
)
def test_robust_z(reference: list[float], floor: float, z: float) -> None:
    assert robust_z(150.0, np.array(reference), floor) == pytest.approx(z)


def test_robust_z_of_too_few_is_none() -> None:
    assert math.isnan(robust_z(150.0, np.array([100.0, 100.0]), 0.0))


def test_usual_is_that_of_the_weeks_whatever_the_level() -> None:
    """Clicks that double each week: the usual part of the week before, times the week before."""
    hours = np.arange(12 * 168)
    values = (100 * 2 ** (hours / 168) * np.where(hours % 24 == 9, 3.0, 1.0))[:, None]
    found = usual_count(values, history(len(values)), 168)
    np.testing.assert_allclose(found[-168:], values[-168:], rtol=1e-9)


def test_usual_falls_back_to_like_days_and_then_to_nothing() -> None:
    values = weeks(3)
    found = usual_count(values, history(len(values)), 168)
    assert np.isnan(found[:168]).all()
    assert not np.isnan(found[2 * 168 :]).any()
    assert abs(found[-168:].sum() / values[-168:].sum() - 1) < 0.05
    saturday = 2 * 168 + 120
    alike = like_days(values, history(len(values)))[:, saturday, 0]
    # the Saturday and Sunday of the week before and the Saturday of the one before that
    assert np.flatnonzero(~np.isnan(alike)).tolist() == [5, 6, 12, 13][: np.sum(~np.isnan(alike))]


def test_after_a_clock_change_the_nearer_neighbour_counts() -> None:
    """S1's neighbour: a local rhythm that moves by an hour in UTC is not drift."""
    hours = np.arange(12 * 168)
    offsets = np.where(hours >= 11 * 168, 2.0, 1.0)
    values = (np.where((hours + offsets) % 24 == 9, 5_000.0, 500.0))[:, None]
    by_utc = usual_count(values, history(len(values)), 168)
    by_clock = usual_count(values, history(len(values)), 168, offsets)
    changed = slice(11 * 168 + 24, 12 * 168)
    assert np.max(np.abs(by_utc[changed] / values[changed] - 1)) > 0.8
    assert np.max(np.abs(by_clock[changed] / values[changed] - 1)) < 0.05
    np.testing.assert_array_equal(weekly(values, offsets)[0, -1], values[-1 - 167])


def test_usual_share_leaves_the_extremes_out() -> None:
    amount = np.full((9 * 168, 1), 10.0)
    amount[5 * 168 : 6 * 168] = 900.0
    found = usual_share(amount, np.full_like(amount, 1_000.0), history(len(amount)))
    np.testing.assert_allclose(found[-1], 0.01)
    assert np.isnan(usual_share(amount, np.zeros_like(amount), history(len(amount)))).all()


def test_the_level_follows_a_factor_and_not_a_single_hour() -> None:
    usual = np.full((48, 1), 10_000.0)
    half = np.full((48, 1), 6_000.0)
    assert level(half, usual)[-1, 0] == pytest.approx(0.6, abs=0.001)
    outage = usual.copy()
    outage[40] = 0.0
    assert level(outage, usual)[-1, 0] > 0.97
    assert level(np.zeros((48, 1)), np.full((48, 1), 0.5))[-1, 0] > 0.9


def test_noise_is_chance_and_what_the_week_showed() -> None:
    chance = np.random.default_rng(3)
    expected = np.full((500, 2), 10_000.0)
    noisy = expected * np.exp(chance.normal(0, [0.01, 0.1], (500, 2)))
    values = chance.poisson(noisy).astype(float)
    assert dispersion(values, expected)[-1] == pytest.approx([0.012, 0.1], rel=0.35)
    sigmas = count_sigmas(values, expected, since=200)
    assert np.std(sigmas, axis=0) == pytest.approx([1, 1], abs=0.2)
    assert np.isfinite(count_sigmas(np.full((300, 1), 7.0), np.full((300, 1), 7.0), 299)).all()


def test_jensen_shannon() -> None:
    same, other = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.0, 1.0])
    assert jensen_shannon(same, same) == pytest.approx(0)
    assert jensen_shannon(same, other) == pytest.approx(math.log(2))
    assert jensen_shannon(same, np.array([0.4, 0.4, 0.2])) == jensen_shannon(np.array([0.4, 0.4, 0.2]), same)


@pytest.mark.parametrize("clicks", [200, 100_000])
def test_honest_sampling_of_few_clicks_surprises_no_more_than_of_many(clicks: int) -> None:
    chance = np.random.default_rng(4)
    mix = np.array([0.5, 0.3, 0.15, 0.05])
    drawn = chance.multinomial(clicks, mix, 2_000).astype(float)
    whole = np.full(2_000, float(clicks))
    found = mix_surprise(drawn, np.tile(mix, (2_000, 1)), whole, whole * 1e6)
    assert np.mean(found) == pytest.approx(0, abs=0.15)
    assert np.std(found) == pytest.approx(1, abs=0.15)
    moved = chance.multinomial(clicks, [0.3, 0.5, 0.15, 0.05], 1).astype(float)
    assert mix_surprise(moved, mix[None], whole[:1], whole[:1] * 1e6)[0] > 4


def test_days_add_up_and_a_gap_of_more_than_half_is_none() -> None:
    usual = np.full((72, 1), 100.0)
    values = usual * 0.9
    assert day_level(values, usual)[-1, 0] == pytest.approx(math.log(0.9), abs=1e-3)
    values[-13:] = np.nan
    assert np.isnan(day_level(values, usual)[-1, 0])


def test_cusum_sees_a_decline_that_no_single_day_shows() -> None:
    lower, upper = lower_and_upper_cusum(np.array([[-2.0] * 6, [2.0] * 6, [0.9] * 6]), 1.0)
    assert lower.tolist() == [6, 0, 0]
    assert upper.tolist() == [0, 6, 0]


def test_a_row_depends_on_nothing_after_it() -> None:
    """An hour is judged the same alone and in a backfill."""
    values = weeks(11)
    cut = len(values) - 90
    whole, alone = (usual_count(part, history(len(part)), 168) for part in (values, values[:cut]))
    np.testing.assert_array_equal(whole[:cut], alone)
    np.testing.assert_array_equal(
        count_sigmas(values, whole * level(values, whole))[cut - 1],
        count_sigmas(values[:cut], alone * level(values[:cut], alone), cut - 1)[0],
    )
    assert MONDAY + cut * HOUR < MONDAY + timedelta(weeks=11)
