"""Suite of ``click_exclusions``: what is not billed, and that nothing is lost between raw and billed."""

from domain.counting import EXCLUSION_REASONS
from quality.suites.rules import InSet, Rule, ShareInRange, Suite, SumsEqual

EXCLUSIONS_SUITE = Suite(
    name="exclusions",
    table_name="click_exclusions",
    metrics_of=("raw_clicks", "drift"),
    version=1,
    rules=(
        Rule(
            "exclusion_reasons",
            "fail",
            InSet("excluded", EXCLUSION_REASONS),
            "a reason that no page explains to an advertiser",
        ),
        Rule("exclusion_shares", "fail", ShareInRange("excluded", 0.0, 1.0), "no more is excluded than there is"),
        Rule(
            "conservation", "fail", SumsEqual("final", "excluded", "rows"), "law 3 is exact: a click off is money off"
        ),
    ),
)
