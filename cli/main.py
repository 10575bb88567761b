"""The command line: which commands there are, and where an expected error becomes one line and an exit code.

A command is loaded when it is called, so that ``tallystick --help`` and short commands wait for nothing heavy.
"""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cli.console import out, print_error
from domain.errors import TallystickError

COMMANDS: dict[str, str] = {
    "demo": "the whole story on generated traffic, from a click to a closed month and an adjustment",
    "doctor": "what is missing or wrong on this computer, and the line that mends it",
    "status": "processes, lag per partition, last live batch, final_until, what the next seal waits for",
    "broker": "run the embedded Kafka broker",
    "click": "run the click service",
    "stream": "run the archive and the live count",
    "metrics": "run the metrics API",
    "generate": "send made-up traffic, and write down the truth about it",
    "ads": "the catalogue of ads",
    "import-log": "bring the clicks of an existing log into ours: an access log, JSON lines, CSV, Parquet",
    "verdicts": "fraud verdicts, taken in from files",
    "reconcile": "reconcile and seal hours",
    "proposals": "sealed hours that deserve another look: late clicks, newer verdicts",
    "counts": "clicks of ads by minute, hour or day, each row final or live",
    "sql": "all tables by SQL: a shell, one statement, or a file for BI tools and notebooks",
    "quality": "what is wrong with an hour, what holds it back, and who let it go",
    "alerts": "what is wrong, once for each cause; sends it to a webhook",
    "differences": "the clicks that only the live or only the final count of an hour has, each with its cause",
    "drift": "how far the live count was off in final hours, and how far it can be trusted",
    "outcomes": "gross, net and invalid clicks by reason, and what never became a click event",
    "final-until": "up to when every hour is sealed",
    "export": "write the statement of an advertiser for a closed period",
    "verify": "recount sealed hours from the raw log alone, and check the chain of seals",
    "what-if": "what another rule would have billed of sealed hours; changes nothing",
    "maintain": "delete what its retention is over of, compact and vacuum the big tables",
    "head": "keep the newest numbers and hashes of the ledgers somewhere else",
    "period": "close billing periods for ever, list the closed ones, and bill what is found later",
    "dispute": "open disputes, see what they rest on, pack the evidence, resolve them",
    "crawl": "the crawl: seeds, workers, how a domain stands, why a URL was or was not fetched, switches, opt-outs",
    "servers": "the click servers, and how one that will not come back is retired",
    "token": "make a token for the metrics API, or for who asks for an adjustment and who approves it",
    "reset": "delete the folder of state",
}
"""Name and one line of help; the command itself is in ``cli/commands``, under the same name."""

DISK_REMEDIES = {
    errno.ENOSPC: "free some space, or set TALLYSTICK_HOME to a folder on another disk",
    errno.EDQUOT: "free some space, or set TALLYSTICK_HOME to a folder on another disk",
    errno.EROFS: "set TALLYSTICK_HOME to a folder that can be written",
    errno.EACCES: "set TALLYSTICK_HOME to a folder that you may write",
}


class DiskError(TallystickError):
    """A file could not be written for a reason outside the program: no space, no permission."""


def load_command(name: str) -> Any:
    """The command of that name, as typer wants it. Imports its module."""
    module_name = name.replace("-", "_")
    module = import_module(f"cli.commands.{module_name}")
    command_app = getattr(module, "app", None)
    if command_app is None:
        command_app = typer.Typer(add_completion=False)
        command_app.command(name)(getattr(module, module_name))
    return typer.main.get_command(command_app)


class LazyCommands(TyperGroup):
    """Lists commands without loading them, loads the one that is called, and turns its errors into exit codes."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except TallystickError as error:
            refusal = error
        except OSError as error:
            if error.errno not in DISK_REMEDIES:
                raise
            found = f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
            refusal = DiskError(found, "a file that can be written", DISK_REMEDIES[error.errno])
        print_error(refusal)
        raise typer.Exit(refusal.exit_code)


app = typer.Typer(
    cls=LazyCommands,
    help="Counts every ad click twice, by a stream and by a batch, and bills what the batch has sealed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from warehouse.layout import code_version  # noqa: PLC0415  loads delta-rs

        out.print(code_version())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_show_version)] = False,
) -> None:
    pass


def _loaded_when_called() -> None:
    """Stands for a command in the list; ``LazyCommands`` replaces it before it could run."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_loaded_when_called)


def main() -> None:
    """The entry point of the ``tallystick`` script."""
    app()
