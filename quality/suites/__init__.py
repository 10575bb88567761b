"""Suites of declared rules, one file a guarded table. A new suite is a new file and one line here."""

from quality.suites.drift import DRIFT_SUITE
from quality.suites.exclusions import EXCLUSIONS_SUITE
from quality.suites.final import FINAL_SUITE
from quality.suites.live import LIVE_SUITE
from quality.suites.raw import RAW_SUITE
from quality.suites.rules import Suite
from quality.suites.seals import SEALS_SUITE

SUITES: dict[str, Suite] = {
    suite.name: suite for suite in (RAW_SUITE, LIVE_SUITE, FINAL_SUITE, DRIFT_SUITE, EXCLUSIONS_SUITE, SEALS_SUITE)
}
