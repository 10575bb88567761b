"""Changed verdicts by SQL: the rule of the domain once more, row for row, without all of them in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from domain.identity import LogPosition
from domain.proposals import changed_spans
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict, Target, VerdictOfSet
from warehouse.duck_engine import opened_engine
from warehouse.verdicts import VerdictSet, append_set
from warehouse.verdicts_in_force import know_changes

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
TARGETS: list[Target] = [
    *(ClickTarget(name, ad) for name in ("a", "B", "\u00e9", "\U0001f600") for ad in (1, 2)),
    *(LogPosition(1, partition, offset) for partition in (0, 1) for offset in (0, 2**40)),
]
SETS, OF_A_SET = 4, 25
INITIALS = "aZ\u00e9"


def _set(number: int, random: Random) -> list[FraudVerdict]:
    """Few instants and many targets: verdicts of one set and of several fall on one instant."""
    return [
        FraudVerdict(
            f"{random.choice(INITIALS)}-{number}-{index}",
            random.choice(TARGETS),
            random.choice(("fraud", "withdrawn")),
            "a bot",
            AT + timedelta(microseconds=random.randint(0, 3)),
            random.choice((None, 7)),
        )
        for index in range(OF_A_SET)
    ]


@pytest.fixture
def known(settings: Settings) -> Sequence[VerdictOfSet]:
    """Random sets in the table, and the same in plain Python."""
    random = Random(11)
    sets = {number: _set(number, random) for number in range(1, SETS + 1)}
    for number, verdicts in sets.items():
        append_set(settings, VerdictSet(f"file {number}", "lab", "ann", verdicts), AT)
    return [VerdictOfSet(number, "lab", one) for number, verdicts in sets.items() for one in verdicts]


def _target(row: dict[str, Any]) -> Target:
    if row["impression_id"] is not None:
        return ClickTarget(row["impression_id"], row["ad_id"])
    return LogPosition(row["log"], row["partition"], row["offset"])


def test_changes_as_the_domain_says(settings: Settings, known: Sequence[VerdictOfSet]) -> None:
    for newest in range(1, SETS + 1):
        with opened_engine(settings) as engine:
            assert know_changes(settings, engine, newest)
            found = engine.execute("FROM changed").fetchall()
        spans = changed_spans([one for one in known if one.set_version <= newest], newest)
        assert len(found) == len(spans)
        assert {(*row[5:7], _target(dict(zip(_NAMES, row, strict=False))), row[7]) for row in found} == {
            (span.first_set, span.end_set, *span.changed) for span in spans
        }


_NAMES = ("impression_id", "ad_id", "log", "partition", "offset")


def test_no_set_changes_nothing(settings: Settings) -> None:
    with opened_engine(settings) as engine:
        assert not know_changes(settings, engine, 0)
