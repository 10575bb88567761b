"""Suite of ``live_clicks_minute``: the stream's estimate. No bill rests on it, so it warns."""

from quality.suites.rules import InRange, Matches, Rule, Suite

LIVE_SUITE = Suite(
    name="live",
    table_name="live_clicks_minute",
    metrics_of=("drift",),
    version=1,
    rules=(
        Rule("live_not_negative", "warn", InRange("live", 0, None), "counts are not negative"),
        Rule("live_advertisers", "warn", Matches("live", r"^\d+$"), "a count belongs to an advertiser's number"),
    ),
)
