"""The cuts of hours as rows, for queries that ask what lies below them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from domain.identity import place_of
from warehouse.schema import table_of


def cut_ends(cuts: Mapping[int, Mapping[str, int]]) -> pa.Table:
    """click_hour, log, partition, end_offset: a row for each place of each cut; ``cuts`` by hour of the day."""
    rows = [(hour, *place_of(place), end) for hour, cut in cuts.items() for place, end in sorted(cut.items())]
    types = {"click_hour": pa.int32(), "log": pa.int32(), "partition": pa.int32(), "end_offset": pa.int64()}
    return table_of(rows, types)
