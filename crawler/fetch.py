"""One request to one URL: guarded, bounded in time and bytes, and never followed anywhere by itself.

Belongs here: the HTTP client and what turns its answers and failures into outcomes. Does not belong here: whether and
when a URL may be asked for (frontier, ``crawler/robots.py``), and what a body says (``crawler/parse.py``).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar
from yarl import URL

from crawler.answer_headers import conditional_headers
from crawler.decoding import ACCEPTED_CODINGS
from crawler.egress import EgressGuard, EgressRefusedError, GuardedConnector, connected
from crawler.failures import failure_reason, timeout_reason
from crawler.names import NameFailedError, Names
from crawler.outcomes import FetchLimits, FetchOutcome, FetchReason, RequestRecord, Validators
from crawler.reading import NO_VALIDATORS, Reading
from domain.errors import SettingError
from domain.frontier import UrlIdentity
from domain.robots import product_token

AGENT_VERSION = "1.0"
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.1"
MAX_HEADER_LINE_BYTES = 8_190
MAX_HEADERS_COUNT = 100
CONNECTIONS_COUNT = 1_000
PAGE_LIMITS = FetchLimits()
_READ_BYTES = 64 * 1024


@dataclass(frozen=True)
class Agent:
    """Who asks: the product token that robots.txt knows us by, and a page where owners of sites learn what this is."""

    token: str
    contact_url: str

    def __post_init__(self) -> None:
        if product_token(self.token) != self.token.lower() or not self.token:
            raise SettingError(f"setting crawl_agent is {self.token!r}", "letters, - and _", "name the crawler so")
        is_printable = self.contact_url.isascii() and self.contact_url.isprintable()
        if not self.contact_url.startswith(("http://", "https://")) or not is_printable:
            raise SettingError(
                f"setting crawl_contact_url is {self.contact_url!r}",
                "the address of a page about this crawler, for the owners of sites",
                "set it before anything is crawled",
            )

    @property
    def header(self) -> str:
        return f"{self.token}/{AGENT_VERSION} (+{self.contact_url})"


class Fetcher:
    """Asks for URLs, in one event loop. Closed as a context; ``tls`` None trusts the system's authorities."""

    def __init__(
        self,
        agent: Agent,
        guard: EgressGuard,
        names: Names,
        clock: Callable[[], datetime],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._tls = tls if tls is not None else ssl.create_default_context()
        self._session = ClientSession(
            connector=GuardedConnector(guard, names, clock, CONNECTIONS_COUNT),
            cookie_jar=DummyCookieJar(),
            headers={"User-Agent": agent.header, "Accept": ACCEPT, "Accept-Encoding": ACCEPTED_CODINGS},
            auto_decompress=False,
            trust_env=False,  # a proxy of the environment would dial what the guard never sees
            max_line_size=MAX_HEADER_LINE_BYTES,
            max_field_size=MAX_HEADER_LINE_BYTES,
            max_headers=MAX_HEADERS_COUNT,
            read_bufsize=_READ_BYTES,
        )
        self._session._retry_connection = False  # it would ask twice, and we would know of one

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def fetch(
        self, url: UrlIdentity, validators: Validators = NO_VALIDATORS, limits: FetchLimits = PAGE_LIMITS
    ) -> FetchOutcome:
        """Ask once. Every failure is an outcome, and each call is one request with one record, or none on the wire.

        May be repeated. Nothing is asked again by itself, no redirect is followed, no cookie is kept.
        """
        begun_at = self._clock()
        connected.set(None)
        reading = Reading(url, validators, limits)
        reason, detail = await self._asked(url, validators, limits, reading)
        ended_at = self._clock()
        peer = connected.get()
        record = RequestRecord(
            url=url.url,
            origin=url.origin,
            address=peer.address if peer else None,
            started_at=peer.at if peer else begun_at,
            ended_at=ended_at,
            status=reading.status,
            wire_bytes=reading.wire_bytes,
            reason=reason,
        )
        return FetchOutcome(record, reason, detail, reading.answer(ended_at), reading.body(reason))

    async def _asked(
        self, url: UrlIdentity, validators: Validators, limits: FetchLimits, reading: Reading
    ) -> tuple[FetchReason, str]:
        total = asyncio.timeout(limits.total_seconds)
        try:
            self._guard.check_url(url.url)
            async with total:
                reason = await self._answered(url, validators, limits, reading)
        except TimeoutError as error:
            return timeout_reason(error, total.expired(), reading.has_headers), str(error)
        except (EgressRefusedError, NameFailedError) as error:
            return error.reason, str(error)
        except (ClientError, OSError, ValueError) as error:
            return failure_reason(error), f"{type(error).__name__}: {error}"
        return reason, reading.detail

    async def _answered(
        self, url: UrlIdentity, validators: Validators, limits: FetchLimits, reading: Reading
    ) -> FetchReason:
        async with asyncio.timeout(limits.headers_seconds):
            response = await self._session.get(
                URL(url.url, encoded=True),
                headers=conditional_headers(validators),
                allow_redirects=False,
                ssl=self._tls,
                timeout=ClientTimeout(sock_connect=limits.connect_seconds, sock_read=limits.idle_seconds),
            )
        try:
            return await reading.read(response, self._guard)
        finally:
            response.release()  # closes the connection where more of the answer would come
