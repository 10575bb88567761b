"""A worker over small sites: what becomes of every URL, and how the sites were treated, by their own logs."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.frontier import database
from crawler.frontier.reading import why
from crawler.frontier.requests import receipt_of
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.switches import set_switch
from crawler.urls import normalise
from crawler.worker import WorkerParams, params_from
from domain.errors import SettingError
from domain.politeness import SECOND_MICROS
from domain.settings import settings_from
from tests.conventions.sources import ROOT
from tests.support.crawl_child import POLICY
from tests.support.crawl_world import FOREVER, ROBOTS, Crawl, check_polite, page, slow
from tests.support.hostile_site import Behaviour, HostileSite, answer, silence


def test_every_url_ends_as_the_sites_say(crawl: Crawl) -> None:
    """Law 12, C1, C15: links, redirect, Crawl-delay, 404, 503, an opt-out, a network that is not public."""

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
            crawl.seed(f"{a.origin}/", f"{opted_out.origin}/", f"{busy.origin}/", f"{busy.origin}/later", private)
            suppress(crawl.frontier, OptOut("host", "127.0.0.2", "asked", "mail", "ann"))
            made = await crawl.run(a, b, opted_out, busy)
            told = {url: crawl.said(url) for url in (f"{a.origin}/private/x", f"{a.origin}/gone", f"{a.origin}/moved")}
            assert list(told.values()) == [
                ("refused", "robots_disallowed"), ("waiting", "http_404"), ("waiting", "redirected"),
            ]  # fmt: skip
            assert crawl.said(f"{busy.origin}/") == ("ready", "http_503")
            assert crawl.said(f"{busy.origin}/later") == ("ready", "added")
            assert crawl.said(private) == ("refused", "not_public")
            assert crawl.said(f"{opted_out.origin}/") == ("suppressed", "suppressed_by_host")
            refusal = why(crawl.frontier, normalise(f"{a.origin}/private/x")).events[-1]["detail"]
            assert refusal.endswith(", line 2")
            wait_micros = crawl.origin(busy.origin)["claimable_at"] - crawl.now()
            assert 190 * SECOND_MICROS < wait_micros <= 250 * SECOND_MICROS
            for site in (a, busy):
                check_polite(site)
            check_polite(b, SECOND_MICROS)
            assert opted_out.asked == []
            assert sorted(a.asked_paths()) == ["/", "/a", "/gone", "/moved", "/new", "/robots.txt"]
            assert b.asked_paths() == ["/robots.txt", "/", "/x"]
            assert busy.asked_paths() == ["/robots.txt", "/"]
            assert set(crawl.documents()) == {f"{a.origin}{path}" for path in ("/", "/a", "/new")} | {
                f"{b.origin}/", f"{b.origin}/x",
            }  # fmt: skip
            assert made.counts == {
                "fetched": 5, "http_404": 1, "http_503": 1, "not_public": 1, "redirected": 1, "robots_disallowed": 1,
            }  # fmt: skip
            assert (made.request_count, made.resting_count, made.is_stopped) == (11, 2, False)
            assert made.added_count == 7
            ours = receipt_of(crawl.frontier, a.origin, 0, FOREVER)
            assert (ours.request_count, ours.is_polite) == (6, True)

    asyncio.run(run())


def test_a_page_that_stayed_the_same_is_counted_and_keeps_its_validators(crawl: Crawl) -> None:
    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": page(etag='"v1"')}) as site:
            crawl.seed(f"{site.origin}/")
            await crawl.run(site)
            crawl.pass_seconds(5_000)
            site.behaviours["/"] = answer(status="304 Same")
            made = await crawl.run(site)
            assert made.counts == {"not_modified": 1}
            assert site.asked[-1].headers["if-none-match"] == '"v1"'
            assert crawl.url(f"{site.origin}/")["etag"] == '"v1"'
            assert crawl.said(f"{site.origin}/") == ("waiting", "not_modified")
            assert len(crawl.documents()) == 1

    asyncio.run(run())


def test_an_origin_whose_robots_cannot_be_read_rests_and_is_not_fetched(crawl: Crawl) -> None:
    """C4."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": answer(status="500 No"), "/": page()}) as site:
            crawl.seed(f"{site.origin}/", f"{site.origin}/other")
            made = await crawl.run(site)
            assert site.asked_paths() == ["/robots.txt"]
            assert made.counts == {"robots_unreadable": 1}
            assert made.resting_count == 2
            assert crawl.url(f"{site.origin}/")["attempt_count"] == 0

    asyncio.run(run())


def test_a_lease_lasts_as_long_as_its_request(crawl: Crawl) -> None:
    """The page takes longer than the lease's first term."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": slow(3.4, page())}) as site:
            crawl.seed(f"{site.origin}/")
            made = await crawl.run(site)
            assert made.counts == {"fetched": 1}
            assert [reason for _, reason in crawl.events(f"{site.origin}/")] == ["added", "claimed", "fetched"]

    asyncio.run(run())


def test_a_lease_that_was_taken_away_commits_nothing(crawl: Crawl) -> None:
    """C9: the origin is killed while the page is on its way."""

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS}) as site:

            async def killing(writer: asyncio.StreamWriter) -> None:
                set_switch(crawl.frontier, site.origin, "killed", reason="complaint", actor="ann")
                await page("/linked")(writer)

            site.behaviours["/"] = killing
            crawl.seed(f"{site.origin}/")
            stop = asyncio.Event()
            crawl_run = asyncio.create_task(crawl.run(site, stop=stop, is_until_idle=False))
            while crawl.events(f"{site.origin}/")[-1][1] in {"added", "claimed", "killed"}:
                await asyncio.sleep(0.05)
            stop.set()
            made = await crawl_run
            assert made.counts == {"lease_lost": 1}
            assert crawl.events(f"{site.origin}/")[-1] == ("", "stale_commit")
            assert crawl.documents() == {}
            assert crawl.said(f"{site.origin}/linked") == (None, "")
            assert crawl.url(f"{site.origin}/")["reason"] == "killed"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("behaviour", "stop_seconds", "ended"),
    [(slow(1.0, page()), 60.0, ("waiting", "fetched")), (silence, 0.2, ("ready", "worker_stopped"))],
    ids=["in time", "too slow"],
)
def test_a_stop_lets_requests_end_and_gives_the_rest_back(
    crawl: Crawl, behaviour: Behaviour, stop_seconds: float, ended: tuple[str, str]
) -> None:
    async def run() -> None:
        async with (
            HostileSite(behaviours={"/robots.txt": ROBOTS, "/": behaviour}) as site,
            HostileSite(behaviours={"/robots.txt": answer(b"User-agent: *\nCrawl-delay: 60\n")}) as waiting,
        ):
            crawl.seed(f"{site.origin}/", f"{waiting.origin}/")
            stop = asyncio.Event()
            crawl_run = asyncio.create_task(crawl.run(site, waiting, stop=stop, stop_seconds=stop_seconds))
            while "/" not in site.asked_paths() or crawl.origin(waiting.origin)["crawl_delay_micros"] is None:
                assert not crawl_run.done()
                await asyncio.sleep(0.05)
            stop.set()
            made = await crawl_run
            assert made.is_stopped
            assert made.lease_count == 2
            assert crawl.said(f"{site.origin}/") == ended
            assert crawl.said(f"{waiting.origin}/") == ("ready", "worker_stopped")
            assert crawl.url(f"{waiting.origin}/")["attempt_count"] == 0
            assert waiting.asked_paths() == ["/robots.txt"]
            ours = receipt_of(crawl.frontier, site.origin, 0, FOREVER)
            assert ours.request_count == 2, "what was cut off is in the log too"

    asyncio.run(run())


def test_a_worker_that_is_killed_loses_nothing_and_nobody_is_asked_too_soon(crawl: Crawl) -> None:
    """Law 12, C18: two processes; one dies with a request in flight, and another takes its place."""

    async def run() -> None:
        async with HostileSite() as a, HostileSite() as b:
            for site in (a, b):
                paths = [f"/{number}" for number in range(5)]
                site.behaviours |= {"/robots.txt": ROBOTS, "/": page(*paths)} | {path: page() for path in paths}
                crawl.seed(f"{site.origin}/")
            processes: dict[str, asyncio.subprocess.Process] = {}

            async def deadly(writer: asyncio.StreamWriter) -> None:
                a.behaviours["/2"] = page()
                victim = processes[crawl.url(f"{a.origin}/2")["lease_owner"]]
                victim.kill()
                await victim.wait()
                writer.close()
                processes["restarted"] = await _process(crawl, a, b, "restarted")

            a.behaviours["/2"] = deadly
            for name in ("first", "second"):
                processes[name] = await _process(crawl, a, b, name)
            for name in ("first", "second", "restarted"):
                await processes[name].wait()
            assert sorted(one.returncode or 0 for one in processes.values()) == [-9, 0, 0]
            assert set(crawl.documents()) == {
                f"{site.origin}/{path}" for site in (a, b) for path in ("", *map(str, range(5)))
            }
            for site in (a, b):
                check_polite(site)
            assert ("ready", "lease_expired") in crawl.events(f"{a.origin}/2")

    asyncio.run(run())


HOLD = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('BEGIN EXCLUSIVE'); print(flush=True); input()"


def test_what_was_finished_while_the_database_was_away_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process locks the database while a page is on its way: nothing is claimed, and nothing is lost."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    crawl = Crawl(tmp_path)
    crawl.frontier = replace(crawl.frontier, policy=replace(POLICY, lease_micros=600 * SECOND_MICROS))

    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/linked": page()}) as site:
            holders: list[asyncio.subprocess.Process] = []

            async def locking(writer: asyncio.StreamWriter) -> None:
                file = crawl.database.removeprefix("sqlite:///")
                command = (sys.executable, "-c", HOLD, file)
                pipe = asyncio.subprocess.PIPE
                holder = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
                assert holder.stdout is not None
                await holder.stdout.readline()
                holders.append(holder)
                await page("/linked")(writer)

            site.behaviours["/"] = locking
            crawl.seed(f"{site.origin}/", f"{site.origin}/linked")
            crawl_run = asyncio.create_task(crawl.run(site))
            spool = tmp_path / "spool" / "w1.spool"
            while not spool.exists() or b'"kind":"page"' not in spool.read_bytes():
                assert not crawl_run.done()
                await asyncio.sleep(0.05)
            assert "/linked" not in site.asked_paths(), "no new lease while the database is away"
            await holders[0].communicate(b"\n")
            made = await crawl_run
            assert made.counts == {"spooled": 1, "fetched": 1}
            assert set(crawl.documents()) == {f"{site.origin}/", f"{site.origin}/linked"}
            assert receipt_of(crawl.frontier, site.origin, 0, FOREVER).request_count == len(site.asked_paths()) == 3
            check_polite(site)
            assert list(spool.parent.iterdir()) == []

    try:
        asyncio.run(run())
        crawl.check_counts()
    finally:
        crawl.frontier.close()


async def _process(crawl: Crawl, a: HostileSite, b: HostileSite, owner: str) -> asyncio.subprocess.Process:
    ports = f"{a.port},{b.port}"
    arguments = ("-m", "tests.support.crawl_child", crawl.database, str(crawl.bodies), ports, owner)
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT)


def test_an_error_that_is_no_page_s_fault_ends_the_worker_and_is_raised(crawl: Crawl) -> None:
    async def run() -> None:
        async with HostileSite(behaviours={"/robots.txt": ROBOTS, "/": page()}) as site:
            crawl.seed(f"{site.origin}/")
            crawl.bodies.write_text("no folder", encoding="utf-8")
            with pytest.raises(OSError, match="bodies"):
                await crawl.run(site)
            assert crawl.url(f"{site.origin}/")["state"] == "leased", "its lease runs out, and it is fetched again"

    asyncio.run(run())


def test_settings_say_how_a_worker_crawls(tmp_path: Path) -> None:
    values = {"crawl_contact_url": "https://crawler.example/", "crawl_revisit_hours": 2, "crawl_scope": "host"}
    made: WorkerParams = params_from(settings_from(values, tmp_path), "w", 3, True)
    assert (made.scope, made.most_in_hand, made.unconditional_per_mille) == ("host", 3, 50)
    usual = {"news": 1, "landing": 24, "general": 2, "documentation": 720}
    assert made.revisits == {name: hours * 3_600 * SECOND_MICROS for name, hours in usual.items()}
    once = params_from(settings_from({**values, "crawl_revisit_hours": 0}, tmp_path), "w", 3, True)
    assert once == replace(made, revisits={name: one for name, one in made.revisits.items() if name != "general"})
    with pytest.raises(SettingError, match="crawl_contact_url"):
        params_from(settings_from({}, tmp_path), "w", 1, True)
