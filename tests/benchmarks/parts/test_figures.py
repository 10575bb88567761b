"""Medians, ratios and shares: which way each points, and what is left out as warm-up."""

from __future__ import annotations

import pytest
from parts.figures import Cost, median_cost, quantiles, ratios, stage_table, sustained_rate


def test_a_cost_is_the_median_of_its_runs() -> None:
    """The medians of wall and CPU are each of their own: one slow run moves neither."""
    cost = median_cost([(10.0, 30.0), (90.0, 20.0), (20.0, 10.0)], events=1_000_000)
    assert cost == Cost(runs=3, wall_seconds=20.0, cpu_seconds=20.0, events=1_000_000)
    assert cost.document() == {
        "runs": 3,
        "wall_seconds": 20.0,
        "events_per_second": 50_000,
        "cpu_seconds_per_million": 20.0,
    }


def test_a_ratio_above_one_is_ours_being_better() -> None:
    """Twice as fast as the peer, on a quarter more CPU; of other numbers of events."""
    ours = Cost(1, wall_seconds=5.0, cpu_seconds=10.0, events=1_000)
    peer = Cost(1, wall_seconds=20.0, cpu_seconds=16.0, events=2_000)
    assert ratios(ours, peer) == {"rate": 2.0, "cpu": 0.8}


def test_stages_are_summed_over_batches_dearest_first() -> None:
    batches = [{"read": 1.0, "merge": 2.0}, {"read": 0.5, "merge": 4.0, "late": 0.5}]
    assert stage_table({"live": batches, "archive": []}, events=2_000_000) == [
        ("live", "merge", 6.0, 0.75, 3.0),
        ("live", "read", 1.5, 0.188, 0.8),
        ("live", "late", 0.5, 0.062, 0.2),
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], {}),
        ([4.0], {"p50": 4.0, "p99": 4.0}),
        ([float(number) for number in range(100, 0, -1)], {"p50": 50.0, "p99": 99.0}),
        ([1.0, 2.0, 30.0], {"p50": 2.0, "p99": 30.0}),
    ],
    ids=["none", "one", "hundred", "few: the worst is the p99"],
)
def test_a_quantile_is_a_value_that_was_seen(values: list[float], expected: dict[str, float]) -> None:
    assert quantiles(values, (0.5, 0.99)) == expected


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(0.0, 900), (60.0, 600), (70.0, 300), (80.0, 0)], 30.0),
        ([(0.0, 900), (60.0, 0)], 15.0),
        ([(0.0, 903), (60.0, 603), (70.0, 303), (80.0, 3), (89.0, 1), (95.0, 0)], 30.0),
        ([(0.0, 310), (60.0, 10), (70.0, 0)], 1.0),
    ],
    ids=["the first batch compiles", "only one batch", "a remainder", "nothing but a remainder"],
)
def test_the_sustained_rate_is_that_of_warm_whole_batches(points: list[tuple[float, int]], expected: float) -> None:
    assert sustained_rate(points) == expected
