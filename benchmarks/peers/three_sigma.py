"""Mean and three sigma, as tutorials write it: the peer that quality is compared with.

Belongs here: the same metric rows as flat series, and the rule of thumb over their last 28 days.
"""

from __future__ import annotations

import numpy as np

from domain.metric_history import Array, History

WINDOW_HOURS = 28 * 24
SIGMAS = 3.0


def flat_series(history: History) -> tuple[list[str], Array]:
    """Names and values: shares where a metric is a share, else amounts; an hour a row."""
    names, columns = [], []
    for name, family in history.families.items():
        for column, group in enumerate(family.groups):
            amount, out_of = family.amount[:, column], family.out_of[:, column]
            with np.errstate(divide="ignore", invalid="ignore"):
                is_share = name not in {"by_advertiser", "rows"} and not np.isnan(out_of).all()
                columns.append(np.where(out_of > 0, amount / out_of, 0.0) if is_share else amount)
            names.append(f"{name}:{group}")
    return names, np.stack(columns, axis=1)


def alarms(series: Array, since: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """By row from ``since`` on and series, whether it lies outside; a series without a value now is an alarm, too."""
    found = []
    for row in range(since, len(series)):
        window = series[max(0, row - WINDOW_HOURS) : row]
        with np.errstate(invalid="ignore"):
            is_outside = np.abs(series[row] - np.nanmean(window, axis=0)) > SIGMAS * np.nanstd(window, axis=0)
        found.append(is_outside | np.isnan(series[row]))
    return np.array(found)
