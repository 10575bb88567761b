"""The finance chapters of the demo on hours that are sealed already: each step does what the real commands do."""

from __future__ import annotations

from pathlib import Path

from cli.demo_books import Books
from domain.buckets import HOUR
from tests.support.periods import NOVEMBER, OCTOBER
from tests.support.sealed_world import logged, sealed_world
from warehouse.disputes import read_dispute


def test_a_dispute_a_close_and_an_adjustment(tmp_path: Path) -> None:
    world = sealed_world(tmp_path)
    first, last = OCTOBER.end - 2 * HOUR, OCTOBER.end - HOUR
    world.archive([logged(0, first), logged(1, first), logged(2, last)])
    world.seal(first, last)
    world.publish()
    said: list[str] = []
    books = Books(world.settings, OCTOBER, said.append)
    assert books.dispute() == "matches"
    assert read_dispute(world.settings, "D-1").is_open is False
    close = books.close()
    assert (close.hour_count, close.billable_clicks) == (2, 3)
    judged, written = books.adjust_for_fraud(first)
    assert (judged, sum(one.delta_clicks for one in written)) == (2, -2)
    assert {(one.billing_period, one.requested_by, one.approved_by) for one in written} == {(NOVEMBER, "ada", "grace")}
    assert "recount.py: matches" in said
