"""What every materialisation says of its table: schema, rows, version. From the tables as data, so written once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import dagster as dg

from domain.settings import Settings
from domain.stream_batches import ended_within, freshness_of
from warehouse.layout import open_table, table_uri
from warehouse.row_counts import count_rows
from warehouse.stream_state import recent_batches
from warehouse.tables import TABLES


def table_spec(name: str, **spec: Any) -> dg.AssetSpec:
    """The spec of a table's asset: description, owner, columns and address; ``spec`` adds deps and partitions."""
    table = TABLES[name]
    columns = [
        dg.TableColumn(
            column.name,
            column.type,
            column.description,
            constraints=dg.TableColumnConstraints(nullable=column.is_nullable),
        )
        for column in table.columns
    ]
    return dg.AssetSpec(
        name,
        description=f"{table.description} Written by: {table.written_by}.",
        owners=[f"team:{table.owner.replace(' ', '-')}"],
        metadata={
            "dagster/column_schema": dg.TableSchema(columns),
            "dagster/table_name": name,
            "key": ", ".join(table.key),
            "retention": f"{table.retention_days} days" if table.retention_days else "for ever",
        },
        kinds={"delta", "spark" if table.writer == "spark" else "python"},
        **spec,
    )


def table_metadata(settings: Settings, name: str, hours: list[datetime] | None = None) -> Mapping[str, Any]:
    """Rows (of these hours, where given), version and address of a table as it is now."""
    rows = {"dagster/row_count": count_rows(settings, name)}
    if hours is not None:
        rows["dagster/partition_row_count"] = count_rows(settings, name, hours)
    return {**rows, "delta_version": open_table(settings, name).version(), "path": table_uri(settings, name)}


def stream_metadata(settings: Settings, query: str, at: datetime) -> Mapping[str, Any]:
    """Of one query's batches of the ten minutes before ``at``: how many, what they read, the last one, freshness."""
    batches = [batch for batch in ended_within(recent_batches(settings, at), at) if batch.query == query]
    found: dict[str, Any] = {"recent_batches": len(batches), "recent_records": sum(b.in_count for b in batches)}
    if batches:
        last = batches[-1]
        found |= {"last_batch_ended_at": dg.MetadataValue.timestamp(last.ended_at), "last_stages": last.stage_seconds}
    freshness = freshness_of(batches)
    if freshness is not None:
        found |= {"freshness_p99_seconds": freshness.p99_seconds, "freshness_worst_seconds": freshness.worst_seconds}
    return found
