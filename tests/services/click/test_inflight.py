"""The promise of a watermark: all before it is settled, and nothing later is stamped before it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.click.inflight import InFlight
from tests.support.click_parts import AT

SECOND = timedelta(seconds=1)


def test_the_oldest_unsettled_click_bounds_the_promise() -> None:
    in_flight = InFlight(AT)
    first, first_at = in_flight.accept(AT + SECOND)
    second, second_at = in_flight.accept(AT + 2 * SECOND)
    assert (first, second) == (0, 1)
    assert (first_at, second_at) == (AT + SECOND, AT + 2 * SECOND)
    assert in_flight.accepted_until(AT + 9 * SECOND) == first_at
    in_flight.settle(first)
    assert in_flight.accepted_until(AT + 9 * SECOND) == second_at
    in_flight.settle(second)
    assert in_flight.accepted_until(AT + 9 * SECOND) == AT + 9 * SECOND
    assert len(in_flight) == 0


def test_a_later_click_may_be_settled_first() -> None:
    in_flight = InFlight(AT)
    _, first_at = in_flight.accept(AT + SECOND)
    second, _ = in_flight.accept(AT + 2 * SECOND)
    in_flight.settle(second)
    assert in_flight.accepted_until(AT + 9 * SECOND) == first_at


def test_a_clock_that_steps_back_breaks_no_promise() -> None:
    in_flight = InFlight(AT)
    promised = in_flight.accepted_until(AT + 60 * SECOND)
    ticket, stamp = in_flight.accept(AT)
    assert stamp == promised
    in_flight.settle(ticket)
    assert in_flight.accepted_until(AT + SECOND) == promised


def test_the_promise_of_an_earlier_process_is_kept() -> None:
    in_flight = InFlight(AT)
    in_flight.keep_promise(AT + 60 * SECOND)
    in_flight.keep_promise(AT - SECOND)
    assert in_flight.accept(AT)[1] == AT + 60 * SECOND


def test_settling_twice_is_an_error() -> None:
    in_flight = InFlight(AT)
    ticket, _ = in_flight.accept(AT)
    in_flight.settle(ticket)
    with pytest.raises(KeyError):
        in_flight.settle(ticket)


@given(
    st.lists(st.tuples(st.sampled_from(["accept", "settle", "promise"]), st.integers(-5, 5)), max_size=60), st.data()
)
def test_no_promise_is_ever_broken(steps: list[tuple[str, int]], data: Any) -> None:
    """Law 7, the click server's side: under any order of requests, acknowledgements, clock steps and watermarks."""
    in_flight, clock = InFlight(AT), AT
    open_tickets: dict[int, datetime] = {}
    promised = AT
    for action, clock_step in steps:
        clock += clock_step * SECOND
        if action == "accept":
            ticket, stamp = in_flight.accept(clock)
            assert stamp >= promised
            open_tickets[ticket] = stamp
        elif action == "settle" and open_tickets:
            ticket = data.draw(st.sampled_from(sorted(open_tickets)))
            in_flight.settle(ticket)
            del open_tickets[ticket]
        elif action == "promise":
            until = in_flight.accepted_until(clock)
            assert all(stamp >= until for stamp in open_tickets.values())
            assert until >= promised
            promised = until
