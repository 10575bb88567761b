"""Look-ups against a name server of our own: every answer, as long as it holds."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest

from crawler.names import NameFailedError, Names
from tests.support.hostile_site import LyingNames


async def _asked(server: LyingNames, *names: str) -> list[tuple[str, ...] | str]:
    known = Names((server.server,), timeout_seconds=4.0)
    found: list[tuple[str, ...] | str] = []
    for name in names:
        try:
            found.append(tuple(map(str, await known.addresses_of(name))))
        except NameFailedError as error:
            found.append(error.reason)
    await known.close()
    return found


def test_all_addresses_of_both_kinds() -> None:
    async def run() -> None:
        async with LyingNames(answers={"a.test": [["192.0.2.1", "2001:db8::1", "192.0.2.2"]]}) as server:
            assert await _asked(server, "a.test") == [("192.0.2.1", "192.0.2.2", "2001:db8::1")]

    asyncio.run(run())


@pytest.mark.parametrize(("ttl_seconds", "look_ups_count"), [(60, 1), (0, 3)])
def test_an_answer_holds_as_long_as_it_says(ttl_seconds: int, look_ups_count: int) -> None:
    async def run() -> None:
        answers = {"a.test": [["192.0.2.1"], ["192.0.2.2"], ["192.0.2.3"]]}
        async with LyingNames(answers=answers, ttl_seconds=ttl_seconds) as server:
            found = await _asked(server, "a.test", "a.test", "a.test")
            assert len(set(found)) == look_ups_count
            assert server.questions.count(("a.test", 1)) == look_ups_count

    asyncio.run(run())


def test_why_there_is_no_address() -> None:
    async def run() -> None:
        async with LyingNames(answers={"text.test": [[]]}, failing={"broken.test"}) as server:
            names = ("gone.test", "broken.test", "text.test", "a..test")
            assert await _asked(server, *names) == ["no_such_name", "dns_failed", "no_such_name", "no_such_name"]

    asyncio.run(run())


def test_a_failure_is_not_kept() -> None:
    async def run() -> None:
        async with LyingNames(failing={"a.test"}) as server:
            known = Names((server.server,), timeout_seconds=4.0)
            with pytest.raises(NameFailedError):
                await known.addresses_of("a.test")
            server.failing.clear()
            server.answers["a.test"] = [["192.0.2.1"]]
            assert await known.addresses_of("a.test") == (ip_address("192.0.2.1"),)
            await known.close()

    asyncio.run(run())
