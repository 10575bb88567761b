"""The op that maintains the big tables; one command, as the assets are.

It is no asset: what it changes are files of every table, and no figure.
"""

import json

import dagster as dg

from assets.command_line import CommandLine


@dg.op(pool="reconcile", description="Deletes what is over, compacts what is sealed, vacuums what is unused.")
def maintain_tables(context: dg.OpExecutionContext, command_line: CommandLine) -> None:
    """A table whose writer is at work is left out with a warning: a stream that is always on is no failure."""
    actor = f"dagster:{context.run.run_id}"
    tables = json.loads(command_line.run(context, "maintain", "--actor", actor))["tables"]
    context.add_output_metadata({one["table"]: {key: one[key] for key in one if key != "table"} for one in tables})
    busy = [one["table"] for one in tables if one["is_busy"]]
    if busy:
        context.log.warning(f"left out, since their writer is at work: {', '.join(busy)}; stop it to maintain them")
