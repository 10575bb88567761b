"""Who is compared with whom: like with like, each entry runnable, every ratio there."""

from __future__ import annotations

import pytest
from live import ENTRIES, FULL, PEERS, QUICK, WARM_UP, Size, hot_ad_figures, variant_figures
from parts.figures import Cost
from parts.sending import VARIANTS


def _cost(wall_seconds: float) -> Cost:
    return Cost(1, wall_seconds, 2 * wall_seconds, 1_000)


@pytest.mark.parametrize("ours", PEERS)
def test_ours_meets_its_like(ours: str) -> None:
    """The plain peer of each kind archives if and only if ours does; Flink never does."""
    archives = {peer: ENTRIES[peer][1] for peer in PEERS[ours]}
    assert archives.pop("flink") is False
    assert set(archives.values()) == {ENTRIES[ours][1]}


@pytest.mark.parametrize("size", [FULL, QUICK], ids=["full", "quick"])
def test_each_process_is_warm_before_it_is_measured(size: Size) -> None:
    measured = {ENTRIES[entry][0] for entries in size.entries.values() for entry in entries}
    assert measured == {ENTRIES[entry][0] for entry in WARM_UP}
    assert size.entries.keys() <= VARIANTS.keys()
    assert set(size.entries["uniform"]) == ENTRIES.keys()


def test_the_full_run_has_every_variant_in_rounds() -> None:
    assert FULL.entries.keys() == VARIANTS.keys()
    assert FULL.rounds >= 3


def test_only_who_took_part_is_compared() -> None:
    figures = variant_figures({"ours_with_archive": _cost(4.0), "flink": _cost(2.0)})
    assert [name for name in figures if "_to_" in name] == ["ours_with_archive_to_flink"]
    assert figures["ours_with_archive_to_flink"] == {"rate": 0.5, "cpu": 0.5}


def test_a_hot_ad_is_compared_with_uniform_traffic() -> None:
    costs = {"uniform": {"ours_with_archive": _cost(4.0)}, "hot_90": {"ours_with_archive": _cost(5.0)}}
    assert hot_ad_figures(costs) == {"hot_90_to_uniform": {"rate": 0.8, "cpu": 0.8}}
