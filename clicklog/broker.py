"""The embedded broker: a real single-node KRaft Kafka, run as a child process on loopback.

Belongs here: its files under ``home/broker``, starting, waiting, stopping, and saying why it does not start. Any other
Kafka (setting ``kafka_bootstrap``) needs none of this. Topics are ``clicklog/topics.py``.
"""

from __future__ import annotations

import atexit
import base64
import fcntl
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from clicklog.java import find_java
from domain.errors import TallystickError
from domain.settings import Settings

LOOPBACK = "127.0.0.1"
START_TIMEOUT_SECONDS = 120
STOP_TIMEOUT_SECONDS = 30
LOCK_WAIT_SECONDS = 2
POLL_SECONDS = 0.1
CONNECT_TIMEOUT_SECONDS = 1
LEAST_FREE_BYTES = 512 * 1024 * 1024
"""Below this the broker would soon halt in the middle of a write; refused before it starts."""
SHOWN_LOG_LINES = 8
SHOWN_LOG_BYTES = 16_384

SHORT_LIVED_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a program of a second: a third less processor time."""
DATA_FOLDER = "data"
PROPERTIES_FILE = "server.properties"
"""Both relative to the folder that the broker runs in: Kafka reads an absolute path with a comma as two."""

PROPERTIES = """\
# Written at each start by clicklog/broker.py; changes made here are lost.
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
num.network.threads=2
num.io.threads=4
# Kept small: the default takes a third of our heap for one compacted topic that holds a record per click server.
log.cleaner.dedupe.buffer.size=8388608
"""


class BrokerError(TallystickError):
    """The embedded broker cannot run here."""


class BrokerRunningError(BrokerError):
    """The broker of this home already runs; ``pid`` is its process. Clients can simply use it."""

    def __init__(self, home: Path, pid: int) -> None:
        super().__init__(
            f"the broker of {home} already runs (process {pid})",
            "one broker a home",
            f"use it as it is, or end it first: kill {pid}",
        )
        self.pid = pid


@dataclass(frozen=True)
class BrokerFiles:
    """Where a home keeps its broker. The lock is held by the broker process itself, for as long as it lives."""

    folder: Path
    log: Path

    @classmethod
    def of(cls, settings: Settings) -> BrokerFiles:
        return cls(settings.home / "broker", settings.home / "logs" / "broker.log")

    @property
    def data(self) -> Path:
        return self.folder / DATA_FOLDER

    @property
    def lock(self) -> Path:
        return self.folder / "broker.lock"


class Broker:
    """A running broker. A context manager: leaving it stops the broker, and so does the end of this process."""

    def __init__(self, process: subprocess.Popen[bytes], bootstrap: str, log: Path) -> None:
        self._process = process
        self._log = log
        self.bootstrap = bootstrap
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """``BrokerError`` with the last lines of its log if the broker ended by itself."""
        if self._process.poll() is not None:
            raise _ended(self._process, self._log)

    def stop(self) -> None:
        """End the broker and wait for it; repeatable. What was acknowledged is kept."""
        _end(self._process)
        atexit.unregister(self.stop)

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def running_broker(settings: Settings) -> int | None:
    """The process id of this home's broker, whoever started it; None if it does not run."""
    lock = BrokerFiles.of(settings).lock
    if not lock.exists():
        return None
    with lock.open("r+") as file:
        return None if _try_lock(file) else _pid_in(file)


def start_broker(settings: Settings, report: Callable[[str], None] = lambda _: None) -> Broker:
    """Start this home's broker and wait until it accepts connections. ``report`` hears of progress.

    ``BrokerRunningError`` if it already runs, ``BrokerError`` for a busy port, missing jars, a full disk or a broker
    that ends at once (with the last lines of its log). The first start of a home also formats its storage.
    """
    java = find_java()
    class_path = _class_path(settings)
    files = BrokerFiles.of(settings)
    _prepare_folders(settings, files)
    with files.lock.open("a+") as lock:
        if not _wait_for_lock(lock):
            raise BrokerRunningError(settings.home, _pid_in(lock))
        _write_pid(lock, os.getpid())
        _check_ports(settings)
        (files.folder / PROPERTIES_FILE).write_text(_properties(settings), encoding="ascii")
        with files.log.open("ab") as log:
            if not (files.data / "meta.properties").exists():
                report("formatting the storage of a new broker")
                _format(java, class_path, files, log)
            process = _launch(_command(java, class_path, settings), files, lock, log)
    try:
        _wait_until_listening(process, settings, files, report)
    except BaseException:  # an interrupt too: whatever ends the wait, no broker is left behind
        _end(process)
        raise
    return Broker(process, settings.bootstrap, files.log)


def _class_path(settings: Settings) -> str:
    folder = settings.jars_path / "broker"
    if not any(folder.glob("kafka_*.jar")):
        raise BrokerError(f"no broker jars in {folder}", "the jars that set-up fetches", "run `make setup`")
    return f"{folder}/*"


def _prepare_folders(settings: Settings, files: BrokerFiles) -> None:
    try:
        for folder in (files.data, files.log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        free_bytes = shutil.disk_usage(files.data).free
    except OSError as error:
        raise BrokerError(
            f"{settings.home} cannot be written: {error.strerror}",
            "a folder of state that we may write",
            "mend its rights or set TALLYSTICK_HOME to another folder",
        ) from error
    if free_bytes < LEAST_FREE_BYTES:
        raise BrokerError(
            f"{free_bytes // 1024**2} MiB free on the disk of {settings.home}",
            f"at least {LEAST_FREE_BYTES // 1024**2} MiB",
            "make room or set TALLYSTICK_HOME to a folder on another disk",
        )


def _check_ports(settings: Settings) -> None:
    for port, role in ((settings.broker_port, "broker"), (settings.broker_port + 1, "broker's controller")):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except (OSError, OverflowError) as error:
                why = getattr(error, "strerror", None) or error
                raise BrokerError(
                    f"port {port} of {LOOPBACK} cannot be had for the {role}: {why}",
                    "two free ports in a row",
                    "end the program that listens there or set TALLYSTICK_BROKER_PORT to another port",
                ) from error


def _properties(settings: Settings) -> str:
    return PROPERTIES.format(
        host=LOOPBACK, port=settings.broker_port, controller_port=settings.broker_port + 1, data=DATA_FOLDER
    )


def _format(java: Path, class_path: str, files: BrokerFiles, log: IO[bytes]) -> None:
    cluster_id = "T" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
    tool = [str(java), *SHORT_LIVED_JVM, "-cp", class_path, "kafka.tools.StorageTool"]
    done = subprocess.run(  # noqa: S603  our own jars, our own arguments
        [*tool, "format", "-t", cluster_id, "-c", PROPERTIES_FILE],
        cwd=files.folder,
        stdout=log,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=START_TIMEOUT_SECONDS,
    )
    if done.returncode:
        raise BrokerError(
            "the broker's storage cannot be formatted",
            f"an empty folder {files.data}",
            _read(files.log),
        )


def _command(java: Path, class_path: str, settings: Settings) -> list[str]:
    heap = f"-Xmx{settings.broker_heap_mib}m"
    options = [heap, "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-Dlog4j2.level=WARN"]
    return [str(java), *options, "-cp", class_path, "kafka.Kafka", PROPERTIES_FILE]


def _launch(command: list[str], files: BrokerFiles, lock: IO[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """The broker process. It inherits the lock, which is therefore held until it is gone, however we end."""
    process = subprocess.Popen(  # noqa: S603  our own jars, our own arguments
        command,
        cwd=files.folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        pass_fds=(lock.fileno(),),
        # An interrupt typed at the terminal reaches us only; we stop the broker after those who still use it.
        start_new_session=True,
    )
    _write_pid(lock, process.pid)
    return process


def _wait_until_listening(
    process: subprocess.Popen[bytes], settings: Settings, files: BrokerFiles, report: Callable[[str], None]
) -> None:
    report(f"starting the broker at {settings.bootstrap}")
    started = time.monotonic()
    while time.monotonic() - started < START_TIMEOUT_SECONDS:
        if process.poll() is not None:
            raise _ended(process, files.log)
        if _is_listening(settings.broker_port):
            return
        time.sleep(POLL_SECONDS)
    raise BrokerError(
        f"the broker does not answer after {START_TIMEOUT_SECONDS} s",
        f"a listener on port {settings.broker_port}",
        _read(files.log),
    )


def _is_listening(port: int) -> bool:
    # A plain socket, because a Kafka client logs every refused connection.
    with socket.socket() as probe:
        probe.settimeout(CONNECT_TIMEOUT_SECONDS)
        return probe.connect_ex((LOOPBACK, port)) == 0


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_lock(file: IO[str]) -> bool:
    # Somebody who only looks whether the broker runs holds it for a moment, one that just stops a little longer.
    started = time.monotonic()
    while not _try_lock(file):
        if time.monotonic() - started > LOCK_WAIT_SECONDS:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _write_pid(file: IO[str], pid: int) -> None:
    file.truncate(0)
    file.write(str(pid))
    file.flush()


def _pid_in(file: IO[str]) -> int:
    file.seek(0)
    return int(file.read() or 0)


def _ended(process: subprocess.Popen[bytes], log: Path) -> BrokerError:
    return BrokerError(
        f"the broker ended by itself with code {process.returncode}", "a broker that keeps running", _read(log)
    )


def _read(log: Path) -> str:
    """The advice to read the log, with its last lines; Java's stack frames are left out."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - SHOWN_LOG_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    telling = [line for line in lines if not line.startswith("\t")]
    return "\n  ".join([f"read {log}, which ends", *telling[-SHOWN_LOG_LINES:]])
