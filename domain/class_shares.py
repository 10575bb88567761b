"""Which class of origins is asked next, so that each gets its share of the claims while it has something to do.

Stride scheduling: a class that is served moves on by a stride that is the longer the smaller its share; the one that
is furthest behind comes first. Each worker keeps its own, so nothing is shared and no row is contended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from domain.errors import UsageError

CLASS_SHARES: dict[str, int] = {"news": 4, "landing": 4, "general": 4, "documentation": 1}
"""Classes of origins, and their shares of the claims where all have something due."""
DEFAULT_CLASS = "general"
_WHOLE = 1_000_000
IDLE_CLAIMS = 16
"""A class with nothing due is asked again after this many claims."""


def check_class(class_name: str) -> None:
    """``UsageError`` unless it is a class that we have."""
    if class_name not in CLASS_SHARES:
        raise UsageError(f"class {class_name!r}", f"one of {', '.join(CLASS_SHARES)}", "name one of them")


@dataclass(frozen=True)
class ClassTurns:
    """Whose turn it is. ``passes`` says how far each class has come, ``idle`` for how many claims it is passed over."""

    shares: Mapping[str, int]
    passes: Mapping[str, int] = field(default_factory=dict)
    idle: Mapping[str, int] = field(default_factory=dict)

    def order(self) -> list[str]:
        """Every class in the order in which it should be asked: idle ones last, for when nobody else has anything."""
        return sorted(self.shares, key=lambda name: (self.idle.get(name, 0) > 0, self._pass(name), name))

    def served(self, name: str, count: int = 1) -> ClassTurns:
        """That class had that many claims."""
        idle = {other: left - 1 for other, left in self.idle.items() if left > 1 and other != name}
        return replace(
            self, passes={**self.passes, name: self._pass(name) + count * _WHOLE // self.shares[name]}, idle=idle
        )

    def found_idle(self, name: str) -> ClassTurns:
        """That class had nothing due: it loses its turn, and saves nothing up meanwhile."""
        front = max((self._pass(other) for other in self.shares), default=0)
        return replace(
            self,
            passes={**self.passes, name: max(self._pass(name), front)},
            idle={**self.idle, name: IDLE_CLAIMS},
        )

    def _pass(self, name: str) -> int:
        return self.passes.get(name, 0)
