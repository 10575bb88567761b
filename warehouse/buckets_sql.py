"""Buckets as SQL over microseconds since 1970: as numbers, so that no zone of a session can shift a bucket.

Belongs here: expressions made of whole numbers only. Which buckets there are is ``domain/local_buckets.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from domain.buckets import HOUR, MICROSECOND, MINUTE, to_unix_micros
from domain.local_buckets import Buckets, Offset, Run

HOUR_US, MINUTE_US = HOUR // MICROSECOND, MINUTE // MICROSECOND


def bucket_sql(us: str, buckets: Buckets) -> str:
    """The start of the bucket that ``us`` lies in."""
    return _by_start(us, buckets.runs, [_in_run(us, run) for run in buckets.runs])


def is_split_sql(us: str, buckets: Buckets) -> str:
    """Whether the UTC hour of ``us`` lies in more than one bucket."""
    hour = f"({us} - {us} % {HOUR_US})"
    return f"{bucket_sql(hour, buckets)} <> {bucket_sql(f'({hour} + {HOUR_US - MINUTE_US})', buckets)}"


def text_sql(us: str, buckets: Buckets) -> str:
    """The start of a bucket as text: ISO 8601 by the clock of its zone, with its offset; ``Z`` where it is UTC."""
    if not buckets.offsets:
        return f"strftime(make_timestamp({us}), '%Y-%m-%dT%H:%M:%SZ')"
    shown = [_shown(us, offset) for offset in buckets.offsets]
    return _by_start(us, buckets.offsets, shown)


def _in_run(us: str, run: Run) -> str:
    return f"{us} - ({us} - {to_unix_micros(run.start)}) % {run.length // MICROSECOND}"


def _shown(us: str, offset: Offset) -> str:
    minutes = abs(offset.ahead) // MINUTE
    sign = "-" if offset.ahead < timedelta(0) else "+"
    form = f"%Y-%m-%dT%H:%M:%S{sign}{minutes // 60:02}:{minutes % 60:02}"
    return f"strftime(make_timestamp({us} + {offset.ahead // MICROSECOND}), '{form}')"


def _by_start(us: str, parts: Sequence[Run] | Sequence[Offset], values: Sequence[str]) -> str:
    """The value of the last part that starts at or before ``us``; before all of them, of the first."""
    if len(parts) == 1:
        return f"({values[0]})"
    ends = [to_unix_micros(part.start) for part in parts[1:]]
    cases = " ".join(f"WHEN {us} < {end} THEN {value}" for end, value in zip(ends, values, strict=False))
    return f"(CASE {cases} ELSE {values[-1]} END)"
