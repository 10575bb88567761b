"""Table ``fraud_verdicts``."""

from warehouse.table import Column, Table

FRAUD_VERDICTS = Table(
    name="fraud_verdicts",
    description="What was decided about clicks, in sets: a file taken in is one set, and each set is a version of all.",
    owner="traffic quality",
    written_by="verdict intake",
    writer="delta-rs",
    key=("verdict_id",),
    columns=(
        Column("verdict_id", "string", "start of the file's digest and the line's number"),
        Column("set_version", "long", "number of the set, counts up from 1; a seal pins one"),
        Column("target_kind", "string", "click: all copies of one click; position: one place in the log"),
        Column("impression_id", "string", "of a click: the impression that was clicked", is_nullable=True),
        Column("ad_id", "long", "of a click: the ad", is_nullable=True),
        Column("log", "int", "of a position: number of the topic id, see table logs", is_nullable=True),
        Column("partition", "int", "of a position: partition of the topic", is_nullable=True),
        Column("offset", "long", "of a position: offset in the partition", is_nullable=True),
        Column("verdict", "string", "fraud, or withdrawn, which lifts the one before it about the same target"),
        Column("reason", "string", "why, in the source's words"),
        Column("score_micros", "long", "millionths of the source's own scale; decides nothing", is_nullable=True),
        Column("source", "string", "who decided"),
        Column("decided_at", "timestamp", "when; of verdicts about one target the last decided holds"),
        Column("received_at", "timestamp", "when it was taken in"),
        Column("actor", "string", "who took it in"),
        Column("file_digest", "string", "SHA-256 of the file, in hex; the same file is taken in once"),
        Column("verdict_date", "date", "UTC date of received_at"),
    ),
    partition_by=("verdict_date",),
    is_append_only=True,
)
