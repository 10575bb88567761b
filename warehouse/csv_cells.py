"""Values as the CSV files for people outside write them: nothing for a null, an instant as ISO 8601 with Z."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa

from domain.buckets import format_utc


def csv_rows(batch: pa.RecordBatch) -> Iterator[tuple[str, ...]]:
    """The rows of a batch, each value as text."""
    return zip(*(map(csv_text, column.to_pylist()) for column in batch.columns), strict=True)


def csv_text(value: object) -> str:
    """One value as text."""
    if value is None:
        return ""
    return format_utc(value) if isinstance(value, datetime) else str(value)
