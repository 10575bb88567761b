"""HTTP as uvicorn speaks it, with bounds on what a stranger may send before a request is complete.

Belongs here: bytes and seconds of a request's head, and the answer to what cannot be read as a request. uvicorn has no
such bounds of its own with this parser.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from services.click.refusals import Refusal, RefusalReason

MAX_HEAD_BYTES = 65_535
"""Of the URL, and of request line and headers together; the parser cannot take a longer URL apart."""

HEAD_TIMEOUT_SECONDS = 10.0
"""From the connection, or the first byte of a later request, to the end of its headers."""

LINGER_SECONDS = 1.0
"""How long a refused connection is still read: closed at once, it would take the answer away from a sender that is
still sending."""


class ClickProtocol(HttpToolsProtocol):
    """One connection. Names are uvicorn's; each method adds its bound and leaves the rest to it.

    ``app`` is the ``ClickApp``, which counts what never reached it as a request.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_in_head = True
        self._is_in_first_line = True
        self._head_bytes = 0
        self._has_begun_anew = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._found_too_large: RefusalReason | None = None
        self._is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._head_timer is None:
            self._start_timer()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._stop_timer()
        url_bytes = len(self.url)
        if url_bytes > MAX_HEAD_BYTES:
            self._found_too_large = "query_too_long"
        elif url_bytes + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            self._found_too_large = "oversized_request"
        if self._found_too_large:
            raise ValueError(self._found_too_large)  # ends the parsing; uvicorn then calls send_400_response
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head, self._is_in_first_line, self._head_bytes = True, True, 0
        self._has_begun_anew = True
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._has_begun_anew = False
        super().data_received(data)
        if self._is_refused or not self._is_in_head or self._has_begun_anew:
            return
        # A head that is not complete yet: it may not grow for ever.
        self._head_bytes += len(data)
        self._is_in_first_line = self._is_in_first_line and b"\n" not in data
        if self._head_bytes > MAX_HEAD_BYTES:
            self._found_too_large = "query_too_long" if self._is_in_first_line else "oversized_request"
            self.send_400_response("")

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's name and meaning
        if self._found_too_large:
            refusal = Refusal(self._found_too_large, f"a request of at most {MAX_HEAD_BYTES} bytes before its body")
        else:
            refusal = Refusal("malformed_request", "a request as RFC 9112 defines it")
        self.app.count(refusal)
        self._is_refused = True
        self._stop_timer()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()  # an answer to the request before it is under way; two would be mixed up
            return
        headers = b"".join(b"%b: %b\r\n" % header for header in (*refusal.headers, (b"connection", b"close")))
        self.transport.write(b"".join((STATUS_LINE[refusal.status], headers, b"\r\n", refusal.body)))
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _start_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
