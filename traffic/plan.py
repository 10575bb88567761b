"""Every record of a run, in the order in which it is sent: the clicks, and around them each kind of oddity.

Belongs here: how the parts fit together, and how late an event arrives. Pure: no IO, no clock, no state but the run's
random numbers. The plan is made while it is sent, so it may be long. What must be counted of it is ``recount.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from traffic.bystanders import Bystanders
from traffic.catalogue import build_catalogue
from traffic.copies import Copies
from traffic.dice import between, mostly
from traffic.dimensions import DimensionChooser
from traffic.event import HOUR_US, SECOND_US, PlannedEvent, microseconds
from traffic.options import TrafficOptions
from traffic.run_state import RunState
from traffic.schedule import ArrivalQueue, click_times
from traffic.visitors import Visitors
from traffic.visits import Visit, write_event, write_odd_event

LATEST_US = 2 * HOUR_US
"""A late event arrives up to this much after the bound."""


class TrafficPlan:
    """The records of a run. ``events`` is for one pass; another plan of equal options gives the same again.

    ``clicks_count`` is the number of clicks planned so far.
    """

    def __init__(self, options: TrafficOptions) -> None:
        self.clicks_count = 0
        self.options = options
        self._run = run = RunState(options.run_id)
        self._random = run.random
        self._bound_us = options.late_bound_seconds * SECOND_US
        self._queue = ArrivalQueue()
        shares = options.shares
        dimensions = DimensionChooser(build_catalogue(options), options)
        self._visitors = Visitors(dimensions, shares, run)
        self._copies = Copies(self._visitors, dimensions, options, run)
        self._bystanders = Bystanders(self._visitors, options, run)
        self._arrival = mostly("on_time", {"out_of_order": shares.out_of_order, "late": shares.late})
        self._form = mostly("usual", {"odd_form": shares.odd_forms})

    @property
    def made(self) -> Counter[str]:
        """By name, how often each oddity was put in so far."""
        return self._run.made

    def events(self) -> Iterator[PlannedEvent]:
        """All records in sending order."""
        start_us, end_us = microseconds(self.options.start_at), microseconds(self.options.end_at)
        for now_us in click_times(self._random, start_us, end_us, self.options.clicks_count):
            yield from self._queue.due(now_us)
            self.clicks_count += 1
            visit = self._visitors.arrive(now_us)
            bystander = self._bystanders.before(visit, now_us)
            if bystander is not None:
                yield bystander
            click = self._click(visit)
            arrival_us = self._arrival_of(now_us)
            if arrival_us == now_us:
                yield click
            else:
                self._queue.push(arrival_us, click)
        yield from self._queue.rest()

    def _click(self, visit: Visit) -> PlannedEvent:
        """The click's own event; its copies wait in the queue."""
        if self._form.choose(self._random) == "usual":
            value = write_event(visit)
        else:
            self._run.made["odd_form"] += 1
            value = write_odd_event(visit, self._random)
        sort = self._copies.choose()
        if sort != "none":
            for arrival_us, copy in self._copies.of(sort, visit, value):
                self._queue.push(arrival_us, copy)
        key = visit.impression_id.encode()
        return PlannedEvent(key, value, "click", visit.dimensions, visit.clicked_us, sort != "none", None)

    def _arrival_of(self, now_us: int) -> int:
        """Out of order stays within the bound; late exceeds it, though whether live sees it so is up to its peers."""
        arrival = self._arrival.choose(self._random)
        if arrival == "on_time":
            return now_us
        self._run.made[arrival] += 1
        if arrival == "out_of_order":
            return now_us + between(self._random, 1, self._bound_us - 1)
        return now_us + self._bound_us + between(self._random, SECOND_US, LATEST_US)
