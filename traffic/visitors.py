"""Who clicks: new requests with their impression, address and browser, and the same person once more.

Belongs here: making the facts of a request. What happens to it on its way is ``plan.py`` and its neighbours.
"""

from __future__ import annotations

from traffic.dice import mostly
from traffic.dimensions import DimensionChooser
from traffic.impressions import fresh_id, old_id, opaque_id
from traffic.options import Shares
from traffic.run_state import RunState
from traffic.visits import SERVERS, USER_AGENTS, Visit, random_ip


class Visitors:
    """Makes requests."""

    def __init__(self, dimensions: DimensionChooser, shares: Shares, run: RunState) -> None:
        self._random = run.random
        self._made = run.made
        self._dimensions = dimensions
        self._requests_count = 0
        self._latest: Visit | None = None
        self._sort = mostly(
            "fresh",
            {
                "old_impression": shares.old_impressions,
                "opaque_impression": shares.opaque,
                "shared_impression": shares.twins / 2,
                "same_instant": shares.twins / 2,
            },
        )

    def arrive(self, now_us: int) -> Visit:
        """A request that no other shares its identity with."""
        random = self._random
        sort = self._sort.choose(random)
        if sort != "fresh":
            visit = self._unusual(sort, now_us)
            if visit is not None:
                self._made[sort] += 1
                return visit
        self._latest = visit = self._visit(fresh_id(random, now_us), now_us)
        return visit

    def again(self, visit: Visit, clicked_us: int) -> Visit:
        """The same person's request for the same link at another time."""
        server_id, server_seq = self._served()
        return visit._replace(
            dimensions=self._dimensions.later(visit.dimensions, clicked_us),
            clicked_us=clicked_us,
            server_id=server_id,
            server_seq=server_seq,
        )

    def _unusual(self, sort: str, now_us: int) -> Visit | None:
        """None where it takes an earlier request, or a second ad, and there is none."""
        if sort == "old_impression":
            return self._visit(old_id(self._random, now_us), now_us)
        if sort == "opaque_impression":
            return self._visit(opaque_id(self._random), now_us)
        # Each request lends itself once, so that no identity comes about twice.
        lender, self._latest = self._latest, None
        if lender is None:
            return None
        if sort == "same_instant":
            twin = self._visit(fresh_id(self._random, lender.clicked_us), lender.clicked_us)
            return twin._replace(dimensions=lender.dimensions, user_agent=lender.user_agent)
        other = self._dimensions.choose_other_ad(self._random, now_us, than=lender.dimensions)
        return other and self.again(lender, now_us)._replace(dimensions=other)

    def _visit(self, impression_id: str, now_us: int) -> Visit:
        random = self._random
        dimensions = self._dimensions.choose(random, now_us)
        browsers = USER_AGENTS[dimensions.device]
        browser = browsers[random.getrandbits(8) % len(browsers)]
        return Visit(impression_id, dimensions, now_us, random_ip(random), browser, *self._served())

    def _served(self) -> tuple[str, int]:
        """The servers take turns; each numbers its requests from one."""
        turn, server = divmod(self._requests_count, len(SERVERS))
        self._requests_count += 1
        return SERVERS[server], turn + 1
