"""A whole run: register the ads, send the plan, and tell the truth about it.

Belongs here: the order of the steps. Each step has a module of its own; what the command line adds is progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from domain.errors import UsageError
from domain.settings import Settings
from traffic.catalogue import build_catalogue
from traffic.event import PlannedEvent, microseconds
from traffic.http_sender import ClickService, send_over_http
from traffic.log_sender import LogState, look_at_log, send_to_log
from traffic.options import TrafficOptions
from traffic.plan import TrafficPlan
from traffic.recount import Recount
from traffic.register import register_ads
from traffic.truth import RunFacts, Truth, truth_of
from warehouse.ads import AdsReceipt, read_ads

EVENTS_PER_REPORT = 2_000

OnProgress = Callable[[int], None]
"""Called now and then with the number of clicks planned so far."""


@dataclass(frozen=True)
class RunReceipt:
    """What a run did. ``sending_seconds`` is the time of planning, counting, sending and acknowledgement together."""

    truth: Truth
    ads: AdsReceipt
    sending_seconds: float


def generate(
    settings: Settings,
    options: TrafficOptions,
    now: datetime,
    on_progress: OnProgress,
    *,
    earlier: Truth | None = None,
    service: ClickService | None = None,
) -> RunReceipt:
    """Sends a run to the log, or through ``service`` if it is given; returns when all is acknowledged.

    ``earlier`` is the truth of the run before this one on the same log, if there was one. Not repeatable: the same
    options again send the same clicks again, and all of them are then duplicates.
    """
    _check_not_repeated(options, earlier)
    ads = register_ads(settings, build_catalogue(options), now)
    if service is not None:
        service.wait_until_ready(len(read_ads(settings)))
    plan = TrafficPlan(options)
    started = time.monotonic()
    if service is None:
        truth = _sent_to_log(settings, plan, on_progress, earlier)
    else:
        truth = _sent_through(service, plan, on_progress)
    on_progress(plan.clicks_count)
    return RunReceipt(truth, ads, time.monotonic() - started)


def _sent_to_log(settings: Settings, plan: TrafficPlan, on_progress: OnProgress, earlier: Truth | None) -> Truth:
    before = look_at_log(settings)
    recount = Recount(before.partition_of, plan.options.late_bound_seconds, _highest(earlier))
    send_to_log(settings, plan.events(), _reporting(recount, plan, on_progress))
    facts = RunFacts(
        options=plan.options,
        made=plan.made,
        is_live_exact=_is_known(before, earlier),
        earlier_runs=(*earlier.earlier_runs, earlier.run_id) if earlier else (),
        start_offsets=before.end_offsets,
        end_offsets=look_at_log(settings).end_offsets,
    )
    return truth_of(recount, facts)


def _sent_through(service: ClickService, plan: TrafficPlan, on_progress: OnProgress) -> Truth:
    recount = Recount(lambda _: 0, plan.options.late_bound_seconds, {}, has_times=False)
    send_over_http(service, plan.events(), _reporting(recount, plan, on_progress))
    return truth_of(recount, RunFacts(options=plan.options, made=plan.made, is_live_exact=True))


def _check_not_repeated(options: TrafficOptions, earlier: Truth | None) -> None:
    if earlier is not None and options.run_id in (*earlier.earlier_runs, earlier.run_id):
        raise UsageError(
            "a run of these very options was sent before, by the truth file given",
            "another seed or range",
            "change --seed",
        )


def _highest(earlier: Truth | None) -> dict[int, int]:
    partitions = earlier.partitions if earlier else {}
    return {
        number: microseconds(partition.highest_clicked_at)
        for number, partition in partitions.items()
        if partition.highest_clicked_at is not None
    }


def _is_known(before: LogState, earlier: Truth | None) -> bool:
    """Whether all that was in the log before this run is accounted for."""
    if earlier is None:
        return before.is_empty
    return before.end_offsets == {number: partition.end_offset for number, partition in earlier.partitions.items()}


def _reporting(recount: Recount, plan: TrafficPlan, on_progress: OnProgress) -> Callable[[PlannedEvent], None]:
    def look_at(event: PlannedEvent) -> None:
        recount.look_at(event)
        if recount.records_count % EVENTS_PER_REPORT == 0:
            on_progress(plan.clicks_count)

    return look_at
