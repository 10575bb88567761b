"""Table ``rejected_verdicts``."""

from warehouse.table import Column, Table

REJECTED_VERDICTS = Table(
    name="rejected_verdicts",
    description="Lines of files of verdicts that were left out on request, each with its reason and text.",
    owner="traffic quality",
    written_by="verdict intake",
    writer="delta-rs",
    key=("file_digest", "line_number"),
    columns=(
        Column("file_digest", "string", "SHA-256 of the file, in hex"),
        Column("line_number", "long", "counts up from 1, the header included; in Parquet the row"),
        Column("reason", "string", "what is wrong with it"),
        Column("text", "string", "the line as it stood; bytes that are no UTF-8 as escapes"),
        Column("source", "string", "whose verdicts the file holds"),
        Column("received_at", "timestamp", "when the file was taken in"),
        Column("actor", "string", "who took it in"),
    ),
    is_append_only=True,
)
