"""Which test process runs what, where there are two: one for all that needs Spark, so that there is one session.

Belongs here: the split by files. xdist's own grouping by marks does nothing under this version of pytest.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ENGINES = ("spark", "broker")
"""A file goes with the first of these that any of its tests is marked with."""


class SchedulingByEngine(LoadScopeScheduling):  # type: ignore[misc] # has no types
    """All tests of an engine go to one process, in their order; each other test to whichever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return engine_of(nodeid.split("::", 1)[0]) or nodeid


@cache
def engine_of(file: str) -> str | None:
    """The engine that tests of this file need, None if they need none. ``file`` is relative to the project."""
    text = (Path(__file__).parents[2] / file).read_text(encoding="utf-8")
    return next((engine for engine in ENGINES if f"mark.{engine}" in text), None)
