"""The op that looks at everything and tells somebody: the runs by the instance, all else by one command."""

import json

import dagster as dg

from assets.command_line import CommandLine
from assets.run_causes import SOURCE, run_causes
from quality.alerting import Look, record_looks
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.settings import load_settings


@dg.op(description="Looks for what is wrong, and sends what is due to the webhook.")
def send_alerts(context: dg.OpExecutionContext, command_line: CommandLine) -> None:
    """Fails if the webhook did not take a message; the next run goes on with the others."""
    settings, at = load_settings(), now()
    create_missing_tables(settings)
    record_looks(settings, [Look(SOURCE, run_causes(context.instance, at))], at)
    done = json.loads(command_line.run(context, "alerts", "send"))
    context.add_output_metadata(done)
    if done["failed_count"]:
        raise dg.Failure("the webhook did not take a message: see tallystick alerts list", allow_retries=False)
