"""The egress guard: which connections a crawler may open, judged by the address that is dialled.

Belongs here: schemes, ports, names, every answer of a name, and the last look at the very address of a socket. Each hop
of a redirect comes here again. Which addresses are public is ``domain/addresses.py``, robots.txt is
``crawler/robots.py``.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Any, Literal, NamedTuple

from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.names import Names
from crawler.urls import SCHEMES, UrlRefusedError, parse
from domain.addresses import Address, AddressFault, Network, address_fault
from domain.errors import SettingError, TallystickError

log = logging.getLogger("tallystick.crawler.egress")

DEFAULT_PORTS = {"http:": 80, "https:": 443}
LOCAL_NAMES = frozenset({"localhost", "ip6-localhost", "ip6-loopback"})
LOCAL_SUFFIXES = (".localhost", ".local", ".localdomain", ".internal", ".home.arpa", ".onion")
"""Names that mean something else on every network (``metadata.google.internal`` is one), so nobody is asked."""

EgressReason = AddressFault | Literal["unparsable", "scheme", "port", "local_name", "mixed_answers"]


class Connected(NamedTuple):
    """The other end of a connection, and when it was ready for the request."""

    address: str
    at: datetime


connected: ContextVar[Connected | None] = ContextVar("connected", default=None)
"""The newest connection of this task."""


class EgressRefusedError(TallystickError):
    """A connection was not opened, because policy forbids where it leads; `reason` says which rule."""

    def __init__(self, found: str, reason: EgressReason) -> None:
        super().__init__(f"{found} ({reason})", "a public address over http or https", "leave it out")
        self.reason = reason


@dataclass(frozen=True)
class EgressPolicy:
    """Ports that may be asked, and networks that are let through although they are not public: for tests alone."""

    ports: frozenset[int]
    test_networks: tuple[Network, ...] = ()


def policy_from(ports: str, test_networks: str) -> EgressPolicy:
    """The policy that two settings say, both lists with commas; ``SettingError`` names what is wrong."""
    try:
        numbers = frozenset(int(port) for port in ports.split(","))
    except ValueError:
        raise SettingError(f"setting crawl_ports is {ports!r}", "ports with commas, as 80,443", "correct it") from None
    try:
        networks = tuple(ip_network(part.strip()) for part in test_networks.split(",") if part.strip())
    except ValueError as error:
        raise SettingError(f"setting crawl_test_networks: {error}", "networks as 127.0.0.0/8", "correct it") from error
    return EgressPolicy(numbers, networks)


class EgressGuard:
    """Judges URLs before they are asked for and addresses before they are dialled. Every refusal is logged."""

    def __init__(self, policy: EgressPolicy) -> None:
        self._policy = policy
        if policy.test_networks:
            log.warning(
                "EGRESS GUARD OPEN for test networks %s: never on a computer that crawls the internet",
                ", ".join(map(str, policy.test_networks)),
            )

    def check_url(self, url: str) -> None:
        """``EgressRefusedError`` where the text of a URL is enough to know it. Pure but for the log."""
        try:
            parsed = parse(url)
        except UrlRefusedError:
            raise self._refusal(f"URL {url!r}", "unparsable") from None
        if parsed.protocol not in SCHEMES:
            raise self._refusal(f"URL {url}", "scheme")
        port = int(parsed.port or DEFAULT_PORTS[parsed.protocol])
        if port not in self._policy.ports:
            raise self._refusal(f"URL {url}", "port")
        self._check_host(parsed.hostname)

    def _check_host(self, host: str) -> None:
        literal = _literal(host)
        if literal is not None:
            self.check_answers(host, (literal,))
            return
        name = host.rstrip(".")
        if name in LOCAL_NAMES or name.endswith(LOCAL_SUFFIXES):
            raise self._refusal(f"name {host}", "local_name")

    def check_answers(self, name: str, addresses: tuple[Address, ...]) -> None:
        """``EgressRefusedError`` if any address of a name is forbidden: who mixes them tries something."""
        faults = {address: self.fault_of(address) for address in addresses}
        refused = {address: fault for address, fault in faults.items() if fault}
        if not refused:
            return
        shown = ", ".join(f"{address} {fault or 'public'}" for address, fault in faults.items())
        is_mixed = len(refused) < len(faults)
        raise self._refusal(f"{name}: {shown}", "mixed_answers" if is_mixed else next(iter(refused.values())))

    def fault_of(self, address: Address) -> AddressFault | None:
        """Why an address is forbidden. Pure."""
        return None if any(address in network for network in self._policy.test_networks) else address_fault(address)

    def open_socket(self, addr_info: tuple[Any, ...]) -> socket.socket:
        """A socket for this very address, checked once more: what is dialled came through no other door."""
        family, kind, protocol, _, (host, *_) = addr_info
        self.check_answers("connection", (ip_address(host),))
        return socket.socket(family=family, type=kind, proto=protocol)

    def _refusal(self, found: str, reason: EgressReason) -> EgressRefusedError:
        log.warning("refused %s: %s", found, reason)
        return EgressRefusedError(found, reason)


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


class _GuardedResolver(AbstractResolver):
    """Hands the connector only addresses that were checked, so that these are the ones it dials."""

    def __init__(self, guard: EgressGuard, names: Names) -> None:
        self._guard = guard
        self._names = names

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - of the interface; both are asked for
    ) -> list[ResolveResult]:
        addresses = await self._names.addresses_of(host)
        self._guard.check_answers(host, addresses)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,  # noqa: PLR2004 - IP's own number
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        await self._names.close()


class GuardedConnector(TCPConnector):
    """Connections that the guard let through. A connection that is used again is one that was checked."""

    def __init__(self, guard: EgressGuard, names: Names, clock: Callable[[], datetime], connections_count: int) -> None:
        self._clock = clock
        super().__init__(
            resolver=_GuardedResolver(guard, names),
            use_dns_cache=False,  # the cache of ``Names`` knows how long an answer holds
            socket_factory=guard.open_socket,
            limit=connections_count,
        )

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        """As aiohttp's, and notes the address for the record of the request."""
        connection = await super().connect(*args, **kwargs)
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        connected.set(Connected(peer[0], self._clock()) if peer else None)
        return connection
