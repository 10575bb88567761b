"""What the HTTP sender asks for, against a local server that checks links as the click service does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from threading import enumerate as enumerate_threads
from urllib.parse import urlsplit

import pytest

from domain.errors import UsageError
from domain.links import parse_link
from domain.signing import KeyRing, SignedLink, SigningKey
from tests.traffic.samples import options, planned
from traffic import http_sender
from traffic.event import PlannedEvent
from traffic.http_sender import ClickService, ClickServiceError, send_over_http

RING = KeyRing((SigningKey("k1", bytes(32)),))
AT = datetime(2026, 3, 1, tzinfo=UTC)
KNOWN_ADS = range(10_001, 10_021)
RUN = options(clicks_count=400).over_http()


@dataclass
class Peer:
    """A server that answers as the click service does, and what it was asked."""

    url: str = ""
    ads_counts: list[int] = field(default_factory=lambda: [20])
    status_of_known: int = 302
    requests: list[tuple[str, int, str, bool, str]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/readyz":
                count = peer.ads_counts.pop(0) if len(peer.ads_counts) > 1 else peer.ads_counts[0]
                self._answer(200, json.dumps({"status": "ready", "ads_count": count}).encode())
                return
            link = parse_link(urlsplit(self.path).query.encode())
            if not isinstance(link, SignedLink) or RING.fault_of(link, AT):
                self._answer(403)
                return
            is_prefetch = self.headers.get("Sec-Purpose") == "prefetch"
            asked = (link.impression_id, link.ad_id, self.command, is_prefetch, self.headers["User-Agent"])
            with peer.lock:
                peer.requests.append(asked)
            self._answer(peer.status_of_known if link.ad_id in KNOWN_ADS else 404)

        do_HEAD = do_GET  # noqa: N815 - named by the library

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        peer.url = f"http://127.0.0.1:{server.server_port}"
        yield peer
        server.shutdown()


def _asked_for(event: PlannedEvent) -> tuple[str, int, str, bool, str]:
    method = "HEAD" if event.kind == "head" else "GET"
    agent = json.loads(event.value or b"")["user_agent"]
    return event.key.decode(), event.dimensions.ad_id, method, event.kind == "prefetch", agent


def test_each_record_is_a_signed_request_and_those_of_a_key_keep_their_order(peer: Peer) -> None:
    events, looked_at = planned(RUN), list[PlannedEvent]()
    send_over_http(ClickService(peer.url, RING), events, looked_at.append)
    assert looked_at == events
    assert sorted(peer.requests) == sorted(map(_asked_for, events))
    for key in {event.key for event in events if event.has_copies}:
        asked = [request for request in peer.requests if request[0] == key.decode()]
        assert asked == [_asked_for(event) for event in events if event.key == key]


def test_another_answer_ends_the_run(peer: Peer) -> None:
    peer.status_of_known = 503
    with pytest.raises(ClickServiceError, match="answered 503"):
        send_over_http(ClickService(peer.url, RING), planned(RUN), lambda _: None)
    assert len(peer.requests) < RUN.clicks_count


def test_one_wrong_answer_leaves_no_lane_behind(peer: Peer) -> None:
    events = planned(RUN)
    wrong = events[0]._replace(dimensions=events[0].dimensions._replace(ad_id=7), reason=None)
    with pytest.raises(ClickServiceError, match="answered 404"):
        send_over_http(ClickService(peer.url, RING), [wrong, *events], lambda _: None)
    deadline = time.monotonic() + 10
    while any("_send_all" in thread.name for thread in enumerate_threads()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_wrong_key_ends_the_run(peer: Peer) -> None:
    other = KeyRing((SigningKey("k1", bytes(31) + b"x"),))
    with pytest.raises(ClickServiceError, match="answered 403"):
        send_over_http(ClickService(peer.url, other), planned(RUN), lambda _: None)


def test_no_service_there(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_sender, "READY_TIMEOUT_SECONDS", 0.5)
    nowhere = ClickService("http://127.0.0.1:9", RING)
    with pytest.raises(ClickServiceError, match="no answer from http://127"):
        send_over_http(nowhere, planned(RUN)[:1], lambda _: None)
    with pytest.raises(ClickServiceError, match="start `tallystick click`"):
        nowhere.wait_until_ready(20)


def test_it_waits_until_the_service_knows_the_ads(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    peer.ads_counts = [0, 7, 20]
    ClickService(peer.url, RING).wait_until_ready(20)
    assert peer.ads_counts == [20]
    monkeypatch.setattr(http_sender, "READY_TIMEOUT_SECONDS", 0.5)
    with pytest.raises(ClickServiceError, match="knows 21 ads"):
        ClickService(peer.url, RING).wait_until_ready(21)


@pytest.mark.parametrize("url", ["127.0.0.1:18310", "ftp://host", "http://", "http://host/v1/c"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="--via-http"):
        ClickService(url, RING)
