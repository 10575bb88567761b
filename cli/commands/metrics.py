"""``tallystick metrics``: run the metrics API until Ctrl-C."""

from __future__ import annotations

from cli.console import note
from warehouse.settings import load_settings


def metrics() -> None:
    """Answer `GET /v1/ads/metrics` until Ctrl-C; docs/metrics-api.md says how to ask."""
    from services.metrics.server import run_metrics_api

    settings = load_settings()
    note(f"metrics API on http://{settings.bind_address}:{settings.metrics_port}, Ctrl-C ends it")
    run_metrics_api(settings)
