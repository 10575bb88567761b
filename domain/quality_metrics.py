"""Quality metrics: what was measured of one partition of one table, as plain integers that can be added up again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

WHOLE = ""
"""The group of a figure that is about all of the partition."""


@dataclass(frozen=True, order=True)
class Metric:
    """One figure of one partition.

    ``group`` says which part of the partition it is about (a column, a country, a quantile, an advertiser); ``WHOLE``
    is all of it. A share keeps its parts: ``amount`` of ``out_of``. ``unit`` is that of ``amount`` (``rows``,
    ``clicks``, ``values``, ``ms``).
    """

    table: str
    hour: datetime
    name: str
    group: str
    amount: int
    out_of: int | None
    unit: str

    @property
    def share(self) -> float | None:
        """Between 0 and 1; None for what is no share, and for a part of nothing."""
        return self.amount / self.out_of if self.out_of else None
