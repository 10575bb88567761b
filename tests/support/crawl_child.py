"""A worker as a process of its own, for tests that kill it: ``python -m tests.support.crawl_child``.

Arguments: the frontier's database, the folder of bodies, the ports that may be asked, the owner of its leases.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from crawler.egress import EgressPolicy
from crawler.fetch import PAGE_LIMITS, Agent
from crawler.frontier.database import Policy, open_frontier
from crawler.store import BodyStore
from crawler.worker import CrawlReceipt, WorkerParams, run_worker
from domain.politeness import SECOND_MICROS
from tests.support.hostile_site import LOOPBACK
from warehouse.clock import now

GAP_MICROS = 300_000
POLICY = Policy(gap_micros=GAP_MICROS, in_flight_cap=1, lease_micros=3 * SECOND_MICROS)
AGENT = Agent("tallystick-test", "https://crawler.example/about")


def params(owner: str, ports: frozenset[int], folder: Path, **fields: object) -> WorkerParams:
    """A worker that asks sites on loopback until it is idle; its spool is in that folder."""
    known = {"scope": "registrable_domain", "revisits": {"general": 3_600 * SECOND_MICROS}, "most_in_hand": 8}
    known |= {"spool_folder": folder / "spool", "spool_bytes": 1_000_000}
    policy = EgressPolicy(ports, (LOOPBACK,))
    return WorkerParams(owner=owner, agent=AGENT, egress=policy, **{**known, "is_until_idle": True, **fields})  # type: ignore[arg-type] - by name


async def crawl(url: str, bodies: Path, wanted: WorkerParams, policy: Policy = POLICY) -> CrawlReceipt:
    """What that worker did."""
    frontier = open_frontier(url, policy)
    try:
        store = BodyStore(bodies, PAGE_LIMITS.decoded_bytes)
        return await run_worker(frontier, store, wanted, now, stop=asyncio.Event(), show=lambda _progress: None)
    finally:
        frontier.close()


if __name__ == "__main__":
    _, database, folder, listed, name = sys.argv
    asyncio.run(
        crawl(database, Path(folder), params(name, frozenset(map(int, listed.split(","))), Path(folder).parent))
    )
