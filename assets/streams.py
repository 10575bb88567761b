"""Assets ``raw_clicks`` and ``live_clicks_minute``: a bounded catch-up of the stream, or a wait for the one that runs.

One stream holds the checkpoints at a time. While the process is on, this waits until it has passed the present end of
the log and reports what it wrote; else it catches up itself.
"""

from collections.abc import Iterator

import dagster as dg

from assets.command_line import CommandLine
from assets.metadata import stream_metadata, table_metadata, table_spec
from assets.partitions import DAY_OF_HOURS, HOURLY, hours_of
from spark_jobs.stream_params import LOCK
from warehouse.catch_up import wait_until_caught_up
from warehouse.clock import now
from warehouse.locks import is_locked
from warehouse.marks import ARCHIVE_QUERY, LIVE_QUERY
from warehouse.settings import load_settings

QUERY_OF = {"raw_clicks": ARCHIVE_QUERY, "live_clicks_minute": LIVE_QUERY}
"""Which query writes an asset's table, and so whose batches it reports."""
NAMES = tuple(QUERY_OF)


@dg.multi_asset(
    specs=[table_spec("raw_clicks", deps=["ads"]), table_spec("live_clicks_minute", deps=["ads"])],
    partitions_def=HOURLY,
    backfill_policy=DAY_OF_HOURS,
    group_name="streams",
    pool="stream",
)
def streams(context: dg.AssetExecutionContext, command_line: CommandLine) -> Iterator[dg.MaterializeResult[None]]:
    """Every click up to now, archived and counted live."""
    settings = load_settings()
    if is_locked(settings, LOCK):
        context.log.info("a stream process is on: waiting until it has passed the end of the log")
        wait_until_caught_up(settings)
    else:
        command_line.run(context, "stream", "--once")
    for name, query in QUERY_OF.items():
        metadata = {**table_metadata(settings, name, hours_of(context)), **stream_metadata(settings, query, now())}
        yield dg.MaterializeResult(asset_key=name, metadata=metadata)
