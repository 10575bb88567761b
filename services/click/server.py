"""The click service as a process: start, serve, refresh, stop.

Belongs here: the order in which things start and end. A stop is: no new connection, the running requests answered, the
log's last acknowledgement, the spool shipped, the refusals reported, then the closing watermark; so nothing it says can
turn out wrong.
"""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import uvicorn
import uvloop

from domain.errors import SettingError, TallystickError
from domain.events import FIELDS
from domain.settings import Settings
from services.click.app import ClickApp
from services.click.catalogue import Catalogue
from services.click.fleet import Fleet
from services.click.gauges import ClickMetrics, Parts
from services.click.inflight import InFlight
from services.click.journal import SETTLED_WITHIN_SECONDS, JournalUnavailableError, LogJournal, LogWriter
from services.click.protocol import ClickProtocol
from services.click.refusals import RefusalTally
from services.click.registration import register
from services.click.reports import WATERMARK_SECONDS, Reporter
from services.click.shipper import Shipper
from services.click.spool import Spool
from services.click.spooled_journal import SpooledJournal
from services.click.standing import Standing
from services.listening import listen
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.locks import writer_lock

REFRESH_SECONDS = 5.0
STOP_TIMEOUT_SECONDS = 10
"""How long a stop waits for visitors that take their answer slowly."""

_SETTLING_POLL_SECONDS = 0.02

Report = Callable[[str], None]


class ClosingError(TallystickError):
    """The service ended without telling the log that nothing more is on its way."""

    is_transient = True


def run_click_service(settings: Settings, report: Report) -> None:
    """Serves until SIGTERM or SIGINT, then stops gracefully. ``report`` hears what a person should know."""
    pattern = next(field.pattern for field in FIELDS if field.name == "server_id") or ""
    if not re.fullmatch(pattern, settings.server_id):
        raise SettingError(f"setting server_id is {settings.server_id!r}", f"text that matches {pattern}", "correct it")
    with listen(settings.bind_address, settings.click_port, "click_port") as listener:
        create_missing_tables(settings)
        if settings.click_workers == 1:
            run_worker(settings, listener, report)
        else:
            Fleet(settings, listener, run_worker, report).run()


def run_worker(settings: Settings, listener: socket.socket, report: Report) -> None:
    """Serves on a socket that may be shared, until SIGTERM or SIGINT."""
    with (
        writer_lock(settings, f"click-{settings.server_id}"),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        catalogue = Catalogue(settings)
        runner.run(_serve(settings, catalogue, listener, report))


async def _serve(settings: Settings, catalogue: Catalogue, listener: socket.socket, report: Report) -> None:
    process = ClickProcess(settings, catalogue, report)
    await process.serve(listener)


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handlers: they end the process when its own shutdown is over, and ours has
    only begun by then."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ClickProcess:
    """One run of the service. Made in the event loop that it runs in."""

    def __init__(self, settings: Settings, catalogue: Catalogue, report: Report) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._report = report
        self._stopping = asyncio.Event()
        self._told_lost_count = 0
        self._in_flight = InFlight(now())
        self._writer = LogWriter(settings)
        self._spool = Spool(settings.spool_path, settings.spool_limit_bytes, report)
        self._standing = Standing(settings.spool_path)
        self._shipper = Shipper(self._spool, self._writer, settings, now)
        log = LogJournal(self._writer, settings.clicks_topic)
        self._journal = SpooledJournal(log, self._spool, settings.log_budget_seconds, now)
        tally = RefusalTally()
        self._app = ClickApp(
            settings=settings,
            catalogue=catalogue,
            journal=self._journal,
            in_flight=self._in_flight,
            tally=tally,
            now=now,
        )
        parts = Parts(self._app, self._in_flight, self._spool, self._journal, self._shipper)
        self._metrics = ClickMetrics(settings.spool_path, parts, now)
        self._app.show_metrics(self._metrics.text)
        self._reporter = Reporter(settings, self._writer, self._accepted_until, tally, now)
        self._server = _Server(uvicorn_config(self._app))

    async def serve(self, listener: socket.socket) -> None:
        """Returns after a graceful stop; raises what keeps the service from serving or from closing in order."""
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(signal_number, self._stop)
        self._serve_by_standing()
        reporting = asyncio.create_task(self._keep_reporting())
        shipping = asyncio.create_task(self._shipper.run(self._journal))
        for task in (reporting, shipping):
            task.add_done_callback(lambda _: self._stop())  # while serving they end by an error only
        refreshing = asyncio.create_task(self._keep_refreshing())
        try:
            await self._server.serve(sockets=[listener])
            self._stopping.set()
            await reporting
            await self._close(shipping)
        finally:
            refreshing.cancel()
            shipping.cancel()
            await self._spool.close()
            await self._writer.close()

    def _stop(self) -> None:
        self._server.should_exit = True

    def _accepted_until(self, at: datetime) -> datetime:
        """Before this the log has everything: nothing earlier is in flight, given up but not settled, or spooled."""
        known = (self._in_flight.accepted_until(at), self._spool.oldest_waiting, self._journal.oldest_unsettled)
        return min(one for one in known if one is not None)

    def _serve_by_standing(self) -> None:
        """A server that hours wait for already need not wait for the log before it answers."""
        promised_until = self._standing.promised_until()
        if promised_until is not None:
            self._in_flight.keep_promise(promised_until)
            self._app.is_registered = True

    async def _close(self, shipping: asyncio.Task[None]) -> None:
        """What was accepted is settled first: a closing watermark says that nothing more is on its way."""
        deadline = asyncio.get_running_loop().time() + 2 * SETTLED_WITHIN_SECONDS
        while len(self._in_flight) or self._journal.oldest_unsettled:
            if asyncio.get_running_loop().time() > deadline:
                raise ClosingError(
                    f"{len(self._in_flight):,} clicks are not settled: the disk of the spool does not answer",
                    "each in the log or in the spool",
                    "see to that disk and start this server once more; until then hours wait",
                )
            await asyncio.sleep(_SETTLING_POLL_SECONDS)
        await self._ship_the_rest(shipping)
        if not (self._app.is_registered or self._reporter.has_announced):
            return
        self._standing.end()
        try:
            await self._reporter.send_all_refusals()
            await self._reporter.send_watermark(is_closing=True)
        except JournalUnavailableError as error:
            server_id = self._settings.server_id
            raise ClosingError(
                f"no closing watermark of server {server_id}: {error.found}",
                "a log that acknowledges it",
                f"start this server once more, or run `tallystick servers retire {server_id}`; until then hours wait",
            ) from error
        self._report("click service stopped; the log has everything it accepted")

    async def _ship_the_rest(self, shipping: asyncio.Task[None]) -> None:
        """``ClosingError`` if the log does not take it in time; it stays where it is, and hours wait for it."""
        deadline = asyncio.get_running_loop().time() + SETTLED_WITHIN_SECONDS
        while self._spool.waiting_bytes and not shipping.done() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_SETTLING_POLL_SECONDS)
        if shipping.done():
            shipping.result()
        if self._spool.waiting_bytes:
            waiting = f"{self._spool.waiting_bytes:,} bytes of clicks wait"
            raise ClosingError(
                f"server {self._settings.server_id} stopped while {waiting} in {self._settings.spool_path}",
                "a log that takes them",
                "start this server once more when the log is back; it ships them first, and until then hours wait",
            )

    async def _keep_reporting(self) -> None:
        registering = asyncio.create_task(register(self._settings, self._reporter, self._in_flight, now, self._report))
        if not await self._is_done_before_stop(registering):
            return
        self._app.is_registered = True
        self._report("click service is ready")
        trouble = _Trouble(self._report, "the log does not answer")
        while not await self._is_stopping_within(WATERMARK_SECONDS):
            self._tell_losses()
            with suppress(OSError):  # a full disk hides these samples from the other processes, and costs no click
                self._metrics.leave()
            try:
                promised_until = await self._reporter.send_watermark()
                await self._reporter.send_ended_minutes()
                with suppress(OSError):  # a full disk costs no click; the promise before this one stays good
                    self._standing.keep(promised_until)
            except JournalUnavailableError as error:
                if not self._writer.is_open:
                    raise  # its thread has died of a defect: no click can be logged any more
                trouble.met(error)
            else:
                trouble.over()

    def _tell_losses(self) -> None:
        lost_count = self._app.lost_count - self._told_lost_count
        if lost_count:
            self._report(
                f"LOST {lost_count:,} clicks: neither the log nor the spool takes them; visitors are redirected"
            )
            self._told_lost_count = self._app.lost_count

    async def _keep_refreshing(self) -> None:
        refreshes = (self._catalogue.refresh_keys, self._catalogue.refresh_ads)
        troubles = [_Trouble(self._report, f"{refresh.__name__} failed") for refresh in refreshes]
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            for refresh, trouble in zip(refreshes, troubles, strict=True):
                try:
                    await asyncio.to_thread(refresh)
                except Exception as error:  # noqa: BLE001  whatever it is, what is known stays in force
                    trouble.met(error)
                else:
                    trouble.over()

    async def _is_done_before_stop(self, task: asyncio.Task[None]) -> bool:
        """Waits for the task, and raises what it raises; if a stop comes first, cancels it."""
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not task.done():
            task.cancel()
            return False
        task.result()
        return True

    async def _is_stopping_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()


class _Trouble:
    """Tells a person when something begins to fail and when it works again, not each time it fails."""

    def __init__(self, report: Report, what: str) -> None:
        self._report = report
        self._what = what
        self._is_on = False

    def met(self, error: Exception) -> None:
        if not self._is_on:
            self._report(f"{self._what}: {error}")
        self._is_on = True

    def over(self) -> None:
        if self._is_on:
            self._report(f"{self._what}: works again")
        self._is_on = False


def uvicorn_config(app: ClickApp) -> uvicorn.Config:
    """How uvicorn serves the app."""
    return uvicorn.Config(
        app,
        interface="asgi3",
        http=ClickProtocol,
        ws="none",
        lifespan="off",
        # The address in an event is the peer's; which proxies to believe is not settled here.
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        log_level="error",
        timeout_graceful_shutdown=STOP_TIMEOUT_SECONDS,
    )
