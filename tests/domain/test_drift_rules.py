"""Rules of drift over weeks: quiet where nothing is wrong, and none that looks the same whatever happens."""

from __future__ import annotations

import numpy as np
import pytest

from domain.drift_rules import DRIFT_RULES, DriftOptions, scores
from domain.metric_history import Array, Family, History
from tests.support.metric_weeks import MONDAY

WEEKS, JUDGED_WEEKS = 20, 4
SINCE = (WEEKS - JUDGED_WEEKS) * 168
RULES = {rule.name: rule for rule in DRIFT_RULES}


def clicks(seed: int = 5) -> Array:
    hours = np.arange(WEEKS * 168)
    chance = np.random.default_rng(seed)
    mean = 3_000 * (1 + 0.5 * np.sin(hours / 24 * 2 * np.pi)) * 1.01 ** (hours / 168)
    return chance.poisson(mean * np.exp(chance.normal(0, 0.03, len(hours)))).astype(float)[:, None]


def history(values: Array) -> History:
    families = {"rows": Family(("",), values, np.full_like(values, np.nan))}
    return History(MONDAY, ~np.isnan(values[:, 0]), families)


@pytest.mark.parametrize("name", ["volume", "level", "trend"])
def test_growth_alone_never_alarms(name: str) -> None:
    found = scores(history(clicks()), RULES[name], DriftOptions(), SINCE)
    assert found is not None
    assert not found.is_alarm.any()
    assert not np.isnan(found.sigmas).any()


def test_a_new_level_alarms_and_is_usual_after_a_while() -> None:
    values = clicks()
    values[SINCE:] *= 0.6
    found = scores(history(values), RULES["level"], DriftOptions(), SINCE)
    assert found is not None
    alarms = np.flatnonzero(found.is_alarm[:, 0])
    assert alarms[0] < 24
    assert 3 * 24 < len(alarms) < 9 * 24
    assert not found.is_alarm[9 * 24 :].any()


def test_a_slow_decline_is_a_trend_and_no_hour_of_it_an_alarm() -> None:
    values = clicks()
    days = np.arange(len(values) - SINCE) / 24
    values[SINCE:, 0] *= 0.98**days
    trend, volume = (scores(history(values), RULES[name], DriftOptions(), SINCE) for name in ("trend", "volume"))
    assert trend is not None
    assert volume is not None
    assert np.flatnonzero(trend.is_alarm[:, 0])[0] < 12 * 24
    assert not volume.is_alarm.any()
    assert np.nanmin(trend.sigmas) < 0


def test_a_rule_of_what_was_never_measured_has_no_scores() -> None:
    assert scores(history(clicks()), RULES["lag"], DriftOptions(), SINCE) is None


def test_each_rule_has_a_reason_and_a_name_of_its_own() -> None:
    assert len(RULES) == len(DRIFT_RULES)
    assert all(rule.reason and rule.bar_sigmas > 0 for rule in DRIFT_RULES)
