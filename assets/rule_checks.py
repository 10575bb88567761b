"""Asset checks of every quality rule, one a rule, on the asset that it is about and the partition that it judged.

Belongs here: verdict rows as evaluations. Nothing is judged here: an hour is judged before its seal, once, and these
show what was said, of held hours too.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from warnings import catch_warnings, simplefilter

import dagster as dg

from assets.partitions import HOURLY
from domain.buckets import HOUR, hours_between
from domain.drift_rules import DRIFT_RULES
from domain.quality_verdicts import HOLDING, Verdict, newest
from domain.seals import current_seals
from domain.settings import Settings
from quality.judging import JUDGED_TABLE, measured_attempts
from quality.suites import SUITES
from warehouse.quality_verdicts import read_verdicts
from warehouse.seals import read_seals
from warehouse.settings import load_settings

ASSET_OF = {"seals": "final_clicks_hour"}
"""Tables that are no assets, and the asset on which their rules stand; every other is its own."""
PREFIX = "rule_"
GROUPS_SHOWN = 10
_SEVERITIES = {"fail": dg.AssetCheckSeverity.ERROR, "warn": dg.AssetCheckSeverity.WARN}


def rule_specs() -> list[dg.AssetCheckSpec]:
    """A spec for each rule of the suites and of drift. None blocks: the seal has read the same verdicts."""
    rules = [(suite.table_name, rule.name, rule.reason) for suite in SUITES.values() for rule in suite.rules]
    rules += [(JUDGED_TABLE, rule.name, rule.reason) for rule in DRIFT_RULES]
    with catch_warnings():
        simplefilter("ignore", dg.PreviewWarning)  # partitions of checks; the version of Dagster is pinned
        return [
            dg.AssetCheckSpec(
                f"{PREFIX}{name}", asset=ASSET_OF.get(table, table), description=reason, partitions_def=HOURLY
            )
            for table, name, reason in rules
        ]


def rule_evaluations(settings: Settings, hours: Sequence[datetime]) -> Iterator[dg.AssetCheckEvaluation]:
    """By hour and rule what the verdicts say of the attempt that counts; an hour that was never judged has none."""
    attempts = measured_attempts(settings, hours, current_seals(read_seals(settings)))
    verdicts = [one for one in newest(read_verdicts(settings, hours)) if attempts.get(one.hour) == one.attempt]
    ordered = sorted(verdicts, key=_check_of)
    for (hour, table, rule), rows in groupby(ordered, key=_check_of):
        said = list(rows)
        yield dg.AssetCheckEvaluation(
            asset_key=dg.AssetKey(ASSET_OF.get(table, table)),
            check_name=f"{PREFIX}{rule}",
            passed=all(one.outcome not in HOLDING for one in said),
            severity=_SEVERITIES[said[0].severity],
            metadata=_metadata(said),
            partition=hour.strftime(HOURLY.fmt),
        )


def report_rules(instance: dg.DagsterInstance, settings: Settings, hours: Sequence[datetime]) -> None:
    """Shows on the assets what was said of these hours, whatever becomes of the run."""
    for evaluation in rule_evaluations(settings, hours):
        instance.report_runless_asset_event(evaluation)


@dg.multi_asset_check(name="quality_rules", specs=rule_specs(), description="Shows the newest verdicts again.")
def quality_rules(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
    """For who launches checks by hand; of several hours the first that is bad is shown."""
    keys = context.partition_key_range
    first, last = (HOURLY.time_window_for_partition_key(key).start for key in (keys.start, keys.end))
    found: dict[tuple[dg.AssetKey, str], dg.AssetCheckEvaluation] = {}
    for one in rule_evaluations(load_settings(), list(hours_between(first, last + HOUR))):
        known = found.get((one.asset_key, one.check_name))
        found[one.asset_key, one.check_name] = known if known and not known.passed else one
    yield from (_result(spec, found.get((spec.asset_key, spec.name))) for spec in rule_specs())


def _result(spec: dg.AssetCheckSpec, said: dg.AssetCheckEvaluation | None) -> dg.AssetCheckResult:
    """A rule without a verdict has not passed."""
    return dg.AssetCheckResult(
        passed=said is not None and said.passed,
        asset_key=spec.asset_key,
        check_name=spec.name,
        severity=said.severity if said else dg.AssetCheckSeverity.WARN,
        metadata=said.metadata if said else {"observed": "never judged", "expected": "a verdict"},
    )


def _check_of(one: Verdict) -> tuple[datetime, str, str]:
    return (one.hour, one.table_name, one.rule)


def _metadata(said: Sequence[Verdict]) -> Mapping[str, Any]:
    """Of what is wrong, or else of what there is, the first few groups."""
    worst = [one for one in said if one.outcome in HOLDING] or list(said)
    return {
        "outcome": ", ".join(sorted({one.outcome for one in said})),
        "observed": _texts(worst, "observed"),
        "expected": _texts(worst, "expected"),
        "suite": f"{said[0].suite} {said[0].suite_version}",
        "attempt": said[0].attempt,
        "judged_at": dg.MetadataValue.timestamp(said[0].judged_at),
    }


def _texts(verdicts: Sequence[Verdict], name: str) -> str:
    shown = [f"{one.group}: {getattr(one, name)}" if one.group else getattr(one, name) for one in verdicts]
    more = [f"and {len(shown) - GROUPS_SHOWN} more"] if len(shown) > GROUPS_SHOWN else []
    return "; ".join(shown[:GROUPS_SHOWN] + more)
