"""The hourly final figures: counted again from raw, compared with live, sealed and published by one command.

The seal refuses by itself whatever launched it; the checks here show what it judged by, per hour.
"""

from collections.abc import Iterator

import dagster as dg

from assets.cases import case_arguments
from assets.command_line import CommandLine
from assets.metadata import table_metadata, table_spec
from assets.partitions import DAY_OF_HOURS, HOURLY, hours_of
from assets.quality_checks import check_results, check_specs
from assets.rule_checks import report_rules
from domain.buckets import HOUR, format_utc
from spark_jobs.params import HourReceipt, ReconcileReceipt
from warehouse.settings import load_settings

NAMES = ("final_clicks_minute", "final_clicks_hour", "click_exclusions", "click_outcomes_hour", "drift")


@dg.multi_asset(
    specs=[table_spec(name, deps=["raw_clicks", "live_clicks_minute"]) for name in NAMES],
    check_specs=check_specs(),
    partitions_def=HOURLY,
    backfill_policy=DAY_OF_HOURS,
    group_name="finals",
    pool="reconcile",
)
def finals(
    context: dg.AssetExecutionContext, command_line: CommandLine
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Seals the hours of this run; an hour that must wait fails the run after the others are sealed.

    A run with the tags of a case counts sealed hours as they would be counted today.
    """
    settings, hours = load_settings(), hours_of(context)
    span = (format_utc(hours[0]), format_utc(hours[-1] + HOUR))
    receipt = ReconcileReceipt.from_json(
        command_line.run(context, "reconcile", *span, *case_arguments(context.run.run_id, context.run.tags))
    )
    report_rules(context.instance, settings, hours)
    blocked = receipt.of("blocked")
    if blocked:
        raise dg.Failure(f"{len(blocked)} of {len(hours)} hours wait", metadata=_waiting(blocked), allow_retries=False)
    for name in NAMES:
        yield dg.MaterializeResult(
            asset_key=name, metadata={**table_metadata(settings, name, hours), **_figures(receipt)}
        )
    yield from check_results(settings, hours)


def _figures(receipt: ReconcileReceipt) -> dict[str, int | str]:
    done = receipt.hours
    return {
        "raw_clicks": sum(hour.raw_clicks for hour in done),
        "billable_clicks": sum(hour.billable_clicks for hour in done),
        "excluded_clicks": sum(sum(hour.excluded_clicks.values()) for hour in done),
        "sealed_hours": len(receipt.of("seal")),
        "revised_hours": len(receipt.of("revise")),
        "verified_hours": len(receipt.of("verify")),
        "late_arrivals": sum(hour.late_arrival_count for hour in done),
        "publication_number": receipt.publication_number or 0,
        "final_until": format_utc(receipt.final_until) if receipt.final_until else "nothing sealed",
    }


def _waiting(blocked: list[HourReceipt]) -> dict[str, str]:
    return {format_utc(hour.hour): "; ".join(hour.reasons) for hour in blocked}
