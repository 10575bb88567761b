"""The case that a run is launched under, by its tags: what an auditor sets on the page before the run starts."""

from __future__ import annotations

from collections.abc import Mapping

CASE_TAG = "tallystick/case"
REASON_TAG = "tallystick/reason"


def case_arguments(run_id: str, tags: Mapping[str, str]) -> list[str]:
    """Who asks, and what for: arguments of ``tallystick reconcile``, which refuses a case without a reason."""
    arguments = ["--actor", f"dagster:{run_id}"]
    if CASE_TAG in tags:
        arguments += ["--case", tags[CASE_TAG]]
    if REASON_TAG in tags:
        arguments += ["--reason", tags[REASON_TAG]]
    return arguments
