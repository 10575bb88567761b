"""The op that applies the revisions which late clicks propose; one command, as the assets are.

It is no asset: what it writes are the finals, of hours that no partition of the run names.
"""

import dagster as dg

from assets.command_line import CommandLine
from spark_jobs.params import ReconcileReceipt


@dg.op(pool="reconcile", description="Seals anew the hours of open periods that have late clicks and nothing else new.")
def late_revisions(context: dg.OpExecutionContext, command_line: CommandLine) -> None:
    """Fails if an hour has to wait, after the others are sealed; the next run takes it up."""
    actor = f"dagster:{context.run.run_id}"
    receipt = ReconcileReceipt.from_json(
        command_line.run(context, "proposals", "apply", "--all", "--late-only", "--actor", actor)
    )
    context.add_output_metadata({"revised_hours": len(receipt.of("revise"))})
    blocked = receipt.of("blocked")
    if blocked:
        raise dg.Failure(f"{len(blocked)} of {len(receipt.hours)} hours wait", allow_retries=False)
