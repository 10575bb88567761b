"""Sending a plan through the click service, as browsers would: signed links, HEAD, prefetch, user agents.

Belongs here: requests and the check of their answers. Clicks of one impression are sent one after the other, each
after the answer to the one before, so that the log has them in this order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Full, Queue
from threading import Thread
from urllib.parse import urlsplit
from zlib import crc32

import orjson

from domain.errors import TallystickError, UsageError
from domain.links import CLICK_PATH, link_query
from domain.signing import KeyRing
from traffic.event import PlannedEvent

CONNECTIONS = 8
WAITING_PER_CONNECTION = 200
TIMEOUT_SECONDS = 30
READY_TIMEOUT_SECONDS = 60
POLL_SECONDS = 0.2


class ClickServiceError(TallystickError):
    """The click service does not answer, or not as it should. What was sent so far is in the log."""


class ClickService:
    """A click service by its address, ``http://host:port`` or ``https://host:port``."""

    def __init__(self, base_url: str, key_ring: KeyRing) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise UsageError(f"--via-http {base_url}", "an address like http://127.0.0.1:18310", "correct it")
        self.base_url = base_url
        self._make = HTTPConnection if parts.scheme == "http" else HTTPSConnection
        self._host, self._port = parts.hostname, parts.port
        self._key_ring = key_ring

    def connect(self) -> HTTPConnection:
        """A connection that is opened by its first request."""
        return self._make(self._host, self._port, timeout=TIMEOUT_SECONDS)

    def wait_until_ready(self, ads_count: int) -> None:
        """Returns once the service knows that many ads; it reads the catalogue now and then."""
        started = time.monotonic()
        while True:
            found = self._readiness()
            if found.get("status") == "ready" and found.get("ads_count") == ads_count:
                return
            if time.monotonic() - started > READY_TIMEOUT_SECONDS:
                raise ClickServiceError(
                    f"{self.base_url}/readyz says {found}",
                    f"a ready click service that knows {ads_count} ads",
                    "start `tallystick click` with the same TALLYSTICK_HOME",
                )
            time.sleep(POLL_SECONDS)

    def _readiness(self) -> dict[str, object]:
        connection = self.connect()
        try:
            connection.request("GET", "/readyz")
            found: dict[str, object] = orjson.loads(connection.getresponse().read())
        except (OSError, HTTPException, orjson.JSONDecodeError) as error:
            return {"status": f"nothing ({error})"}
        else:
            return found
        finally:
            connection.close()

    def request(self, connection: HTTPConnection, event: PlannedEvent) -> None:
        """Sends one record as the request that it would come from, and checks the answer."""
        link = self._key_ring.sign(event.key.decode(), event.dimensions.ad_id)
        headers = {"User-Agent": orjson.loads(event.value or b"{}")["user_agent"]}
        if event.kind == "prefetch":
            headers["Sec-Purpose"] = "prefetch"
        expected = HTTPStatus.FOUND if event.reason is None else HTTPStatus.NOT_FOUND
        try:
            connection.request(
                "HEAD" if event.kind == "head" else "GET", f"{CLICK_PATH}?{link_query(link)}", headers=headers
            )
            response = connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            raise ClickServiceError(
                f"no answer from {self.base_url}: {error!r}", "an answer to every request", "see to the click service"
            ) from error
        if response.status != expected:
            raise ClickServiceError(
                f"{self.base_url} answered {response.status} {body[:200]!r}", f"{expected.value}", "see to its log"
            )


class _Lane:
    """A thread with a connection of its own that sends what is put into it, in order."""

    def __init__(self, service: ClickService) -> None:
        self._service = service
        self._waiting: Queue[PlannedEvent | None] = Queue(WAITING_PER_CONNECTION)
        self._is_cancelled = False
        self._error: TallystickError | None = None
        self._thread = Thread(target=self._send_all, daemon=True)
        self._thread.start()

    def put(self, event: PlannedEvent | None) -> None:
        """Waits for room; raises what an earlier request ended in. None is the end."""
        while True:
            if self._error is not None:
                raise self._error
            try:
                self._waiting.put(event, timeout=POLL_SECONDS)
            except Full:
                continue
            return

    def finish(self) -> None:
        """Returns when everything is answered as it should be."""
        self.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def cancel(self) -> None:
        """What waits is not sent any more."""
        self._is_cancelled = True
        with suppress(Full):  # a full lane looks at the flag after its next record
            self._waiting.put_nowait(None)

    def _send_all(self) -> None:
        connection = self._service.connect()
        try:
            while (event := self._waiting.get()) is not None and not self._is_cancelled:
                self._service.request(connection, event)
        except TallystickError as error:
            self._error = error
        finally:
            connection.close()


def send_over_http(
    service: ClickService, events: Iterable[PlannedEvent], look_at: Callable[[PlannedEvent], None]
) -> None:
    """Sends all records and returns when every one is answered as it should be; ``ClickServiceError`` otherwise.

    ``look_at`` gets each record before it is sent. Not repeatable: what was sent stays sent.
    """
    lanes = [_Lane(service) for _ in range(CONNECTIONS)]
    try:
        for event in events:
            look_at(event)
            lanes[crc32(event.key) % len(lanes)].put(event)
        for lane in lanes:
            lane.finish()
    finally:
        for lane in lanes:
            lane.cancel()
