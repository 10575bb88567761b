"""The peer of tutorials: outside mean and three sigma is an alarm, and so is a series that is gone."""

from __future__ import annotations

import numpy as np
from parts.quality_world import build_world
from peers.three_sigma import WINDOW_HOURS, alarms, flat_series


def test_what_is_outside_alarms() -> None:
    series = np.tile([[9.0], [11.0]], (WINDOW_HOURS // 2, 1))  # mean 10, sigma 1
    for value, is_alarm in ((13.1, True), (12.9, False), (6.9, True), (np.nan, True)):
        assert alarms(np.vstack([series, [[value]]]), WINDOW_HOURS).tolist() == [[is_alarm]]


def test_series_are_shares_where_the_metric_is_one() -> None:
    names, series = flat_series(build_world(1, 1).history)
    by_name = dict(zip(names, series.T, strict=True))
    assert by_name["rows:"].min() > 1_000
    assert by_name["by_advertiser:1"].min() > 100
    assert 0 < by_name["by_country:US"].max() < 1
    assert len(names) == len(by_name)
