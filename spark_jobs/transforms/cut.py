"""The cut as a condition on rows: which log positions an hour is counted from.

Belongs here: nothing else. What a cut is and who decides it: ``spark_jobs/planning.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from domain.identity import place_of

Cut = Mapping[str, int]
"""Per "log:partition" the end offset: the first one that is not read."""


def is_below_cut(cuts: Mapping[int, Cut]) -> Column:
    """Whether a row (click_hour, log, partition, offset) lies below the cut of its hour.

    ``cuts``: by hour of the day. Rows of other hours, logs and partitions do not.
    """
    hours_by_cut: dict[frozenset[tuple[str, int]], list[int]] = defaultdict(list)
    for hour, cut in cuts.items():
        hours_by_cut[frozenset(cut.items())].append(hour)
    end = F.lit(None).cast("bigint")
    for places, hours in hours_by_cut.items():
        end = F.when(F.col("click_hour").isin(hours), _end_offset(dict(places))).otherwise(end)
    return F.coalesce(F.col("offset") < end, F.lit(False))


def _end_offset(cut: Cut) -> Column:
    """Per log an array that is indexed by partition: one look-up a row, however many partitions there are."""
    by_log: dict[int, dict[int, int]] = defaultdict(dict)
    for place, offset in cut.items():
        log, partition = place_of(place)
        by_log[log][partition] = offset
    end = F.lit(None).cast("bigint")
    for log, offsets in by_log.items():
        ends = F.array(*(F.lit(offsets.get(partition)).cast("bigint") for partition in range(max(offsets) + 1)))
        end = F.when(F.col("log") == log, F.get(ends, F.col("partition"))).otherwise(end)
    return end
