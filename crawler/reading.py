"""One answer read within its limits: what its status says, its headers, its body as far as it may be read.

Belongs here: from the response of the HTTP client to reason, answer and body. Does not belong here: sending the request
(``crawler/fetch.py``), header syntax (``crawler/answer_headers.py``).
"""

from __future__ import annotations

from datetime import datetime

from aiohttp import ClientResponse
from aiohttp.hdrs import CONTENT_ENCODING, CONTENT_TYPE, LOCATION, RETRY_AFTER

from crawler.answer_headers import (
    SNIFFED_BYTES,
    UNTOLD_TYPES,
    declared_type,
    media_type,
    retry_after_seconds,
    validators_of,
)
from crawler.decoding import BadCodingError, Stage, codings_of, decoder
from crawler.egress import EgressGuard, EgressRefusedError
from crawler.outcomes import Answer, FetchLimits, FetchReason, Validators
from crawler.urls import UrlRefusedError, normalise
from domain.frontier import UrlIdentity

REDIRECTS = frozenset({301, 302, 303, 307, 308})
THROTTLES = frozenset({429, 503})
NO_VALIDATORS = Validators()
KEPT_REASONS = frozenset({"fetched", "wire_too_large", "decoded_too_large", "body_cut"})
"""With these a body, or its start, is handed on."""
_ROBOTS_TAG = "X-Robots-Tag"
_NOT_MODIFIED = 304
_CLIENT_ERRORS = range(400, 500)
_SERVER_ERRORS = range(500, 600)
_WITH_BODY = frozenset({200, 203})


class _BodyEndedError(Exception):
    """No more of a body is read, for this reason."""

    def __init__(self, reason: FetchReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Reading:
    """What is known so far of the answer to one request."""

    def __init__(self, url: UrlIdentity, sent: Validators, limits: FetchLimits) -> None:
        self._url = url
        self._sent = sent
        self._limits = limits
        self._body = bytearray()
        self._media_type: str | None = None
        self._is_sniffed = False
        self._redirect_to: UrlIdentity | None = None
        self._response: ClientResponse | None = None
        self.detail = ""
        self.wire_bytes = 0

    @property
    def has_headers(self) -> bool:
        return self._response is not None

    @property
    def status(self) -> int | None:
        return self._response.status if self._response else None

    def body(self, reason: FetchReason) -> bytes:
        """The body that goes with a reason."""
        return bytes(self._body) if reason in KEPT_REASONS else b""

    def answer(self, at: datetime) -> Answer | None:
        """What the headers said, if there were any. Pure."""
        if self._response is None:
            return None
        headers = self._response.headers
        return Answer(
            status=self._response.status,
            validators=validators_of(self._response.raw_headers),
            content_type=_text(headers.get(CONTENT_TYPE)),
            media_type=self._media_type,
            robots_tags=tuple(_text(tag) or "" for tag in headers.getall(_ROBOTS_TAG, ())),
            retry_after_seconds=retry_after_seconds(headers.get(RETRY_AFTER), at),
            redirect_to=self._redirect_to,
        )

    async def read(self, response: ClientResponse, guard: EgressGuard) -> FetchReason:
        """Read what the status makes worth reading. Waits for the network, and raises what the client raises."""
        self._response = response
        status = response.status
        if status in _WITH_BODY:
            return await self._page(response)
        if status in REDIRECTS and LOCATION in response.headers:
            return self._redirect(response.headers[LOCATION], guard)
        if status == _NOT_MODIFIED and self._sent != NO_VALIDATORS:
            return "not_modified"
        if status in THROTTLES:
            return "throttled"
        if status in _CLIENT_ERRORS:
            return "client_error"
        return "server_error" if status in _SERVER_ERRORS else "unexpected_status"

    def _redirect(self, location: str, guard: EgressGuard) -> FetchReason:
        try:
            target = normalise(location, self._url.url)
            guard.check_url(target.url)
        except (UrlRefusedError, EgressRefusedError) as error:
            self.detail = str(error)
            return "redirect_refused"
        self._redirect_to = target
        return "redirected"

    async def _page(self, response: ClientResponse) -> FetchReason:
        if not self._is_wanted(declared_type(response.headers.get(CONTENT_TYPE))):
            return "type_refused"
        codings = codings_of(",".join(response.headers.getall(CONTENT_ENCODING, ())))
        if codings is None:
            return "coding_refused"
        stage = decoder(codings, self._take)
        try:
            async for chunk in response.content.iter_any():
                self._take_from_wire(chunk, stage)
            stage.end()
            self._sniff()
        except BadCodingError as error:
            self.detail = str(error)
            return "bad_coding"
        except _BodyEndedError as end:
            return end.reason
        return "fetched"

    def _take_from_wire(self, chunk: bytes, stage: Stage) -> None:
        room_bytes = self._limits.wire_bytes - self.wire_bytes
        self.wire_bytes += len(chunk)
        stage.take(chunk[:room_bytes])
        if len(chunk) > room_bytes:
            raise _BodyEndedError("wire_too_large")

    def _is_wanted(self, declared: str) -> bool:
        return self._limits.types is None or declared in UNTOLD_TYPES or declared in self._limits.types

    def _take(self, piece: bytes) -> None:
        room_bytes = self._limits.decoded_bytes - len(self._body)
        self._body += piece[:room_bytes]
        if not self._is_sniffed and len(self._body) >= SNIFFED_BYTES:
            self._sniff()
        if len(piece) > room_bytes:
            self._sniff()
            raise _BodyEndedError("decoded_too_large")

    def _sniff(self) -> None:
        if self._is_sniffed or self._response is None:
            return
        self._is_sniffed = True
        self._media_type = media_type(self._response.headers.get(CONTENT_TYPE), bytes(self._body[:SNIFFED_BYTES]))
        if self._limits.types is not None and self._media_type not in self._limits.types:
            raise _BodyEndedError("type_refused")


def _text(value: str | None) -> str | None:
    """A header as text that can be kept: bytes that are no UTF-8 are replaced."""
    return value if value is None else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
