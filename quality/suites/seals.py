"""Suite of ``seals``: of an hour that is sealed, that its seal's own figures add up."""

from quality.suites.rules import InRange, Rule, Suite, SumsEqual

SEALS_SUITE = Suite(
    name="seals",
    table_name="seals",
    metrics_of=("seals",),
    version=1,
    rules=(
        Rule(
            "seal_conservation",
            "fail",
            SumsEqual("billable", "excluded", "raw"),
            "law 3 is exact: a click off is money off",
        ),
        Rule("seal_not_negative", "fail", InRange("billable", 0, None), "counts are not negative"),
    ),
)
