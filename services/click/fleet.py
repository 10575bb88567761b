"""Several click processes on one port: each a server of its own to the log, with its own name, spool and watermarks.

Belongs here: starting them on one listening socket, starting again what has died, and stopping all. A worker that dies
takes only the requests that it had in hand; what waits in the socket goes to the others.
"""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import connection, get_context
from multiprocessing.context import SpawnProcess
from types import FrameType

from domain.errors import TallystickError
from domain.settings import Settings

Report = Callable[[str], None]
Worker = Callable[[Settings, socket.socket, Report], None]

RESTART_SECONDS = 1.0
_LOOK_SECONDS = 0.5
_WRONG_CODES = (2, 3)
"""Of a setting that is wrong, or a name that is taken: starting again would not mend it."""


class FleetError(TallystickError):
    """A click worker ended with an error."""


class Fleet:
    """The workers of one installation. ``run`` returns after SIGTERM or SIGINT, when all have stopped."""

    def __init__(self, settings: Settings, listener: socket.socket, worker: Worker, report: Report) -> None:
        self._settings = settings
        self._listener = listener
        self._worker = worker
        self._report = report
        self._is_stopping = False
        self._codes: dict[int, int] = {}

    def run(self) -> None:
        """``FleetError`` if a worker could not start, or did not stop in order."""
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, self._stop)
        running = {number: self._start(number) for number in range(self._settings.click_workers)}
        is_told = False
        while running:
            connection.wait([process.sentinel for process in running.values()], timeout=_LOOK_SECONDS)
            for number in [number for number, process in running.items() if not process.is_alive()]:
                self._ended(number, running)
            if self._is_stopping and not is_told:
                for process in running.values():
                    process.terminate()  # once: a second one would end it in the middle of its stop
                is_told = True
        failed = {name_of(self._settings, number): code for number, code in sorted(self._codes.items()) if code}
        if failed:
            told = ", ".join(f"{name} with {code}" for name, code in failed.items())
            raise FleetError(f"click workers ended: {told}", "each with 0", "see what they said, and start again")

    def _start(self, number: int) -> SpawnProcess:
        own = replace(self._settings, server_id=name_of(self._settings, number))
        arguments = (self._worker, own, self._listener, self._report)
        process = get_context("spawn").Process(target=_run_worker, args=arguments, name=own.server_id)
        process.start()
        return process

    def _ended(self, number: int, running: dict[int, SpawnProcess]) -> None:
        code = running.pop(number).exitcode or 0
        if self._is_stopping or code in _WRONG_CODES:
            self._codes[number] = 0 if code == -signal.SIGTERM else code  # told to stop before it could listen
            self._is_stopping = True
            return
        self._report(f"click worker {name_of(self._settings, number)} ended with {code}; it is started again")
        time.sleep(RESTART_SECONDS)
        running[number] = self._start(number)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True


def name_of(settings: Settings, number: int) -> str:
    """The server id of a worker, counted from 0: the first has the one that is set."""
    return settings.server_id if number == 0 else f"{settings.server_id}.{number + 1}"


def _run_worker(worker: Worker, settings: Settings, listener: socket.socket, report: Report) -> None:
    try:
        worker(settings, listener, report)
    except TallystickError as error:
        report(f"error: {settings.server_id}: {error}")
        sys.exit(error.exit_code)
