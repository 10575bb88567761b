"""Table ``quality_metrics``: what each measured partition looked like. Judged by the quality room; never changed."""

from warehouse.table import Column, Table

QUALITY_METRICS = Table(
    name="quality_metrics",
    description="Figures of one hour of one table: rows, nulls, shares, quantiles. A share keeps its two parts.",
    owner="data engineering",
    written_by="reconcile",
    writer="delta-rs",
    key=("table_name", "hour", "name", "group", "attempt"),
    columns=(
        Column("table_name", "string", "the table that was measured"),
        Column("hour", "timestamp", "start of the hour, UTC"),
        Column("name", "string", "what was measured, for example by_country"),
        Column("group", "string", "which part of the hour: a column, a country, a quantile; empty for all of it"),
        Column("amount", "long", "the figure, in unit"),
        Column("out_of", "long", "of a share: what it is a part of", is_nullable=True),
        Column("unit", "string", "rows, clicks, values or ms"),
        Column("attempt", "string", "the attempt that measured it"),
        Column("measured_at", "timestamp", "when"),
        Column("code_version", "string", "version of the code that measured"),
        Column("hour_date", "date", "UTC date of the hour"),
    ),
    partition_by=("hour_date",),
)
