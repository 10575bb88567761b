"""Table ``quality_verdicts``."""

from warehouse.table import Column, Table

QUALITY_VERDICTS = Table(
    name="quality_verdicts",
    description="What each rule said about each measured hour, and why. Judging again adds rows.",
    owner="data engineering",
    written_by="quality",
    writer="delta-rs",
    key=("table_name", "hour", "rule", "group", "attempt", "run"),
    columns=(
        Column("table_name", "string", "the table that was judged"),
        Column("hour", "timestamp", "start of the UTC hour"),
        Column("rule", "string", "what was asked, for example conservation"),
        Column("group", "string", "which part of the hour; empty for all of it, or for all groups that are well"),
        Column("outcome", "string", "pass, fail, error (the check broke) or no_reference (nothing to compare with)"),
        Column("severity", "string", "fail or warn"),
        Column("is_blocking", "boolean", "whether a fail or an error of this rule holds the seal back"),
        Column("observed", "string", "what was found"),
        Column("expected", "string", "what should have been found"),
        Column("tolerance", "string", "how far off it may be"),
        Column("tolerance_reason", "string", "why that far"),
        Column("suite", "string", "the suite that the rule is of"),
        Column("suite_version", "int", "version of that suite"),
        Column("attempt", "string", "the attempt whose metrics were judged"),
        Column("run", "string", "the run that judged"),
        Column("judged_at", "timestamp", "when"),
        Column("code_version", "string", "version of the code that judged"),
        Column("hour_date", "date", "UTC date of the hour"),
    ),
    partition_by=("hour_date",),
    is_append_only=True,
)
