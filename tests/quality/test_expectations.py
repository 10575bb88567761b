"""Suites over small frames, by Great Expectations: each rule passing and failing, and errors that stay errors.

The only module of tests that loads Great Expectations, since that takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake

from domain.buckets import HOUR
from domain.quality_metrics import WHOLE, Metric
from domain.quality_verdicts import Finding, Verdict, blocking
from domain.settings import Settings
from quality.expectations import run_suite
from quality.judging import Judging, judge, judge_measured, seal_metrics
from quality.suites import SUITES
from quality.suites.rules import InRange, Rule, Suite
from tests.support.empty_tables import make_empty_tables
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT, seal_draft
from tests.support.metric_weeks import MONDAY, WEEK, hour_metrics, weeks_of_metrics
from warehouse.layout import open_table
from warehouse.schema import arrow_rows
from warehouse.seals import append_seals, read_seals
from warehouse.tables import QUALITY_METRICS

GOOD = hour_metrics(MONDAY)
Change = Callable[[Metric], Metric | None]
JUDGING = Judging("r1", WRITTEN_AT)


def said(metrics: Sequence[Metric], suites: Iterable[Suite] = SUITES.values()) -> dict[str, Finding]:
    wanted = [suite for suite in suites if suite.name != "seals"]
    return {one.rule: one for suite in wanted for one in run_suite(suite, metrics)}


def outcomes(metrics: Sequence[Metric], outcome: str) -> set[str]:
    return {rule for rule, one in said(metrics).items() if one.outcome == outcome}


def changed(name: str, group: str, /, **values: Any) -> list[Metric]:
    found = [replace(one, **values) if (one.name, one.group) == (name, group) else one for one in GOOD]
    assert found != GOOD
    return found


def without(name: str, group: str | None = None) -> list[Metric]:
    return [one for one in GOOD if one.name != name or group not in {None, one.group}]


def more(name: str, group: str, amount: int, out_of: int | None = None) -> list[Metric]:
    return [*GOOD, Metric("raw_clicks", MONDAY, name, group, amount, out_of, "rows")]


def test_a_good_hour_passes_every_rule() -> None:
    assert {rule: one.observed for rule, one in said(GOOD).items() if one.outcome != "pass"} == {}


ROWS = next(one.amount for one in GOOD if one.name == "rows")


@pytest.mark.parametrize(
    ("metrics", "failing"),
    [
        (without("by_country"), {"raw_schema"}),
        (without("nulls", "country"), {"raw_columns"}),
        (changed("nulls", "impression_id", amount=1), {"raw_required"}),
        (changed("nulls", "country", amount=ROWS // 2 + 1), {"raw_null_shares"}),
        (more("by_kind", "tap", 1, ROWS), {"raw_kinds", "raw_kind_parts"}),
        (more("by_device", "fridge", 1, ROWS), {"raw_devices", "raw_device_parts"}),
        (more("by_country", "de", 1, ROWS), {"raw_countries", "raw_country_parts"}),
        (more("by_server", "edge-2", 1, ROWS), {"raw_server_parts"}),
        (more("by_advertiser", "3", 1, ROWS), {"raw_advertiser_parts"}),
        (changed("distinct", "impression_id", amount=ROWS + 1), {"raw_distinct"}),
        (changed("unknown_ads", WHOLE, amount=1), {"raw_unknown_ads"}),
        (more("excluded", "mood", 1, ROWS), {"exclusion_reasons", "conservation"}),
        (changed("excluded", "head", amount=ROWS + 1), {"exclusion_shares", "conservation"}),
        (changed("final", "2", amount=-1), {"final_not_negative", "live_near_final", "conservation"}),
        (changed("final", "2", amount=1), {"live_near_final", "conservation"}),
        (changed("final", "2", group="two"), {"final_advertisers", "live_near_final"}),
        (changed("live", "2", amount=-1), {"live_not_negative", "live_near_final"}),
        (changed("live", "2", group="two"), {"live_advertisers", "live_near_final"}),
    ],
    ids=lambda value: next(iter(sorted(value))) if isinstance(value, set) else "",
)
def test_each_rule_fails_where_it_should(metrics: list[Metric], failing: set[str]) -> None:
    """Q4: what passes above fails here, one click over the limit."""
    assert outcomes(metrics, "fail") == failing


@pytest.mark.parametrize(("off_by", "is_fail"), [(5, False), (6, True), (-5, False), (-6, True)])
def test_the_bar_of_drift_is_its_floor_for_a_small_advertiser(off_by: int, is_fail: bool) -> None:
    """Q5: exact integers; 5 clicks off pass, 6 fail."""
    final = next(one.amount for one in GOOD if (one.name, one.group) == ("final", "2"))
    assert final < 5_000
    assert ("live_near_final" in outcomes(changed("live", "2", amount=final + off_by), "fail")) == is_fail


def test_one_click_off_in_millions_is_no_conservation() -> None:
    """Q5: no tolerance."""
    amounts = {"rows": 1_000_000_009, "final": 1_000_000_000, "excluded": 8}
    metrics = [Metric("drift", MONDAY, name, WHOLE, amount, None, "clicks") for name, amount in amounts.items()]
    (found,) = [one for one in run_suite(SUITES["exclusions"], metrics) if one.rule == "conservation"]
    assert found.outcome == "fail"
    assert found.observed.startswith("1,000,000,008 (")
    assert found.expected == "final + excluded = rows, 1,000,000,009"


@pytest.mark.parametrize(
    ("metrics", "broken"),
    [
        (without("unknown_ads"), "raw_unknown_ads"),
        (changed("unknown_ads", WHOLE, amount=float("nan")), "raw_unknown_ads"),
        (changed("unknown_ads", WHOLE, amount=float("inf")), "raw_unknown_ads"),
        (changed("unknown_ads", WHOLE, amount=None), "raw_unknown_ads"),
        (changed("by_server", "edge-1", out_of=None), "raw_server_parts"),
        (without("nulls", "impression_id"), "raw_required"),
        (changed("by_country", "DE", group=None), "raw_countries"),
    ],
    ids=["not measured", "nan", "infinity", "null", "no whole", "no group", "no name"],
)
def test_what_cannot_be_looked_at_is_an_error(metrics: list[Metric], broken: str) -> None:
    """Q3: neither bad data nor a silent pass."""
    if broken == "raw_countries":
        metrics = [replace(one, group=float("nan")) if one.group is None else one for one in metrics]  # type: ignore[arg-type]
    assert broken in outcomes(metrics, "error")
    assert broken not in outcomes(metrics, "pass") | outcomes(metrics, "fail")


def test_an_hour_without_metrics_is_errors_alone() -> None:
    assert outcomes([], "error") == said(GOOD).keys()


def test_a_share_of_nothing_is_no_reference() -> None:
    """An empty hour: every whole is 0."""
    empty = [replace(one, amount=0, out_of=one.out_of and 0) for one in GOOD]
    assert outcomes([one for one in empty if one.name in {"rows", "nulls", "unknown_ads"}], "error") == set()
    assert outcomes(empty, "no_reference") == {
        "raw_null_shares",
        "exclusion_shares",
        "raw_kinds",
        "raw_devices",
        "exclusion_reasons",
        "raw_schema",
        "raw_columns",
        "raw_countries",
        "live_advertisers",
        "final_advertisers",
        "final_schema",
    }
    assert outcomes(empty, "fail") == {"raw_not_empty"}


def test_what_raises_inside_is_an_error_with_its_message() -> None:
    """Q3: Great Expectations catches it and calls it a failure; a rule of an unknown kind is one, too."""
    wrong_bounds = Rule("r", "fail", InRange("rows", 1, "ten"), "a wrong suite")  # type: ignore[arg-type]
    backwards = Rule("s", "fail", InRange("rows", 9, 1), "a wrong suite")
    unknown = Rule("t", "fail", object(), "a wrong suite")  # type: ignore[arg-type]
    found = run_suite(Suite("x", "raw_clicks", ("raw_clicks",), 1, (wrong_bounds, backwards, unknown)), GOOD)
    assert [one.outcome for one in found] == ["error", "error", "error"]
    assert all(one.observed for one in found)
    assert "object" in found[2].observed


def test_a_seal_adds_up(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    make_empty_tables(settings)
    append_seals(settings, [seal_draft()], 0, WRITTEN_AT)
    (seal,) = read_seals(settings)
    assert {one.outcome for one in run_suite(SUITES["seals"], seal_metrics(seal))} == {"pass"}
    off = [replace(one, amount=one.amount + 1) if one.name == "billable" else one for one in seal_metrics(seal)]
    assert run_suite(SUITES["seals"], off)[0].outcome == "fail"
    verdicts = judge(settings, FIRST_HOUR, [], attempt=seal.attempt, judging=JUDGING)
    assert [one.outcome for one in verdicts if one.suite == "seals"] == ["pass", "pass"]
    assert {one.outcome for one in verdicts if one.suite != "seals"} == {"error"}


def _measured(settings: Settings, metrics: Sequence[Metric]) -> None:
    rows = (
        {
            "table_name": one.table,
            "hour": one.hour,
            "name": one.name,
            "group": one.group,
            "amount": one.amount,
            "out_of": one.out_of,
            "unit": one.unit,
            "attempt": f"attempt-{(one.hour - FIRST_HOUR) // HOUR}",
            "measured_at": WRITTEN_AT,
            "code_version": "0.1.0",
            "hour_date": one.hour.date(),
        }
        for one in metrics
    )
    write_deltalake(open_table(settings, QUALITY_METRICS.name), arrow_rows(QUALITY_METRICS, rows), mode="append")


def test_an_hour_is_judged_the_same_alone_and_in_a_backfill(tmp_path: Path) -> None:
    """Four weeks and two hours are sealed. Two more are judged in one pass, or each when its turn has come."""
    settings = Settings(home=tmp_path / "home")
    make_empty_tables(settings)
    start, end = FIRST_HOUR - 4 * WEEK, FIRST_HOUR + 2 * HOUR
    unsealed = hour_metrics(end, 0.2)
    _measured(settings, [*weeks_of_metrics(start, end), *unsealed, *hour_metrics(end + HOUR)])
    numbers = range((start - FIRST_HOUR) // HOUR, 2)
    append_seals(settings, [seal_draft(number) for number in numbers], 0, WRITTEN_AT)
    sealed = [FIRST_HOUR, FIRST_HOUR + HOUR]
    together = judge_measured(settings, [*sealed, end, end + HOUR], JUDGING)
    alone = [one for hour in [*sealed, end] for one in judge_measured(settings, [hour], JUDGING)]
    fresh = judge(settings, end, unsealed, attempt="attempt-2", judging=JUDGING)
    assert _sorted(fresh) == _sorted(one for one in together if one.hour == end)
    assert [(one.rule, one.outcome) for one in fresh if one.rule == "volume"] == [("volume", "fail")]
    append_seals(settings, [seal_draft(2)], len(numbers), WRITTEN_AT)
    alone += judge_measured(settings, [end + HOUR], JUDGING)
    assert _sorted(together) == _sorted(alone)
    assert blocking(together, []) == []


def test_other_data_with_the_same_first_words_is_observed_otherwise() -> None:
    """A release is about what was observed: a list of which only the first few are named must not cover another."""
    found = [
        next(one for one in run_suite(SUITES["exclusions"], rows) if one.rule == "conservation")
        for rows in (_unequal(5), _unequal(1_000))
    ]
    assert [one.outcome for one in found] == ["fail", "fail"]
    assert found[0].observed.split(" (")[0] == found[1].observed.split(" (")[0]
    assert found[0].observed != found[1].observed


def _unequal(raw: int) -> list[Metric]:
    amounts = {"rows": raw, "final": 4, "excluded": 0}
    return [Metric("drift", MONDAY, name, WHOLE, amount, None, "clicks") for name, amount in amounts.items()]


def test_a_calendar_that_is_wrong_holds_no_money_back(tmp_path: Path) -> None:
    """What only warns is an error that is told, and no money rule goes unasked."""
    settings = Settings(home=tmp_path / "home", quality_calendar=str(tmp_path / "gone.toml"))
    make_empty_tables(settings)
    verdicts = judge(settings, FIRST_HOUR, hour_metrics(FIRST_HOUR), attempt="a1", judging=JUDGING)
    (broken,) = [one for one in verdicts if one.suite == "drift_statistics"]
    assert (broken.outcome, broken.severity) == ("error", "warn")
    assert "gone.toml" in broken.observed
    assert {one.table_name for one in verdicts} > {"raw_clicks"}


def test_an_hour_that_nobody_measured_is_not_judged(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    make_empty_tables(settings)
    assert judge_measured(settings, [FIRST_HOUR], JUDGING) == []


def _sorted(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda one: (one.hour, one.table_name, one.rule, one.group))
