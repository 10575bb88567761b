"""Drift: the bar with exact integers, and the causes of a difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.drift import Drift, explain, is_over_bar

CLICKS = st.integers(0, 10**12)


@pytest.mark.parametrize(
    ("live", "final", "is_over"),
    [
        pytest.param(10_010, 10_000, False, id="Q4-exactly-1-per-mille"),
        pytest.param(10_011, 10_000, True, id="Q4-one-click-over-1-per-mille"),
        pytest.param(9_990, 10_000, False, id="Q4-exactly-1-per-mille-below"),
        pytest.param(9_989, 10_000, True, id="Q4-one-click-under"),
        pytest.param(105, 100, False, id="exactly-the-floor"),
        pytest.param(106, 100, True, id="over-the-floor"),
        pytest.param(5, 0, False, id="F4-final-has-nothing-live-within-the-floor"),
        pytest.param(6, 0, True, id="F4-final-has-nothing-live-over-the-floor"),
        # a 64-bit float calls (10**17 + 1) / 10**20 the same as 0.001
        pytest.param(10**20 + 10**17 + 1, 10**20, True, id="Q5-over-by-less-than-a-float-can-tell"),
        pytest.param(10**20 + 10**17, 10**20, False, id="Q5-exactly-at-the-bar-of-large-figures"),
    ],
)
def test_the_bar(live: int, final: int, is_over: bool) -> None:
    """Q4, Q5: over alerts, at the bar does not; floor 5 clicks, 1 per mille."""
    assert is_over_bar(live, final, per_mille=1, floor_clicks=5) is is_over


@pytest.mark.parametrize(
    "drift",
    [
        pytest.param(Drift(90, 100, 10, 0, 0, missing_clicks=0, extra_clicks=0), id="all-late"),
        pytest.param(Drift(103, 100, 0, 3, 0, missing_clicks=0, extra_clicks=0), id="all-beyond-the-live-horizon"),
        pytest.param(Drift(104, 100, 0, 0, 4, missing_clicks=0, extra_clicks=0), id="all-fraud"),
        pytest.param(Drift(93, 100, 10, 3, 0, missing_clicks=0, extra_clicks=0), id="both-at-once"),
        pytest.param(
            Drift(100, 100, 2, 2, 0, missing_clicks=0, extra_clicks=0), id="causes-that-cancel-out-still-show"
        ),
        pytest.param(Drift(88, 100, 10, 0, 0, missing_clicks=2, extra_clicks=0), id="two-missing"),
        pytest.param(Drift(95, 100, 10, 0, 0, missing_clicks=0, extra_clicks=5), id="five-extra"),
        pytest.param(Drift(3, 0, 0, 0, 0, missing_clicks=0, extra_clicks=3), id="F4-a-key-that-only-the-stream-has"),
    ],
)
def test_causes(drift: Drift) -> None:
    """F4 by case id."""
    causes = drift.late_clicks, drift.dedup_horizon_clicks, drift.fraud_clicks
    assert explain(drift.live_clicks, drift.final_clicks, *causes) == drift


@given(CLICKS, CLICKS, CLICKS, CLICKS, CLICKS)
def test_the_causes_add_up_to_the_difference(live: int, final: int, late: int, dedup_horizon: int, fraud: int) -> None:
    drift = explain(live, final, late, dedup_horizon, fraud)
    known = -drift.late_clicks + drift.dedup_horizon_clicks + drift.fraud_clicks
    causes = known + drift.extra_clicks - drift.missing_clicks
    assert drift.difference_clicks == live - final == causes
    assert min(drift.missing_clicks, drift.extra_clicks) == 0
    assert drift.is_explained == (live - final == dedup_horizon + fraud - late)


@given(CLICKS, st.integers(0, 1_000), st.integers(0, 1_000_000))
def test_equal_figures_never_alert(clicks: int, per_mille: int, floor_clicks: int) -> None:
    assert not is_over_bar(clicks, clicks, per_mille, floor_clicks)
