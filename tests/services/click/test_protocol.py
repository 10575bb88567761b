"""HTTP on a real socket: what is no request, too long or too slow gets one clear answer and no stack trace."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import uvicorn
import uvloop

from domain.links import CLICK_PATH
from services.click import protocol
from services.click.server import uvicorn_config
from services.listening import listen
from tests.support.click_parts import ClickParts, home_with_ads


class Service:
    """The app behind uvicorn in a thread, on a free port of loopback."""

    def __init__(self, parts: ClickParts) -> None:
        self.parts = parts
        self._listener = listen("127.0.0.1", 0, "click_port")
        self.port: int = self._listener.getsockname()[1]
        self._server = uvicorn.Server(uvicorn_config(parts.app))
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._server.serve(sockets=[self._listener]))

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def send(self, *pieces: bytes) -> bytes:
        """Sends the pieces and returns everything that came back until the service closed."""
        with self.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
            return _read_all(connection)


def _read_all(connection: socket.socket) -> bytes:
    received = b""
    while chunk := connection.recv(65_536):
        received += chunk
    return received


def _request(target: str, *headers: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: x", *headers, "Connection: close", "", ""]).encode()


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def _body(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(ClickParts(home_with_ads(tmp_path))) as running:
        yield running


@pytest.fixture(autouse=True)
def no_complaint(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No request makes uvicorn log an exception or anything print one."""
    yield
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_redirect_on_the_wire(service: Service) -> None:
    answer = service.send(_request(f"{CLICK_PATH}?{service.parts.query()}"))
    assert _status(answer) == 302
    assert b"location: https://shop.example/landing?from=ad&n=17\r\n" in answer
    assert b"cache-control: no-store\r\n" in answer
    assert b"\r\nserver:" not in answer


def test_a_head_has_no_body_whatever_the_answer(service: Service) -> None:
    """R1"""
    served = service.send(_request(f"{CLICK_PATH}?{service.parts.query()}", method="HEAD"))
    refused = service.send(_request(CLICK_PATH, method="HEAD"))
    assert (_status(served), _body(served)) == (302, b"")
    assert (_status(refused), _body(refused)) == (400, b"")


@pytest.mark.parametrize(
    ("pieces", "status", "error"),
    [
        pytest.param([b"NONSENSE\r\n\r\n"], 400, "malformed_request", id="no HTTP"),
        pytest.param([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"], 400, "malformed_request", id="TLS"),
        pytest.param([b"GET /v1/c?imp=\x00 HTTP/1.1\r\nHost: x\r\n\r\n"], 400, "malformed_request", id="NUL"),
        pytest.param([b"GET /v1/c?imp=\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n"], 400, "malformed_request", id="not ASCII"),
        pytest.param([b"GET /\xc3\xbc HTTP/1.1\r\nHost: x\r\n\r\n"], 400, "malformed_request", id="UTF-8 path"),
        pytest.param([b"GET /v1/c HTTP/1.1\r\nA b: c\r\n\r\n"], 400, "malformed_request", id="header name"),
        pytest.param([_request("/v1/c?imp=" + "a" * 5_000)], 414, "query_too_long", id="5 KB"),
        pytest.param([_request("/v1/c?imp=" + "a" * 60_000)], 414, "query_too_long", id="60 KB"),
        pytest.param([_request("/v1/c?imp=" + "a" * 65_536)], 414, "query_too_long", id="64 KB"),
        pytest.param([b"GET /v1/c?imp=", *[b"a" * 9_000] * 10], 414, "query_too_long", id="endless URL in pieces"),
        pytest.param([_request(CLICK_PATH, "X: " + "a" * 70_000)], 431, "oversized_request", id="large header"),
        pytest.param(
            [_request(CLICK_PATH)[:-2], *[b"X: y\r\n" * 2_000] * 10], 431, "oversized_request", id="endless headers"
        ),
        pytest.param([_request(CLICK_PATH + "?imp=a%00b&ad=1&kid=k&sig=s")], 400, "malformed_parameter", id="%00"),
        pytest.param([_request(CLICK_PATH + "?imp=a%0d%0aLocation:%20x")], 400, "malformed_parameter", id="CR LF"),
        pytest.param([_request(CLICK_PATH + "?imp=%ff%fe%c0%80")], 400, "malformed_parameter", id="invalid UTF-8"),
        pytest.param([_request(CLICK_PATH + "?imp=a&imp=b")], 400, "repeated_parameter", id="repeated"),
        pytest.param([_request(CLICK_PATH, method="DELETE")], 405, "method_not_allowed", id="method"),
    ],
)
def test_bad_input(service: Service, pieces: list[bytes], status: int, error: str) -> None:
    """Each is answered once, in JSON, and counted."""
    answer = service.send(*pieces)
    assert _status(answer) == status
    assert answer.count(b"HTTP/1.1 ") == 1
    assert orjson.loads(_body(answer))["error"] == error
    assert service.parts.refusals == {error: 1}
    assert service.parts.journal.records == []


@pytest.mark.parametrize("path", ["/", "//elsewhere.example/v1/c", "/v1/c/", "/v1/%63?x", "/v1/c%00", "/v1/../v1/c"])
def test_other_paths_are_not_found_or_the_click_path(service: Service, path: str) -> None:
    answer = service.send(_request(path))
    assert _status(answer) in {400, 404}
    assert b"location:" not in answer


def test_a_post_with_a_body_is_refused_and_the_connection_goes_on(service: Service) -> None:
    post = b"POST /v1/c HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"b" * 100_000
    answer = service.send(post + _request(f"{CLICK_PATH}?{service.parts.query()}"))
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert b"HTTP/1.1 302 " in answer


def test_requests_one_after_another_on_one_connection(service: Service) -> None:
    """Also close together, and the second one too long: the bound is each request's own."""
    good = _request(f"{CLICK_PATH}?{service.parts.query()}").replace(b"Connection: close\r\n", b"")
    assert service.send(good + good + _request("/healthz")).count(b"HTTP/1.1 302 ") == 2
    with service.connect() as connection:
        for _ in range(3):
            connection.sendall(good)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 302 ")
        connection.sendall(_request("/v1/c?imp=" + "a" * 65_536))
        assert _read_all(connection).startswith(b"HTTP/1.1 414 ")


def test_nonsense_behind_a_request_that_waits_ends_the_connection(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.click.app.SETTLED_WITHIN_SECONDS", 0.4)
    service.parts.journal.acknowledges_at_once = False
    good = _request(f"{CLICK_PATH}?{service.parts.query()}").replace(b"Connection: close\r\n", b"")
    assert service.send(good, b"NONSENSE\r\n\r\n") == b""
    assert service.parts.refusals["malformed_request"] == 1


def test_an_offered_upgrade_is_declined_by_serving(service: Service) -> None:
    """Some HTTP clients offer HTTP/2 on every plain request."""
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    query = service.parts.query()
    request = "\r\n".join([f"GET {CLICK_PATH}?{query} HTTP/1.1", "Host: x", *upgrade, "", ""]).encode()
    with service.connect() as connection:
        connection.sendall(request)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 302 ")


def test_a_slow_head_is_cut_off(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_SECONDS", 0.2)
    with service.connect() as silent, service.connect() as dripping:
        dripping.sendall(b"GET /v1/c?imp=")
        assert _read_all(silent) == b""
        assert _read_all(dripping) == b""


def test_a_waiting_answer_is_not_cut_off(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is on the head alone: an answer may take as long as the log does."""
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_SECONDS", 0.1)
    service.parts.journal.acknowledges_at_once = False
    monkeypatch.setattr("services.click.app.SETTLED_WITHIN_SECONDS", 0.4)
    assert _status(service.send(_request(f"{CLICK_PATH}?{service.parts.query()}"))) == 302
