"""The resource that launches our own command line: each Spark job is a child process with a receipt.

A dead JVM is then a failed step and not a dead run worker, and no Spark is loaded into Dagster.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg

STOP_SECONDS = 60
"""How long a stopped child may take to finish what is under way before it is killed."""
_ENTRY = "from cli.main import main; main()"


class CommandLine(dg.ConfigurableResource[None]):
    """Runs ``tallystick`` commands under the settings of this process' environment."""

    def run(self, context: dg.AssetExecutionContext | dg.OpExecutionContext, *arguments: str) -> str:
        """Runs one command to its end and returns its receipt, a line of JSON.

        Its output goes to the run's logs. An end without a receipt is a ``dg.Failure`` with the last lines; a
        cancelled run stops the child and waits for it.
        """
        with TemporaryDirectory(prefix="tallystick-") as folder:
            receipt = Path(folder) / "receipt.json"
            command = [sys.executable, "-c", _ENTRY, *arguments, "--receipt", str(receipt)]
            context.log.info("tallystick %s", " ".join(arguments))
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603 - our own command
            try:
                lines = _relay(context, child)
            finally:
                _stop(child)
            if not receipt.exists():
                raise dg.Failure(
                    description=f"tallystick {arguments[0]} ended with code {child.returncode}: {' '.join(lines[-3:])}",
                    metadata={"exit_code": child.returncode, "output": "\n".join(lines[-50:])},
                )
            return receipt.read_text(encoding="utf-8")


def _relay(context: dg.AssetExecutionContext | dg.OpExecutionContext, child: subprocess.Popen[str]) -> list[str]:
    lines: list[str] = []
    for line in child.stdout or ():
        text = line.rstrip()
        if text:
            lines.append(text)
            context.log.info(text)
    child.wait()
    return lines


def _stop(child: "subprocess.Popen[str]") -> None:
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
