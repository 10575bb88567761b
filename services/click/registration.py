"""How a click server becomes known to the log before it answers its first click.

Belongs here: the topics checked, the promise of an earlier process of this server kept, the first watermark. From then
on every hour waits for this server's watermarks, so no click of it can be missed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from datetime import datetime

from clicklog.clients import LogUnavailableError
from clicklog.topics import check_topics, ensure_topics
from clicklog.watermarks import Watermark, read_watermarks
from domain.buckets import format_utc
from domain.errors import TallystickError
from domain.events import FUTURE_BOUND
from domain.settings import Settings
from services.click.inflight import InFlight
from services.click.reports import WATERMARK_SECONDS, Reporter

RETRY_SECONDS = 1.0
_CONNECT_TIMEOUT_SECONDS = 2.0
_SILENT_SECONDS = 3 * WATERMARK_SECONDS
"""A server that sends no watermark for this long has ended."""
_WATERMARKS_OF_THE_LIVING = 2


class ServerNameError(TallystickError):
    """This server's id cannot be used: another process has it, or what was promised under it lies in the future."""

    exit_code = 2


async def register(
    settings: Settings,
    reporter: Reporter,
    in_flight: InFlight,
    now: Callable[[], datetime],
    report: Callable[[str], None],
) -> None:
    """Returns once the log has the first watermark; waits for the log as long as it takes.

    Raises what waiting does not mend: wrong topic settings, a server id that is taken.
    """
    is_told = False
    while True:
        try:
            await _keep_earlier_promise(settings, in_flight, now)
            await reporter.send_watermark()
        except TallystickError as error:
            if not error.is_transient:
                raise
            if not is_told:
                report(f"waiting for the log: {error.found}")
                is_told = True
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


def _check_reachable(settings: Settings) -> None:
    """A plain connection first: a Kafka client would try for many seconds before it says that nobody listens."""
    problem = "no address"
    for address in settings.bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT_SECONDS).close()
        except (OSError, ValueError) as error:
            problem = str(error)
        else:
            return
    raise LogUnavailableError(settings, problem)


async def _keep_earlier_promise(settings: Settings, in_flight: InFlight, now: Callable[[], datetime]) -> None:
    earlier = await asyncio.to_thread(_earlier_watermark, settings)
    if earlier is None:
        return
    if not earlier.is_closing:
        earlier = await _last_watermark_of_the_dead(settings, earlier)
    if earlier.accepted_until > now() + FUTURE_BOUND:
        raise ServerNameError(
            f"server {settings.server_id} promised all before {format_utc(earlier.accepted_until)}, in the future",
            "a clock that agrees with the one it had then",
            "mend the clock, or retire that server and set TALLYSTICK_SERVER_ID to a new id",
        )
    in_flight.keep_promise(earlier.accepted_until)


async def _last_watermark_of_the_dead(settings: Settings, earlier: Watermark) -> Watermark:
    """The newest watermark, once none comes any more. One may still come of a process that has ended; two never."""
    for _ in range(_WATERMARKS_OF_THE_LIVING):
        await asyncio.sleep(_SILENT_SECONDS)
        newest = await asyncio.to_thread(_earlier_watermark, settings)
        if newest is None or newest == earlier:
            return earlier
        earlier = newest
    raise ServerNameError(
        f"another process sends watermarks as server {settings.server_id}",
        "an id of its own for each click server",
        "stop the other one or set TALLYSTICK_SERVER_ID",
    )


def _earlier_watermark(settings: Settings) -> Watermark | None:
    _check_reachable(settings)
    if settings.is_broker_embedded:
        ensure_topics(settings)
    check_topics(settings)
    return read_watermarks(settings).get(settings.server_id)
