"""Suite of the final count: what would be billed."""

from quality.suites.rules import InRange, Matches, Rule, Schema, Suite

FINAL_SUITE = Suite(
    name="final",
    table_name="final_clicks_hour",
    metrics_of=("drift",),
    version=1,
    rules=(
        Rule("final_schema", "fail", Schema(("final",)), "an hour of which nothing was counted is not to be billed"),
        Rule("final_not_negative", "fail", InRange("final", 0, None), "counts are not negative"),
        Rule("final_advertisers", "fail", Matches("final", r"^\d+$"), "a bill goes to an advertiser's number"),
    ),
)
