"""Prometheus' text format, as its readers take it."""

from __future__ import annotations

from services.exposition import Gauge, Sample, exposition

LAG, UP = Gauge("x_lag_events", "records behind"), Gauge("x_is_up", "1 if so")


def test_samples_of_a_gauge_stand_together_under_its_help() -> None:
    found = exposition([Sample(LAG, 3, {"query": "live", "partition": "0"}), Sample(UP, 1), Sample(LAG, 0.5)])
    assert found == (
        "# HELP x_lag_events records behind\n# TYPE x_lag_events gauge\n"
        'x_lag_events{query="live",partition="0"} 3\nx_lag_events 0.5\n'
        "# HELP x_is_up 1 if so\n# TYPE x_is_up gauge\nx_is_up 1\n"
    )


def test_labels_are_escaped() -> None:
    assert r'{stage="a\\b\"c\nd"}' in exposition([Sample(UP, 1, {"stage": 'a\\b"c\nd'})])


def test_large_whole_numbers_stay_whole() -> None:
    assert "x_lag_events 12345678901234567\n" in exposition([Sample(LAG, 12_345_678_901_234_567)])
