"""Statistics of drift: what an hour should have looked like by the hours before it, and how surprising it is.

Belongs here: arithmetic on arrays (a row an hour, a column a series, NaN for what was not measured), causal: a row's
figures depend on a fixed number of rows before it and on nothing else, so that an hour is judged the same alone and in
a backfill. Which metric is judged how, and from where on a figure alarms: ``domain/drift_rules.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from domain.metric_history import DAY_HOURS, WEEK_HOURS, Array, History

WEEKS_BACK = 8
DAYS_BACK = 14
MIN_REFERENCES = 3
"""Fewer hours than these say nothing about what is usual: there is no reference."""
MIN_TRIMMED = 5
"""From so many references on, the highest and the lowest are left out."""
MAD_TO_SIGMA = 1.4826
"""Makes the median absolute deviation of normal noise its standard deviation."""
RESIDUAL_HOURS = 168
MIN_RESIDUALS = 24
LEAST_DISPERSION = 0.01
"""No series of clicks is taken to be steadier than 1 %, apart from chance."""
LEVEL_PRIOR = 200.0
"""So many expected clicks stand against a change of level: small series do not chase their own noise."""
LEVEL_CLIP = 2.0
"""One hour moves the level as if it had been at most this many times, at least this part of, what was usual."""
LEAST_PROBABILITY = 1e-12


def median(values: Array, axis: int, least: int = 1) -> Array:
    """The median without NaN; NaN where fewer than ``least`` values are left."""
    ordered = np.moveaxis(np.sort(values, axis=axis), axis, -1)  # NaN goes to the end
    count = np.sum(~np.isnan(ordered), axis=-1)
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, ordered.shape[-1] - 1)
    pair = [np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0] for at in (low, high)]
    found: Array = np.where(count >= max(least, 1), (pair[0] + pair[1]) / 2, np.nan)
    return found


def robust_sigma(values: Array, axis: int, least: int = 1) -> Array:
    """The standard deviation by the median absolute deviation; 0 for values that are all the same."""
    middle = np.expand_dims(median(values, axis), axis)
    return MAD_TO_SIGMA * median(np.abs(values - middle), axis, least)


def robust_z(value: float, reference: Array, floor: float) -> float:
    """How many sigmas a value is away from the median of its reference; NaN with too few of them.

    Sigma is never under ``floor``, nor under the chance of a count of the median's size: a reference whose values are
    all the same divides by that.
    """
    middle = median(reference, 0, MIN_REFERENCES)
    sigma = np.maximum(robust_sigma(reference, 0), np.maximum(floor, np.sqrt(np.abs(middle) + 1)))
    return float((value - middle) / sigma)


def earlier(values: Array, hours: int) -> Array:
    """The values of so many rows before each row."""
    moved = np.full_like(values, np.nan)
    if hours < len(values):
        moved[hours:] = values[: len(values) - hours]
    return moved


def trailing(values: Array, hours: int) -> Array:
    """Of each row the values of the ``hours`` rows before it, along a new last axis; NaN beyond the beginning."""
    padding = np.full((hours, *values.shape[1:]), np.nan)
    found: Array = sliding_window_view(np.concatenate([padding, values]), hours, axis=0)[: len(values)]
    return found


def weekly(values: Array, offset_hours: Array | None = None) -> Array:
    """The same hour of the weeks before, newest first, along a new first axis.

    With the zone's offsets from UTC by row, the same hour by its clocks: a neighbour where they changed in between.
    """
    moved = []
    for hours in range(WEEK_HOURS, (WEEKS_BACK + 1) * WEEK_HOURS, WEEK_HOURS):
        same = earlier(values, hours)
        if offset_hours is not None:
            shift = (offset_hours - earlier(offset_hours, hours))[:, None]
            same = np.where(shift > 0, earlier(values, hours - 1), same)
            same = np.where(shift < 0, earlier(values, hours + 1), same)
        moved.append(same)
    return np.stack(moved)


def like_days(values: Array, history: History) -> Array:
    """The same hour of days before that are of the same kind, working days or weekend, along a new first axis."""
    is_weekend = history.is_weekend.astype(float)
    moved = []
    for day in range(1, DAYS_BACK + 1):
        is_alike = earlier(is_weekend, day * DAY_HOURS) == is_weekend
        moved.append(np.where(is_alike[:, None], earlier(values, day * DAY_HOURS), np.nan))
    return np.stack(moved)


def usual_count(values: Array, history: History, level_hours: int, offset_hours: Array | None = None) -> Array:
    """What is usual at this hour of the week: the median part that it had of the hours before it, times those of now.

    So growth and a level that has lasted longer than ``level_hours`` are usual. Like days as long as there are too few
    weeks. With a zone's offsets, the nearer one of both neighbours after its clocks changed.
    """
    around = mean(trailing(_gaps_filled(values), level_hours), level_hours // 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(around > 0, values / around, np.where(np.isnan(around), np.nan, 0.0))
    of_weeks = median(weekly(part), 0, MIN_REFERENCES)
    if offset_hours is not None:
        by_clock = median(weekly(part, offset_hours), 0, MIN_REFERENCES)
        is_nearer = np.abs(part - by_clock) < np.abs(part - of_weeks)
        of_weeks = np.where(is_nearer, by_clock, of_weeks)
    if np.isnan(of_weeks[history.is_measured]).any():
        of_weeks = np.where(np.isnan(of_weeks), median(like_days(part, history), 0, MIN_REFERENCES), of_weeks)
    return of_weeks * around


def _gaps_filled(values: Array) -> Array:
    """With the same hour of a week or two before, so that a mean over a week with a gap is not one of other days."""
    filled = np.where(np.isnan(values), earlier(values, WEEK_HOURS), values)
    return np.where(np.isnan(filled), earlier(values, 2 * WEEK_HOURS), filled)


def usual_share(amount: Array, out_of: Array, history: History) -> Array:
    """The usual share at this hour of the week: that of all references together, without the highest and the lowest."""
    of_weeks = _pooled_share(weekly(amount), weekly(out_of))
    if not np.isnan(of_weeks[history.is_measured]).any():
        return of_weeks
    of_days = _pooled_share(like_days(amount, history), like_days(out_of, history))
    return np.where(np.isnan(of_weeks), of_days, of_weeks)


def mean(windows: Array, least: int) -> Array:
    """The mean along the last axis; NaN with fewer than ``least`` values."""
    count = np.sum(~np.isnan(windows), axis=-1)
    found: Array = np.where(count >= least, np.nansum(windows, axis=-1) / np.maximum(count, 1), np.nan)
    return found


def _pooled_share(amount: Array, out_of: Array) -> Array:
    is_usable = ~np.isnan(amount) & (out_of > 0)
    part, whole = np.where(is_usable, amount, 0.0), np.where(is_usable, out_of, 0.0)
    share = np.where(is_usable, part / np.maximum(whole, 1), np.nan)
    count = is_usable.sum(axis=0)
    kept_part, kept_whole = part.sum(axis=0), whole.sum(axis=0)
    for outermost in (
        np.argmin(np.where(is_usable, share, np.inf), axis=0),
        np.argmax(np.where(is_usable, share, -np.inf), axis=0),
    ):
        is_left_out = count >= MIN_TRIMMED
        kept_part = kept_part - np.where(is_left_out, np.take_along_axis(part, outermost[None], axis=0)[0], 0.0)
        kept_whole = kept_whole - np.where(is_left_out, np.take_along_axis(whole, outermost[None], axis=0)[0], 0.0)
    return np.where((count >= MIN_REFERENCES) & (kept_whole > 0), kept_part / np.maximum(kept_whole, 1), np.nan)


def level(values: Array, usual: Array) -> Array:
    """How the day before compares with what was usual for it: growth, or a factor that lasts.

    1 for a series that is too small to tell. A single bad hour hardly moves it.
    """
    slack = 3 * np.sqrt(usual + 1)
    clipped = np.clip(values, usual / LEVEL_CLIP - slack, usual * LEVEL_CLIP + slack)
    is_known = ~np.isnan(values) & ~np.isnan(usual)
    found, expected = (trailing(np.where(is_known, of, 0.0), DAY_HOURS) for of in (clipped, usual))
    total, base = np.nansum(found, axis=-1), np.nansum(expected, axis=-1)
    ratio: Array = (np.maximum(total, 0) + LEVEL_PRIOR) / (base + LEVEL_PRIOR)
    return ratio


def dispersion(values: Array, expected: Array, since: int = 0) -> Array:
    """Sigma of the honest noise of the week before, as a part of what is expected, chance not included.

    For rows from ``since`` on. NaN with too few hours to tell.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(expected > 0, np.abs(values / expected - 1), np.nan)
        chance = np.where(expected > 0, 1 / expected, np.nan)
    sigma = MAD_TO_SIGMA * _trailing_median(relative, since)
    return np.sqrt(np.maximum(sigma**2 - _trailing_median(chance, since), LEAST_DISPERSION**2))


def _trailing_median(values: Array, since: int) -> Array:
    """Column by column, since the windows of all of them together need much memory."""
    columns = [
        median(trailing(values[:, column], RESIDUAL_HOURS)[since:], -1, MIN_RESIDUALS)
        for column in range(values.shape[1])
    ]
    return np.stack(columns, axis=1) if columns else values[since:]


def count_sigmas(values: Array, expected: Array, since: int = 0) -> Array:
    """By how many sigmas counts differ from what is expected: chance and the usual noise of this series together."""
    usual_noise = dispersion(values, expected, since) * expected[since:]
    sigma = np.sqrt(expected[since:] + 1 + usual_noise**2)
    found: Array = (values[since:] - expected[since:]) / sigma
    return found


def residual_sigmas(residual: Array, floor: float, since: int = 0) -> Array:
    """By how many sigmas residuals differ from those of the week before; sigma is at least ``floor``."""
    middle = _trailing_median(residual, since)
    columns = [
        robust_sigma(trailing(residual[:, column], RESIDUAL_HOURS)[since:], -1, MIN_RESIDUALS)
        for column in range(residual.shape[1])
    ]
    sigma = np.stack(columns, axis=1) if columns else middle
    found: Array = (residual[since:] - middle) / np.maximum(sigma, floor)
    return found


def jensen_shannon(first: Array, second: Array) -> Array:
    """The divergence of two mixes along the last axis in nats, 0 to ln 2; its root is a distance. Sums are 1 each."""
    middle = np.maximum((first + second) / 2, LEAST_PROBABILITY)
    return 0.5 * (_relative_entropy(first, middle) + _relative_entropy(second, middle))


def _relative_entropy(mix: Array, reference: Array) -> Array:
    found: Array = np.sum(mix * np.log(np.maximum(mix, LEAST_PROBABILITY) / reference), axis=-1)
    return found


def mix_surprise(amount: Array, reference: Array, out_of: Array, reference_out_of: Array) -> Array:
    """The divergence in units of what honest sampling of so many clicks gives, brought to a standard normal scale.

    Two samples of one mix differ by a chi-square over 8 (1/n + 1/N) (its degrees: the groups less one); Wilson and
    Hilferty's cube root makes that normal. The groups count that the reference has at least one click in.
    """
    degrees = np.maximum(np.sum(reference * reference_out_of[:, None] >= 1, axis=1) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mix = amount / out_of[:, None]
        chi_square = 8 * jensen_shannon(mix, reference) / (1 / out_of + 1 / reference_out_of)
        ninth = 2 / (9 * degrees)
        found: Array = (np.cbrt(chi_square / degrees) - (1 - ninth)) / np.sqrt(ninth)
    return found


def day_level(values: Array, usual: Array) -> Array:
    """The logarithm of the sum of a day, this hour its last, over the usual one; NaN for less than half of it."""
    is_known = ~np.isnan(values) & ~np.isnan(usual)
    beyond = np.full((1, *values.shape[1:]), np.nan)
    found, expected = (
        trailing(np.concatenate([np.where(is_known, of, np.nan), beyond]), DAY_HOURS)[1:] for of in (values, usual)
    )
    is_enough = np.sum(~np.isnan(found), axis=-1) >= DAY_HOURS // 2
    total, base = np.nansum(found, axis=-1), np.nansum(expected, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.where(is_enough & (base > 0), np.log((total + 1) / (base + 1)), np.nan)
    return ratio


def days_before(values: Array, days: range, since: int = 0) -> Array:
    """The values of the same hour so many days before, in the order of ``days``, along a new last axis."""
    return np.stack([earlier(values, day * DAY_HOURS)[since:] for day in days], axis=-1)


def lower_and_upper_cusum(values: Array, slack: float) -> tuple[Array, Array]:
    """Cumulative sums along the last axis, oldest first, of what is more than ``slack`` under and over 0."""
    lower, upper = np.zeros(values.shape[:-1]), np.zeros(values.shape[:-1])
    for step in np.moveaxis(values, -1, 0):
        known = np.nan_to_num(step)
        lower = np.maximum(0, lower - known - slack)
        upper = np.maximum(0, upper + known - slack)
    return lower, upper
