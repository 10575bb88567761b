"""``docs/seals.md`` as a stranger reads it: its numbers are true, and its script finds what was changed."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from pathlib import Path

import pytest

from domain.chain import canonical_json
from domain.identity import LogPosition
from domain.seals import chain_drafts
from domain.verdicts import ClickTarget, FraudVerdict
from quality.recount import verify
from tests.support.sealed_world import HOUR, SealedWorld, exchanged, line_of, logged, sealed_world
from warehouse.seals import read_seals

SEALS_PAGE = (Path(__file__).parents[2] / "docs" / "seals.md").read_text(encoding="utf-8")


@pytest.fixture
def documented_world(tmp_path: Path) -> SealedWorld:
    """The worked example of docs/seals.md."""
    world = sealed_world(tmp_path)
    world.archive(
        [
            logged(0, HOUR + timedelta(seconds=5), impression_id="imp-a"),
            logged(1, HOUR + timedelta(seconds=9), impression_id="imp-a"),
            logged(2, HOUR + timedelta(minutes=7), impression_id="imp-b", country="CA"),
            logged(3, HOUR + timedelta(minutes=8), impression_id="imp-c", kind="head"),
        ]
    )
    world.seal(HOUR)
    world.publish()
    return world


def test_the_numbers_of_the_documentation(documented_world: SealedWorld) -> None:
    """The salt of the page is another than the one that this seal got, and so are the two hashes that rest on it."""
    (sealed,) = read_seals(documented_world.settings)
    (seal,) = chain_drafts([], [sealed], sealed.sealed_at, lambda: hashlib.sha256(b"docs/seals.md").hexdigest())
    outcomes = documented_world.outcomes(HOUR, seal.cut)
    lines = [line_of(outcome) for outcome in outcomes if outcome.is_billable]
    hashed = [hashlib.sha256(line.encode()).hexdigest() for line in lines]
    shown = [f"{line}\n{hex_hash}" for line, hex_hash in zip(lines, hashed, strict=True)]
    assert "\n".join(shown) + f"\n\n{seal.digest}\n```" in SEALS_PAGE
    assert f'```\n{seal.salt}\n{{"actor":"test","case_id":"","reason":""}}\n```' in SEALS_PAGE
    assert f"```\n{canonical_json(seal.hashed_columns())}\n```" in SEALS_PAGE
    assert f"```\n{seal.hash}\n```" in SEALS_PAGE
    assert [(o.event.impression_id, o.reason) for o in outcomes] == [
        (impression, None if reason == "billable" else reason)
        for impression, reason in re.findall(r"\| (imp-\w) \| \w\w \| (\w+) \|", SEALS_PAGE)
    ]
    assert all(verdict.is_agreeing for verdict in verify(documented_world.settings, [HOUR]))


def test_the_strangers_script_of_the_documentation(
    documented_world: SealedWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Law 11, without any code of ours: it confirms a revision, and a changed byte in raw or in a seal stops it."""
    documented_world.archive([logged(4, HOUR), logged(5, HOUR + timedelta(hours=1)), logged(6, HOUR), logged(7, HOUR)])
    kept, judged = LogPosition(1, 0, 4), LogPosition(1, 0, 6)
    decided = [("1", judged, "fraud"), ("2", ClickTarget("imp-0-7", 1), "fraud"), ("3", kept, "fraud")]
    documented_world.judge_fraud(*(FraudVerdict(*one, "a bot", HOUR) for one in (*decided, ("4", kept, "withdrawn"))))
    (seal,) = documented_world.seal(HOUR)
    documented_world.judge_fraud(FraudVerdict("5", kept, "fraud", "after the seal", HOUR + timedelta(hours=1)))
    (script,) = re.findall(r"```python\n(.*?)```", SEALS_PAGE, re.DOTALL)
    script = script.replace(".tallystick/tables", documented_world.settings.tables_root)
    exec(script, {})
    confirmed = "hour 2026-11-30 09:00:00+00:00: 3 billable clicks confirmed"
    assert capsys.readouterr().out == f"{confirmed}, head {seal.hash}\n"
    for name, field, old, new in (
        ("seals", "actor", "test", "nobody"),
        ("seals", "reason", "found later", "no reason"),
        ("seals", "code_version", "0.1.0", "0.1.1"),
        ("raw_clicks", "payload", b"mobile", b"tablet"),
    ):
        documented_world.tamper(name, exchanged(field, old, new))
        with pytest.raises(AssertionError):
            exec(script, {})
        documented_world.tamper(name, exchanged(field, new, old))
    exec(script, {})
