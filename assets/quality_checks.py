"""Asset checks: the checks of the quality room, reported on the assets they are about.

What blocks a seal is judged by the seal itself; a check here only shows it, for whoever looks at the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import dagster as dg

from domain.settings import Settings
from quality.checks import CHECKS, ROLLUPS, Check, CheckResult
from quality.files_check import FILES
from quality.recount_check import RECOUNT

ASSET_OF = {
    "conservation": "click_exclusions",
    "rollups": "final_clicks_hour",
    "drift": "drift",
    "completeness": "final_clicks_minute",
}
"""Name of a check -> the hourly asset that it is about."""
DAY_ASSET = "final_clicks_day"
DAY_CHECKS = (ROLLUPS, RECOUNT, FILES)
_SEVERITIES = {"error": dg.AssetCheckSeverity.ERROR, "warn": dg.AssetCheckSeverity.WARN}


def check_specs() -> list[dg.AssetCheckSpec]:
    """Specs of the hourly checks."""
    return [_spec(check, ASSET_OF[check.name]) for check in CHECKS]


def day_check_specs() -> list[dg.AssetCheckSpec]:
    """Specs of the daily checks."""
    return [_spec(check, DAY_ASSET) for check in DAY_CHECKS]


def check_results(settings: Settings, hours: list[datetime]) -> Iterator[dg.AssetCheckResult]:
    """The hourly checks over the hours of a run; a check that cannot be made raises."""
    for check in CHECKS:
        yield _result(check.run(settings, hours), ASSET_OF[check.name])


def day_check_results(settings: Settings, hours: list[datetime]) -> Iterator[dg.AssetCheckResult]:
    """The daily checks over the hours of a run's days."""
    for check in DAY_CHECKS:
        yield _result(check.run(settings, hours), DAY_ASSET)


def _spec(check: Check, asset: str) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(check.name, asset=asset, description=check.description, blocking=check.is_blocking)


def _result(result: CheckResult, asset: str) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=result.name,
        passed=result.is_passed,
        severity=_SEVERITIES[result.severity],
        metadata={"observed": result.observed, "expected": result.expected, **result.metadata},
    )
