"""A web server on loopback that does to a crawler whatever a test tells it, byte by byte, and a name server that lies.

Belongs here: sockets and what goes over them. What a crawler should make of it is in the tests.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from crawler.egress import EgressPolicy
from domain.addresses import Network
from domain.receipts import RequestRow

LOOPBACK = ip_network("127.0.0.0/8")
CERTIFICATE = Path(__file__).with_suffix(".pem")
"""A key and a certificate that nobody else trusts, for 127.0.0.1 and good.test, until 2126."""

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> Behaviour:
    """A whole answer; underscores of header names are hyphens."""
    return raw(head(status, content_length=str(len(body)), **headers) + body)


def head(status: str = "200 OK", **headers: str) -> bytes:
    """A status line and headers, to which a test adds what it likes."""
    named = {"content_type": "text/html", **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in named.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def raw(data: bytes, is_closed: bool = False) -> Behaviour:
    """These bytes; then the connection is closed, or waits for the next request."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if is_closed:
            writer.close()

    return behave


def repeated(first: bytes, again: bytes, pause_seconds: float = 0.0) -> Behaviour:
    """The first bytes, then others for ever."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while not writer.is_closing():
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause_seconds)

    return behave


async def silence(writer: asyncio.StreamWriter) -> None:
    """Nothing, for as long as the other side bears it."""
    while not writer.is_closing():
        await asyncio.sleep(0.05)


@dataclass
class HostileSite:
    """A server with a behaviour for each path; everything that is asked is in ``asked``."""

    address: str = "127.0.0.1"
    is_tls: bool = False
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    rows: list[RequestRow] = field(default_factory=list)
    """When each request was here, by this server's own clock, and answered or broken off."""
    connections_count: int = 0
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._taken, self.address, self.port, ssl=self._tls())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _tls(self) -> ssl.SSLContext | None:
        if not self.is_tls:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        return context

    @property
    def origin(self) -> str:
        return self.origin_as(self.address)

    def origin_as(self, name: str) -> str:
        return f"{'https' if self.is_tls else 'http'}://{name}:{self.port}"

    def policy(self, *networks: Network) -> EgressPolicy:
        """A policy that lets this site be asked, in these networks or on all of loopback."""
        return EgressPolicy(frozenset({self.port}), networks or (LOOPBACK,))

    def asked_paths(self) -> list[str]:
        return [request.path for request in self.asked]

    def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections_count += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            while not writer.is_closing():
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("utf-8", "surrogateescape").split("\r\n")
                path = lines[0].split(" ")[1]
                pairs = [line.partition(": ") for line in lines[1:] if line]
                self.asked.append(Asked(path, {name.lower(): value for name, _, value in pairs}))
                begun_seconds = time.monotonic()
                try:
                    await self.behaviours.get(path, answer(status="404 Not Found"))(writer)
                finally:
                    self.rows.append(RequestRow(int(begun_seconds * 1e6), int(time.monotonic() * 1e6), None))
        writer.close()


_TYPES = {1: 4, 28: 6}
_NO_SUCH_NAME, _SERVER_FAILED = 3, 2


@dataclass
class LyingNames(asyncio.DatagramProtocol):
    """A name server. ``answers`` has for each name the lists of addresses that it gives one look-up after another, the
    last one for ever. A name that is in ``failing`` fails, any other unknown one does not exist.
    """

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    ttl_seconds: int = 0
    questions: list[tuple[str, int]] = field(default_factory=list)
    _transport: asyncio.DatagramTransport | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    @property
    def server(self) -> str:
        port = self._transport.get_extra_info("sockname")[1] if self._transport else 0
        return f"127.0.0.1:{port}"

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._transport is not None:
            self._transport.sendto(self._reply(data), addr)

    def _reply(self, data: bytes) -> bytes:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode().lower())
            at += 1 + data[at]
        name, (kind,) = ".".join(labels), struct.unpack("!H", data[at + 1 : at + 3])
        question = data[12 : at + 5]
        asked_before_count = self.questions.count((name, kind))
        self.questions.append((name, kind))
        lists = self.answers.get(name, [])
        code = _SERVER_FAILED if name in self.failing else (0 if lists else _NO_SUCH_NAME)
        given = lists[min(asked_before_count, len(lists) - 1)] if lists and not code else []
        packed = [ip_address(one).packed for one in given if ip_address(one).version == _TYPES.get(kind)]
        records = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, self.ttl_seconds, len(address)) + address for address in packed
        )
        return data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(packed), 0, 0) + question + records
