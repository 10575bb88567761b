"""A worker over small sites: what becomes of every URL, and how the sites were treated, by their own logs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from crawler.fetch import PAGE_LIMITS
from crawler.frontier.adding import Candidate, add_urls
from crawler.frontier.database import open_frontier
from crawler.frontier.reading import why
from crawler.frontier.requests import receipt_of
from crawler.frontier.schema import DOCUMENTS
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.switches import set_switch
from crawler.store import BodyStore
from crawler.urls import normalise
from crawler.worker import CrawlReceipt, WorkerParams, params_from, run_worker
from domain.errors import SettingError
from domain.politeness import SECOND_MICROS
from domain.receipts import receipt
from domain.settings import settings_from
from tests.conventions.sources import ROOT
from tests.support.crawl_child import GAP_MICROS, POLICY, params
from tests.support.frontiers import FrontierWorld
from tests.support.hostile_site import Behaviour, HostileSite, answer, silence
from warehouse.clock import now

ROBOTS = answer(b"User-agent: *\nDisallow: /private\n", content_type="text/plain")
FOREVER = 1 << 62


def page(*links: str, **headers: str) -> Behaviour:
    """A page with these links."""
    anchors = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    return answer(f"<!doctype html><title>a page</title>{anchors}".encode(), **headers)


def slow(seconds: float, behaviour: Behaviour) -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await behaviour(writer)

    return behave


class Crawl(FrontierWorld):
    """A frontier on disk, with its bodies."""

    def __init__(self, folder: Path) -> None:
        self.database = f"sqlite:///{folder / 'frontier.sqlite'}"
        self.bodies = folder / "bodies"
        super().__init__(open_frontier(self.database, POLICY))

    def seed(self, *urls: str) -> None:
        list(add_urls(self.frontier, [Candidate(normalise(url), url, "seed") for url in urls], "ann"))

    async def run(self, *sites: HostileSite, stop: asyncio.Event | None = None, **fields: object) -> CrawlReceipt:
        wanted = params("w1", frozenset(site.port for site in sites), **fields)
        store = BodyStore(self.bodies, PAGE_LIMITS.decoded_bytes)
        stopping = stop or asyncio.Event()
        return await run_worker(self.frontier, store, wanted, now, stop=stopping, show=lambda _progress: None)

    def documents(self) -> dict[str, str]:
        """Titles by URL; every one of them has its body."""
        with self.frontier.reading() as connection:
            rows = connection.execute(select(DOCUMENTS)).all()
        for row in rows:
            assert len(BodyStore(self.bodies, PAGE_LIMITS.decoded_bytes).get(row.content_hash)) == row.body_bytes
        assert len({row.url for row in rows}) == len(rows)
        return {row.url: row.title for row in rows}

    def said(self, url: str) -> tuple[str | None, str]:
        """State and reason of a URL, as ``crawl why`` tells them."""
        told = why(self.frontier, normalise(url))
        return told.state, told.events[-1]["reason"] if told.events else ""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Crawl]:
    made = Crawl(tmp_path)
    yield made
    made.check_counts()
    made.frontier.close()


def check_polite(site: HostileSite, gap_micros: int = GAP_MICROS) -> None:
    """Law 12, by the log of the site itself."""
    seen = receipt(site.origin, (0, FOREVER), site.rows, gap_micros=gap_micros, in_flight_cap=1)
    assert seen.is_polite, (seen, site.asked_paths())


def test_every_url_ends_as_the_sites_say(world: Crawl) -> None:
    """Law 12, C1, C15: links, redirect, robots.txt with Crawl-delay, 404, 503, an opt-out, a network that is not public."""

    async def run() -> None:
        delayed = answer(b"User-agent: *\nCrawl-delay: 1\n", content_type="text/plain")
        async with (
            HostileSite(behaviours={"/robots.txt": ROBOTS}) as a,
            HostileSite(behaviours={"/robots.txt": delayed, "/": page("/x"), "/x": page()}) as b,
            HostileSite(behaviours={"/": page()}, address="127.0.0.2") as opted_out,
            HostileSite(behaviours={"/": answer(status="503 Busy", retry_after="200")}) as busy,
        ):
            links = ("a#x", "private/x", "moved", "gone", f"{b.origin}/", f"{opted_out.origin}/linked", "mailto:x@y.z")
            a.behaviours |= {"/": page(*links), "/a": page("/"), "/moved": answer(status="302 F", location="/new")}
            a.behaviours["/new"] = page()
            private = f"http://10.0.0.1:{a.port}/"
            world.seed(f"{a.origin}/", f"{opted_out.origin}/", f"{busy.origin}/", f"{busy.origin}/later", private)
            suppress(world.frontier, OptOut("host", "127.0.0.2", "asked", "mail", "ann"))
            made = await world.run(a, b, opted_out, busy)
            told = {url: world.said(url) for url in (f"{a.origin}/private/x", f"{a.origin}/gone", f"{a.origin}/moved")}
            assert list(told.values()) == [
                ("refused", "robots_disallowed"), ("waiting", "http_404"), ("waiting", "redirected"),
            ]  # fmt: skip
            assert world.said(f"{busy.origin}/") == ("ready", "http_503")
            assert world.said(f"{busy.origin}/later") == ("ready", "added")
            assert world.said(private) == ("refused", "not_public")
            assert world.said(f"{opted_out.origin}/") == ("suppressed", "suppressed_by_host")
            refusal = why(world.frontier, normalise(f"{a.origin}/private/x")).events[-1]["detail"]
            assert refusal.endswith(", line 2")
            wait_micros = world.origin(busy.origin)["claimable_at"] - world.now()
            assert 190 * SECOND_MICROS < wait_micros <= 250 * SECOND_MICROS
            for site in (a, busy):
                check_polite(site)
            check_polite(b, SECOND_MICROS)
            assert opted_out.asked == []
            assert sorted(a.asked_paths()) == ["/", "/a", "/gone", "/moved", "/new", "/robots.txt"]
            assert b.asked_paths() == ["/robots.txt", "/", "/x"]
            assert busy.asked_paths() == ["/robots.txt", "/"]
            assert set(world.documents()) == {f"{a.origin}{path}" for path in ("/", "/a", "/new")} | {
                f"{b.origin}/", f"{b.origin}/x",
            }  # fmt: skip
            assert made.counts == {
                "fetched": 5, "http_404": 1, "http_503": 1, "not_public": 1, "redirected": 1, "robots_disallowed": 1,
            }  # fmt: skip
            assert (made.request_count, made.resting_count, made.is_stopped) == (11, 2, False)
            assert made.added_count == 7
            ours = receipt_of(world.frontier, a.origin, 0, FOREVER)
            assert (ours.request_count, ours.is_polite) == (6, True)

    asyncio.run(run())


def test_a_page_that_stayed_the_same_is_counted_and_keeps_its_validators(world: Crawl) -> None:
    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": page(etag='"v1"')}) as site:
            world.seed(f"{site.origin}/")
            await world.run(site)
            world.pass_seconds(5_000)
            site.behaviours["/"] = answer(status="304 Same")
            made = await world.run(site)
            assert made.counts == {"not_modified": 1}
            assert site.asked[-1].headers["if-none-match"] == '"v1"'
            assert world.url(f"{site.origin}/")["etag"] == '"v1"'
            assert world.said(f"{site.origin}/") == ("waiting", "not_modified")
            assert len(world.documents()) == 1

    asyncio.run(run())


def test_an_origin_whose_robots_cannot_be_read_rests_and_is_not_fetched(world: Crawl) -> None:
    """C4."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": answer(status="500 No"), "/": page()}) as site:
            world.seed(f"{site.origin}/", f"{site.origin}/other")
            made = await world.run(site)
            assert site.asked_paths() == ["/robots.txt"]
            assert made.counts == {"robots_unreadable": 1}
            assert made.resting_count == 2
            assert world.url(f"{site.origin}/")["attempt_count"] == 0

    asyncio.run(run())


def test_a_lease_lasts_as_long_as_its_request(world: Crawl) -> None:
    """The page takes longer than the lease's first term."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": slow(4.5, page())}) as site:
            world.seed(f"{site.origin}/")
            made = await world.run(site)
            assert made.counts == {"fetched": 1}
            assert [reason for _, reason in world.events(f"{site.origin}/")] == ["added", "claimed", "fetched"]

    asyncio.run(run())


def test_a_lease_that_was_taken_away_commits_nothing(world: Crawl) -> None:
    """C9: the origin is killed while the page is on its way."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS}) as site:

            async def killing(writer: asyncio.StreamWriter) -> None:
                set_switch(world.frontier, site.origin, "killed", reason="complaint", actor="ann")
                await page("/linked")(writer)

            site.behaviours["/"] = killing
            world.seed(f"{site.origin}/")
            stop = asyncio.Event()
            crawl_run = asyncio.create_task(world.run(site, stop=stop, is_until_idle=False))
            while world.events(f"{site.origin}/")[-1][1] != "stale_commit":
                await asyncio.sleep(0.05)
            stop.set()
            made = await crawl_run
            assert made.counts == {"lease_lost": 1}
            assert world.documents() == {}
            assert world.said(f"{site.origin}/linked") == (None, "")
            assert world.url(f"{site.origin}/")["reason"] == "killed"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("behaviour", "stop_seconds", "ended"),
    [(slow(1.0, page()), 60.0, ("waiting", "fetched")), (silence, 0.2, ("ready", "worker_stopped"))],
    ids=["in time", "too slow"],
)
def test_a_stop_lets_requests_end_and_gives_the_rest_back(
    world: Crawl, behaviour: Behaviour, stop_seconds: float, ended: tuple[str, str]
) -> None:
    async def run() -> None:
        async with (
            HostileSite(behaviours={"/robots.txt": ROBOTS, "/": behaviour}) as site,
            HostileSite(behaviours={"/robots.txt": answer(b"User-agent: *\nCrawl-delay: 60\n")}) as waiting,
        ):
            world.seed(f"{site.origin}/", f"{waiting.origin}/")
            stop = asyncio.Event()
            crawl_run = asyncio.create_task(world.run(site, waiting, stop=stop, stop_seconds=stop_seconds))
            while "/" not in site.asked_paths() or world.origin(waiting.origin)["crawl_delay_micros"] is None:
                await asyncio.sleep(0.05)
            stop.set()
            made = await crawl_run
            assert made.is_stopped
            assert made.lease_count == 2
            assert world.said(f"{site.origin}/") == ended
            assert world.said(f"{waiting.origin}/") == ("ready", "worker_stopped")
            assert world.url(f"{waiting.origin}/")["attempt_count"] == 0
            assert waiting.asked_paths() == ["/robots.txt"]
            ours = receipt_of(world.frontier, site.origin, 0, FOREVER)
            assert ours.request_count == 2, "what was cut off is in the log too"

    asyncio.run(run())


def test_a_worker_that_is_killed_loses_nothing_and_nobody_is_asked_too_soon(world: Crawl) -> None:
    """Law 12, C18: two processes; one dies with a request in flight, and another takes its place."""

    async def run() -> None:
        async with HostileSite() as a, HostileSite() as b:
            for site in (a, b):
                paths = [f"/{number}" for number in range(5)]
                site.behaviours |= {"/robots.txt": ROBOTS, "/": page(*paths)} | {path: page() for path in paths}
                world.seed(f"{site.origin}/")
            victim: list[asyncio.subprocess.Process] = []

            async def deadly(writer: asyncio.StreamWriter) -> None:
                a.behaviours["/2"] = page()
                if not victim[0].returncode:
                    victim[0].kill()
                    await victim[0].wait()
                await asyncio.sleep(0.1)
                writer.close()

            a.behaviours["/2"] = deadly
            victim.append(await _process(world, a, b, "victim"))
            await victim[0].wait()
            survivors = [await _process(world, a, b, name) for name in ("second", "third")]
            assert [await one.wait() for one in survivors] == [0, 0]
            assert victim[0].returncode == -9
            assert set(world.documents()) == {
                f"{site.origin}/{path}" for site in (a, b) for path in ("", *map(str, range(5)))
            }
            for site in (a, b):
                check_polite(site)
            assert ("ready", "lease_expired") in world.events(f"{a.origin}/2")

    asyncio.run(run())


async def _process(world: Crawl, a: HostileSite, b: HostileSite, owner: str) -> asyncio.subprocess.Process:
    ports = f"{a.port},{b.port}"
    arguments = ("-m", "tests.support.crawl_child", world.database, str(world.bodies), ports, owner)
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT)


def test_an_error_that_is_no_page_s_fault_ends_the_worker_and_is_raised(world: Crawl) -> None:
    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": page()}) as site:
            world.seed(f"{site.origin}/")
            world.bodies.write_text("no folder", encoding="utf-8")
            with pytest.raises(OSError, match="bodies"):
                await world.run(site)
            assert world.url(f"{site.origin}/")["state"] == "leased", "its lease runs out, and it is fetched again"

    asyncio.run(run())


def test_settings_say_how_a_worker_crawls(tmp_path: Path) -> None:
    values = {"crawl_contact_url": "https://crawler.example/", "crawl_revisit_hours": 2, "crawl_scope": "host"}
    made: WorkerParams = params_from(settings_from(values, tmp_path), "w", 3, True)
    assert (made.scope, made.revisit_micros, made.most_in_hand) == ("host", 7_200 * SECOND_MICROS, 3)
    once = params_from(settings_from({**values, "crawl_revisit_hours": 0}, tmp_path), "w", 3, True)
    assert once == replace(made, revisit_micros=None)
    with pytest.raises(SettingError, match="crawl_contact_url"):
        params_from(settings_from({}, tmp_path), "w", 1, True)
