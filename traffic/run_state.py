"""What all parts of one plan share: its random numbers, and the tally of what was put in.

Only ``Random.random`` and ``Random.getrandbits`` are used for choices anywhere in this package: their sequences are
fixed for a seed, which is what makes a run repeatable.
"""

from __future__ import annotations

from collections import Counter
from random import Random


class RunState:
    """Starts from the run's id, so equal options give equal numbers. ``made`` counts oddities by name."""

    def __init__(self, run_id: str) -> None:
        self.random = Random(run_id)  # noqa: S311 - repeatable on purpose; nothing here is a secret
        self.made: Counter[str] = Counter()
