"""``make up``: everything on this machine, until Ctrl-C: the embedded broker, and the processes of the Procfile.

Belongs here: what the processes must be told alike, the look at the ports before the first of them starts, and the
order: the broker is there before all others and goes after them, or a click server could not say that it has ended.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from contextlib import ExitStack

from honcho import manager
from honcho.environ import parse_procfile

from cli.checks import listener_of, ports_of
from cli.console import note, print_error, working
from cli.jars import REPOSITORY
from clicklog.broker import start_broker
from clicklog.topics import check_topics, ensure_topics
from domain.errors import TallystickError
from domain.settings import Settings
from warehouse.settings import load_settings

STOP_SECONDS = 60
"""A stream finishes the batch that is under way; honcho's own limit of five seconds would kill it."""
INTERRUPTED = 130


class DagsterStorageError(TallystickError):
    """Dagster could not make or open its folder of runs and schedules."""


class PortTakenError(TallystickError):
    """A port that one of the processes needs is taken."""


def commands(settings: Settings) -> dict[str, str]:
    """The shell command of each process of the Procfile, with what all of them must know alike."""
    processes = parse_procfile((REPOSITORY / "Procfile").read_text(encoding="utf-8")).processes
    return {name: f"{_exports(settings)}; exec {command}" for name, command in processes.items()}


def _exports(settings: Settings) -> str:
    variables = {
        "TALLYSTICK_HOME": settings.home,
        "TALLYSTICK_BIND_ADDRESS": settings.bind_address,
        "TALLYSTICK_DAGSTER_PORT": settings.dagster_port,
        "DAGSTER_HOME": REPOSITORY,
        "DAGSTER_STORAGE": settings.home / "dagster",
        "PYTHONUNBUFFERED": 1,
    }
    return "; ".join(f"export {name}={shlex.quote(str(value))}" for name, value in variables.items())


def prepare_dagster(settings: Settings) -> None:
    """Let one process make Dagster's storage: two that find none make it twice at once, and it is broken for good."""
    storage = settings.home / "dagster"
    made = storage / "made"
    if made.exists():
        return
    storage.mkdir(parents=True, exist_ok=True)
    with working("making Dagster's storage"):
        command = f"{_exports(settings)}; exec .venv/bin/dagster instance info"
        done = subprocess.run(  # noqa: S602  our own command, values quoted
            command,
            shell=True,
            cwd=REPOSITORY,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise DagsterStorageError(
            f"Dagster cannot make its storage: {done.stderr.strip().rsplit(chr(10), 1)[-1]}",
            f"a folder {storage} that it can use",
            "remove that folder and try again; it holds the history of runs, no figures",
        )
    made.touch()


def refuse_taken_ports(settings: Settings) -> None:
    """``PortTakenError`` for the first port that is not free; a process of ours is in the way as well."""
    for name, port in ports_of(settings):
        listener = listener_of(port)
        if listener is not None:
            raise PortTakenError(
                f"port {port} is taken by process {listener.pid or 'of another user'}",
                "free ports for everything that `make up` starts",
                f"end that process, or set TALLYSTICK_{name.upper()} to a free one",
            )


def up(settings: Settings) -> int:
    """Runs everything until one of the processes ends or Ctrl-C is typed; the exit code of the first that ended."""
    refuse_taken_ports(settings)
    prepare_dagster(settings)
    with ExitStack() as stack:
        if settings.is_broker_embedded:
            stack.enter_context(start_broker(settings, note))
            ensure_topics(settings)
        check_topics(settings)
        note(f"Dagster page: http://{settings.bind_address}:{settings.dagster_port}")
        manager.KILL_WAIT = STOP_SECONDS
        processes = manager.Manager()
        for name, command in commands(settings).items():
            processes.add_process(name, command, cwd=str(REPOSITORY))
        processes.loop()
        return int(processes.returncode or 0)


def main() -> None:
    """Entry point of ``python -m cli.up``."""
    try:
        sys.exit(up(load_settings()))
    except TallystickError as error:
        print_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
