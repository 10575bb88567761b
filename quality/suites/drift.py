"""Suite of ``drift``: live against final, per advertiser."""

from quality.suites.rules import Near, Rule, Suite

DRIFT_SUITE = Suite(
    name="drift",
    table_name="drift",
    metrics_of=("drift",),
    version=1,
    rules=(
        Rule(
            "live_near_final",
            "warn",
            Near("live", "final", per_mille=1, floor_clicks=5),
            "0.1 %, and a floor, since a single click of a small advertiser is more than that",
        ),
    ),
)
