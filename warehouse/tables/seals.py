"""Table ``seals``."""

from warehouse.table import Column, Table

SEALS = Table(
    name="seals",
    description="The ledger that makes one attempt the truth of its hour; a hash chain.",
    owner="finance",
    written_by="reconcile",
    writer="delta-rs",
    key=("seal_number",),
    columns=(
        Column("seal_number", "long", "counts up by one"),
        Column("hour", "timestamp", "start of the UTC hour"),
        Column("revision", "int", "0 for the first seal of an hour"),
        Column("attempt", "string", "id of the computation that is the truth"),
        Column("cut", "string", 'JSON: per "log:partition" the end offset up to which raw was read'),
        Column("raw_clicks", "long", "count of raw events of the hour up to the cut"),
        Column("billable_clicks", "long", "count of billable clicks"),
        Column("excluded_clicks", "string", "JSON: per reason the count of excluded clicks"),
        Column("digest", "string", "digest of the billable set, see docs/seals.md"),
        Column("verdict_set", "long", "set of fraud verdicts that was applied, with all before it; 0 for none"),
        Column("ads_version", "long", "Delta version of the ads table"),
        Column("rule_version", "int", "version of the counting rule"),
        Column("horizon_days", "int", "dedup horizon that was applied"),
        Column("code_version", "string", "version of the product"),
        Column("actor", "string", "who or what asked for it"),
        Column("reason", "string", "why the hour was sealed again; empty on its first seal"),
        Column("case_id", "string", "the case of a revision; empty on the first seal of an hour"),
        Column("sealed_at", "timestamp", "when"),
        Column("salt", "string", "random bytes, in hex, that keep the commitment from being guessed"),
        Column("commitment", "string", "SHA-256 over salt, actor, case_id and reason, in hex, see docs/seals.md"),
        Column("previous_hash", "string", "hash of the seal before, in hex"),
        Column(
            "hash",
            "string",
            "SHA-256 of previous_hash and this row but the commitment's salt and texts, in hex",
        ),
    ),
    is_append_only=True,
)
