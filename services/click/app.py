"""The ASGI app: one request, from its line to its answer.

Belongs here: the order of the checks, and what is answered. A redirect is written in one place, after the journal has
the click, or has given it up: then the loss is counted, and the visitor is redirected all the same. Does not belong
here: starting, reporting and stopping (``server.py``, ``reports.py``).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack
from datetime import datetime
from http import HTTPStatus
from typing import Any

import orjson

from domain.links import CLICK_PATH, LinkFault, parse_link
from domain.settings import Settings
from domain.signing import SignatureFault, SignedLink
from services.click.ad_map import ServedAd
from services.click.catalogue import Catalogue
from services.click.events import Stamp, event_bytes
from services.click.inflight import InFlight
from services.click.journal import SETTLED_WITHIN_SECONDS, Journal, JournalUnavailableError
from services.click.refusals import EVERY_ANSWER, METHODS, Refusal, RefusalReason, RefusalTally, json_headers
from services.click.targets import location_of
from services.click.visitor import Visitor, visitor_of
from services.click.whereabouts import Whereabouts
from services.exposition import CONTENT_TYPE

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_SIGNATURE_EXPECTED: dict[SignatureFault, str] = {
    "unknown_key": "the id of a key that this service knows",
    "bad_signature": "the signature that the key makes for imp and ad",
    "expired_key": "a key whose term has not ended",
    "expired_link": "a link whose time, exp, has not come",
}


_LOOPBACK = frozenset(("127.0.0.1", "::1"))
_FORWARDED = frozenset((b"x-forwarded-for", b"forwarded", b"via", b"x-real-ip"))
_AT_FAULT: dict[SignatureFault, str] = {"bad_signature": "sig", "expired_link": "exp"}


class ClickApp:
    """Answers requests. ``is_registered`` is set once the log has our first watermark; no click is served before."""

    def __init__(
        self,
        *,
        settings: Settings,
        catalogue: Catalogue,
        journal: Journal,
        in_flight: InFlight,
        tally: RefusalTally,
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._journal = journal
        self._in_flight = in_flight
        self._tally = tally
        self._now = now
        self._whereabouts = Whereabouts(settings)
        self._metrics: Callable[[], str] = str
        self.is_registered = False
        self.lost_count = 0
        self.redirect_count = 0
        self.refusal_counts: Counter[RefusalReason] = Counter()

    def show_metrics(self, metrics: Callable[[], str]) -> None:
        """What ``/metrics`` answers, to this machine alone: how many clicks there are is nobody's business outside."""
        self._metrics = metrics

    @property
    def ads_count(self) -> int:
        return len(self._catalogue.ads)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        match scope["path"]:
            case "/v1/c":
                await self._answer_click(scope, send)
            case "/healthz":
                await _answer(send, HTTPStatus.OK, {"status": "ok"})
            case "/readyz":
                await self._answer_ready(send)
            case "/metrics" if _is_local(scope):
                await _send_metrics(send, self._metrics())
            case _:
                await _answer(send, HTTPStatus.NOT_FOUND, {"error": "unknown_path", "expected": CLICK_PATH})

    async def _answer_ready(self, send: Send) -> None:
        status = HTTPStatus.OK if self.is_registered else HTTPStatus.SERVICE_UNAVAILABLE
        document = {
            "status": "ready" if self.is_registered else "waiting for the log",
            "ads_count": self.ads_count,
            "in_flight_count": len(self._in_flight),
        }
        await _answer(send, status, document)

    async def _answer_click(self, scope: Scope, send: Send) -> None:
        location = await self._take(scope)
        if isinstance(location, Refusal):
            self.count(location)
            await _refuse(send, location)
        else:
            self.redirect_count += 1
            await _redirect(send, location)

    def count(self, refusal: Refusal) -> None:
        """Counts a refused request for ``edge_counts``."""
        self.refusal_counts[refusal.reason] += 1
        self._tally.count(refusal.reason, self._now())

    async def _take(self, scope: Scope) -> bytes | Refusal:
        """Where to redirect to, once its click is durable or given up; or why there is no click."""
        link = self._checked_link(scope)
        if isinstance(link, Refusal):
            return link
        ad = self._catalogue.ads.get(link.ad_id)
        if ad is None:
            return Refusal("unknown_ad", "an ad of the ads table")
        if not self.is_registered:
            return Refusal("not_ready", "a service that the log knows; ask again in a moment")
        try:
            await self._log(link.impression_id, ad, self._visitor(scope))
        except JournalUnavailableError:
            self._tally.count("click_lost", self._now())
            self.lost_count += 1
        return location_of(ad.target_url, link.impression_id, ad.ad_id)

    def _visitor(self, scope: Scope) -> Visitor:
        return visitor_of(scope["method"], scope["headers"], scope["client"], self._whereabouts)

    def _checked_link(self, scope: Scope) -> SignedLink | Refusal:
        if scope["method"] not in METHODS:
            return Refusal("method_not_allowed", " or ".join(METHODS))
        link = parse_link(scope["query_string"])
        if isinstance(link, LinkFault):
            return Refusal(link.reason, link.expected, link.parameter)
        fault = self._catalogue.key_ring.fault_of(link, self._now())
        if fault is not None:
            return Refusal(fault, _SIGNATURE_EXPECTED[fault], _AT_FAULT.get(fault, "kid"))
        return link

    async def _log(self, impression_id: str, ad: ServedAd, visitor: Visitor) -> None:
        """Returns once the click is durable; ``JournalUnavailableError`` if that is not known in time.

        The click is in flight until the journal has settled it, however long its visitor waits, so that no watermark
        overtakes it.
        """
        ticket, clicked_at = self._in_flight.accept(self._now())
        with ExitStack() as on_failure:
            on_failure.callback(self._in_flight.settle, ticket)
            stamp = Stamp(self._settings.server_id, ticket, clicked_at)
            event = event_bytes(impression_id, ad, visitor, stamp)
            appended = self._journal.append(clicked_at, impression_id.encode(), event)
            on_failure.pop_all()
        appended.add_done_callback(lambda _: self._in_flight.settle(ticket))
        await asyncio.wait((appended,), timeout=SETTLED_WITHIN_SECONDS)
        if not appended.done():
            raise JournalUnavailableError(f"no answer of the journal within {SETTLED_WITHIN_SECONDS} s")
        appended.result()


async def _redirect(send: Send, location: bytes) -> None:
    headers = [*EVERY_ANSWER, (b"location", location), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": HTTPStatus.FOUND.value, "headers": headers})
    await send({"type": "http.response.body"})


async def _refuse(send: Send, refusal: Refusal) -> None:
    await send({"type": "http.response.start", "status": refusal.status.value, "headers": refusal.headers})
    await send({"type": "http.response.body", "body": refusal.body})


async def _answer(send: Send, status: HTTPStatus, document: dict[str, Any]) -> None:
    body = orjson.dumps(document)
    await send({"type": "http.response.start", "status": status.value, "headers": json_headers(body)})
    await send({"type": "http.response.body", "body": body})


async def _send_metrics(send: Send, text: str) -> None:
    body = text.encode()
    headers = [*EVERY_ANSWER, (b"content-type", CONTENT_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": HTTPStatus.OK.value, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _is_local(scope: Scope) -> bool:
    """Asked from this machine, and not through a proxy on it, which would say for whom."""
    client = scope["client"]
    is_forwarded = any(name in _FORWARDED for name, _ in scope["headers"])
    return client is not None and client[0] in _LOOPBACK and not is_forwarded
