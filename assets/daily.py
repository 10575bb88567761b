"""Asset ``final_clicks_day``: a UTC day whose hours are all sealed and published.

The day's figures are written with every publication of one of its hours, in the same step, so that they never differ;
this asset confirms that the day is whole, and shows it.
"""

from collections.abc import Iterator

import dagster as dg

from assets.metadata import table_metadata, table_spec
from assets.partitions import DAILY, hours_of
from assets.quality_checks import day_check_results, day_check_specs
from domain.buckets import format_utc
from warehouse.finality import unsealed_hours
from warehouse.settings import load_settings


@dg.multi_asset(
    specs=[table_spec("final_clicks_day", deps=["final_clicks_hour"])],
    check_specs=day_check_specs(),
    partitions_def=DAILY,
    backfill_policy=dg.BackfillPolicy.multi_run(max_partitions_per_run=31),
    group_name="finals",
)
def final_day(
    context: dg.AssetExecutionContext,
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Fails, naming the hours, while one of the day is not sealed and published."""
    settings, hours = load_settings(), hours_of(context)
    missing = unsealed_hours(settings, hours)
    if missing:
        named = ", ".join(format_utc(hour) for hour in missing)
        raise dg.Failure(f"{len(missing)} of {len(hours)} hours are not sealed and published: {named}")
    metadata = table_metadata(settings, "final_clicks_day", hours)
    yield dg.MaterializeResult(asset_key="final_clicks_day", metadata=metadata)
    yield from day_check_results(settings, hours)
