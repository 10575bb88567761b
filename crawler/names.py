"""Addresses of names, from DNS alone, kept as long as the answers say.

Belongs here: look-ups and their cache. Does not belong here: which address may be dialled (``crawler/egress.py``).
Neither the hosts file nor search domains are read: a page's name means the same on every computer.
"""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Literal, NamedTuple

from aiodns import DNSResolver
from aiodns.error import ARES_EBADNAME, ARES_ENODATA, ARES_ENOTFOUND, DNSError
from pycares import AAAARecordData, ARecordData, DNSResult

from domain.addresses import Address
from domain.errors import TallystickError

LONGEST_TTL_SECONDS = 3_600
"""An answer may ask for days; a site that moves should not be lost that long."""
MAX_NAMES_COUNT = 100_000
RECORD_TYPES = ("A", "AAAA")
_ABSENT = frozenset({ARES_ENOTFOUND, ARES_ENODATA, ARES_EBADNAME})

NameFault = Literal["no_such_name", "dns_failed"]


class NameFailedError(TallystickError):
    """A name has no address, or none that could be found out now; `reason` tells these apart."""

    is_transient = True

    def __init__(self, name: str, reason: NameFault) -> None:
        super().__init__(f"name {name} ({reason})", "at least one address", "ask again later")
        self.reason = reason


class _Kept(NamedTuple):
    addresses: tuple[Address, ...]
    until_seconds: float


class Names:
    """Looks names up, in the event loop that it is made in. ``servers`` are ``address:port``; none: the system's."""

    def __init__(self, servers: tuple[str, ...] = (), timeout_seconds: float = 5.0) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout_seconds = timeout_seconds
        self._resolver = DNSResolver(nameservers=servers or None, loop=self._loop, timeout=timeout_seconds / 2, tries=2)
        self._kept: dict[str, _Kept] = {}

    async def addresses_of(self, name: str) -> tuple[Address, ...]:
        """Every address of a name, IPv4 first. Waits for the network; ``NameFailedError`` without an address."""
        kept = self._kept.get(name)
        if kept and self._loop.time() < kept.until_seconds:
            return kept.addresses
        addresses, ttl_seconds = await self._look_up(name)
        self._keep(name, _Kept(addresses, self._loop.time() + min(ttl_seconds, LONGEST_TTL_SECONDS)))
        return addresses

    def _keep(self, name: str, kept: _Kept) -> None:
        self._kept.pop(name, None)
        if len(self._kept) >= MAX_NAMES_COUNT:
            del self._kept[next(iter(self._kept))]
        self._kept[name] = kept

    async def _look_up(self, name: str) -> tuple[tuple[Address, ...], int]:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                questions = (self._resolver.query_dns(name, record_type) for record_type in RECORD_TYPES)
                answers = await asyncio.gather(*questions, return_exceptions=True)
        except TimeoutError:
            raise NameFailedError(name, "dns_failed") from None
        found = [record for answer in answers if isinstance(answer, DNSResult) for record in answer.answer]
        typed = [(record.data, record.ttl) for record in found]
        addresses = tuple(ip_address(data.addr) for data, _ in typed if isinstance(data, ARecordData | AAAARecordData))
        if not addresses:
            raise NameFailedError(name, _fault_of(answers))
        return addresses, min(ttl_seconds for _, ttl_seconds in typed)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._resolver.close()


def _fault_of(answers: list[DNSResult | BaseException]) -> NameFault:
    """Only if every question was answered with no, there is no such name."""
    codes = [answer.args[0] for answer in answers if isinstance(answer, DNSError)]
    is_absent = all(code in _ABSENT for code in codes)
    return "no_such_name" if is_absent else "dns_failed"
