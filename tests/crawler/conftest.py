"""A crawler that is pointed at sites of our own."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import settings

from crawler.egress import EgressGuard, EgressPolicy
from crawler.fetch import Agent, Fetcher
from crawler.names import Names
from tests.support.crawl_world import Crawl
from warehouse.clock import now

settings.register_profile("patient", deadline=None)  # a busy machine is nobody's failure
settings.load_profile("patient")
AGENT = Agent("tallystick-test", "https://crawler.example/about")
MakeFetcher = Callable[..., AbstractAsyncContextManager[Fetcher]]


@asynccontextmanager
async def _fetcher(
    policy: EgressPolicy, name_server: str = "127.0.0.1:9", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Fetcher]:
    async with Fetcher(AGENT, EgressGuard(policy), Names((name_server,), timeout_seconds=4.0), now, tls) as fetcher:
        yield fetcher


@pytest.fixture
def make_fetcher() -> MakeFetcher:
    """A fetcher with a policy, asking no name server but the one that is given."""
    return _fetcher


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    """A frontier with bodies, whose workers ask sites on loopback."""
    made = Crawl(tmp_path)
    yield made
    made.check_counts()
    made.frontier.close()
