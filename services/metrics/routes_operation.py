"""The view for operators: lag, freshness, the last batches, alerts, and what the next seal waits for.

Belongs here: shaping the answer. The state is gathered by ``warehouse/stream_state.py`` and
``spark_jobs/next_seal.py``, as for ``tallystick status``.
"""

from __future__ import annotations

from typing import Any

from domain.settings import Settings
from services.metrics.views import Asked, View
from spark_jobs.next_seal import next_seal
from spark_jobs.stream_params import LOCK
from warehouse.counts import CountsReader
from warehouse.locks import is_locked
from warehouse.stream_state import read_stream_state

BATCHES_SHOWN = 20
LOG_AWAY = "the log, which does not answer"


def status(settings: Settings, asked: Asked) -> dict[str, Any]:
    """How the installation is doing now. ``lag`` is null where the log does not answer."""
    is_running = is_locked(settings, LOCK)
    stream = read_stream_state(settings, asked.at, is_running)
    seal = next_seal(settings, asked.at, None if stream.log_lag else LOG_AWAY)
    fresh = stream.freshness
    quantiles = ("best", "p50", "p95", "p99", "worst")
    return {
        "at": asked.at,
        "is_stream_running": is_running,
        "lag": stream.log_lag and {"events": stream.log_lag.events, "overdue_events": stream.log_lag.overdue_events},
        "forecasts": stream.forecasts,
        "freshness_seconds": fresh and {name: getattr(fresh, f"{name}_seconds") for name in quantiles},
        "batches": stream.batches[: -BATCHES_SHOWN - 1 : -1],
        "alerts": stream.alerts,
        "next_seal": seal,
        **CountsReader(settings).finality().document(),
    }


OPERATION_VIEWS = (View("/v1/status", "how the installation is doing", ("operator",), status),)
