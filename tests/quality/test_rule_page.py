"""The page of rules: all of them, what is wrong first, nothing from the network, no text that becomes markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from domain.drift_rules import DRIFT_RULES
from domain.settings import Settings
from quality.rule_page import rule_page
from quality.suites import SUITES
from tests.domain.test_quality_verdicts import VERDICT
from tests.support.empty_tables import make_empty_tables
from warehouse.quality_verdicts import append_verdicts


def test_the_page_has_every_rule_and_what_is_wrong(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    make_empty_tables(settings)
    empty = rule_page(settings)
    names = {rule.name for suite in SUITES.values() for rule in suite.rules} | {rule.name for rule in DRIFT_RULES}
    assert {name for name in names if f"<td>{name}</td>" not in empty} == set()
    assert "0 newest judged hours" in empty
    append_verdicts(settings, [replace(VERDICT, group="<b>"), replace(VERDICT, rule="other", outcome="pass")])
    page = rule_page(settings)
    assert "1 newest judged hours, 2 verdicts, 1 fail or error" in page
    assert page.count("<tr class='fail'>") == 2
    assert page.count("<tr class='pass'>") == 1
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "http" not in page
    assert "<script" not in page
