"""Suite of ``raw_clicks``: what an hour of the log must look like before anything is counted from it."""

from quality.suites.rules import (
    HasGroups,
    InRange,
    InSet,
    Matches,
    NotMoreThan,
    PartsOfWhole,
    Rule,
    Schema,
    ShareInRange,
    Suite,
)

NEVER_NULL = ("impression_id", "country")
EXACT = "parts are counted by the same pass as the whole"

RAW_SUITE = Suite(
    name="raw",
    table_name="raw_clicks",
    metrics_of=("raw_clicks",),
    version=1,
    rules=(
        Rule(
            "raw_schema",
            "fail",
            Schema(("rows", "nulls", "by_country", "by_device", "by_kind", "by_server", "by_advertiser")),
            "an hour of which less was measured was not judged",
        ),
        Rule("raw_columns", "fail", HasGroups("nulls", NEVER_NULL), "a column that is gone would be judged by nobody"),
        Rule("raw_not_empty", "warn", InRange("rows", 1, None), "an hour without a click is possible, and rare"),
        Rule(
            "raw_required",
            "fail",
            InRange("nulls", 0, 0, ("impression_id",)),
            "without an impression a click has no identity",
        ),
        Rule(
            "raw_null_shares",
            "warn",
            ShareInRange("nulls", 0.0, 0.5, ("country",)),
            "half of an optional column is a client that stopped sending it",
        ),
        Rule(
            "raw_kinds",
            "fail",
            InSet("by_kind", ("click", "head", "prefetch")),
            "a fourth kind has no rule to count by",
        ),
        Rule(
            "raw_devices",
            "warn",
            InSet("by_device", ("mobile", "desktop", "tablet", "other")),
            "the parser knows these and no others",
        ),
        Rule("raw_countries", "warn", Matches("by_country", r"^[A-Z]{2}$"), "ISO 3166-1 alpha-2, or ZZ"),
        Rule("raw_country_parts", "fail", PartsOfWhole("by_country"), EXACT),
        Rule("raw_device_parts", "fail", PartsOfWhole("by_device"), EXACT),
        Rule("raw_kind_parts", "fail", PartsOfWhole("by_kind"), EXACT),
        Rule("raw_server_parts", "fail", PartsOfWhole("by_server"), EXACT),
        Rule("raw_advertiser_parts", "fail", PartsOfWhole("by_advertiser"), EXACT),
        Rule("raw_distinct", "fail", NotMoreThan("distinct", "rows"), "there are no more values than rows"),
        Rule(
            "raw_unknown_ads",
            "fail",
            InRange("unknown_ads", 0, 0),
            "the archive quarantines clicks of ads that are not in table ads",
        ),
    ),
)
