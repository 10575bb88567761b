"""The page about a day: what it says, that it is the same each time, and that it loads nothing from anywhere."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quality.alerting import Look, record_looks
from quality.day_report import day_report
from tests.domain.test_alerts import CAUSE
from tests.quality.test_alert_causes import judged, verdict, warning
from tests.support.ledgers import FIRST_HOUR, seal_draft
from tests.support.sealed_world import SealedWorld, sealed_world
from warehouse.quality_verdicts import release
from warehouse.seals import append_seals

DAY = FIRST_HOUR.date()
AT = FIRST_HOUR + timedelta(hours=3)


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    """A sealed hour, one that is held for a group, another group of which somebody let go, and a drift."""
    made = sealed_world(tmp_path / "home")
    append_seals(made.settings, [seal_draft(0)], 0, AT)
    drift = warning(2, suite="drift_statistics", observed="<b>3</b> clicks")
    judged(made, verdict(0, outcome="pass"), verdict(1), verdict(2, group="7"), drift)
    release(made.settings, FIRST_HOUR + timedelta(hours=2), "conservation", actor="ann", reason="a known hole", at=AT)
    record_looks(made.settings, [Look("verdicts", [replace(CAUSE, observed="told of this")])], AT)
    return made


def section(page: str, title: str) -> str:
    return page.split(f"<h2>{title}</h2>")[1].split("<h2>", maxsplit=1)[0]


def test_it_says_what_was_judged_held_let_go_and_told(world: SealedWorld) -> None:
    page = day_report(world.settings, DAY)
    assert "3 of 24 hours judged, 1 sealed; 1 pass, 0 no_reference, 3 fail, 0 error; 1 reasons hold hours back." in page
    held = section(page, "What was held back")
    assert "2026-05-04T11:00:00Z" in held
    assert "2026-05-04T12:00:00Z" not in held
    assert "a known hole" in section(page, "What people decided")
    assert "told of this" in section(page, "Alerts of the day")
    assert "volume" in section(page, "What drifted")
    assert "volume" not in section(page, "What broke a rule")


def test_data_is_text_and_never_markup(world: SealedWorld) -> None:
    page = day_report(world.settings, DAY)
    assert "&lt;b&gt;3&lt;/b&gt; clicks" in page
    assert "<b>3</b>" not in page


def test_it_is_the_same_each_time_and_loads_nothing(world: SealedWorld) -> None:
    page = day_report(world.settings, DAY)
    assert page == day_report(world.settings, DAY)
    assert page.count("<svg") == 2
    assert not any(text in page for text in ("<script", "<link", "<img", "@import", "src=", 'xlink:href="http'))


def test_a_day_that_nobody_judged_says_so(world: SealedWorld) -> None:
    page = day_report(world.settings, DAY - timedelta(days=9))
    assert "0 of 24 hours judged, 0 sealed" in page
    assert section(page, "What was held back").strip() == "<p>nothing</p>"
