"""Random histories of the books against a small model of them in plain Python: in the end the sums agree."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Literal

from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from domain.adjustments import AdjustmentCase
from domain.buckets import HOUR
from domain.periods import CloseRefusedError
from domain.seals import current_seals
from domain.verdicts import ClickTarget, FraudVerdict
from quality.closing import close_recounted
from quality.proposals import read_proposals
from quality.recount import verify
from tests.support.periods import CLOSED_AT, NOVEMBER, OCTOBER
from tests.support.sealed_world import logged, sealed_world
from warehouse.adjustments import adjust, read_adjustments
from warehouse.periods import read_closed
from warehouse.seals import read_seals

HOURS = (OCTOBER.end - 2 * HOUR, OCTOBER.end - HOUR, NOVEMBER.start, NOVEMBER.start + HOUR)
FIRST_LOGGED_AT = NOVEMBER.start + 3 * HOUR
IDENTITIES = ("a", "b", "c", "d", "e")
HISTORIES, STEPS = 6, 16

hours = st.sampled_from(HOURS)
identities = st.sampled_from(IDENTITIES)


class Books(RuleBasedStateMachine):
    """Clicks and verdicts come in any order; hours are sealed, revised, closed and adjusted in between.

    The model: the first copy of an identity in the log counts, in the hour in which it happened, unless it is fraud.
    """

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.world = sealed_world(Path(self._folder.name))
        self.clicks: list[tuple[str, int]] = []
        self.fraud: set[str] = set()
        self.verdict_count = 0

    @rule(number=st.integers(0, len(HOURS) - 1), identity=identities, kind=st.sampled_from(["click", "click", "head"]))
    def click(self, number: int, identity: str, kind: Literal["click", "head"]) -> None:
        offset = len(self.world.log)
        logged_at = FIRST_LOGGED_AT + timedelta(seconds=offset)
        self.world.archive([logged(offset, HOURS[number], impression_id=identity, kind=kind, logged_at=logged_at)])
        if kind == "click":
            self.clicks.append((identity, number))

    @rule(identity=identities, is_fraud=st.booleans())
    def judge(self, identity: str, is_fraud: bool) -> None:
        self.verdict_count += 1
        said: Literal["fraud", "withdrawn"] = "fraud" if is_fraud else "withdrawn"
        decided_at = FIRST_LOGGED_AT + timedelta(seconds=self.verdict_count)
        verdict = FraudVerdict(f"v{self.verdict_count}", ClickTarget(identity, 1), said, "a bot", decided_at)
        self.world.judge_fraud(verdict)
        (self.fraud.add if is_fraud else self.fraud.discard)(identity)

    @precondition(lambda self: self.unsealed())
    @rule(data=st.data())
    def seal(self, data: st.DataObject) -> None:
        self.world.seal(data.draw(st.sampled_from(self.unsealed())))
        self.world.publish()

    @precondition(lambda self: not read_closed(self.world.settings).periods)
    @rule(is_prepared=st.booleans())
    def close(self, is_prepared: bool) -> None:
        """Prepared, nothing stands against it; else it is refused, or nothing stood against it."""
        if is_prepared:
            self.world.seal(*(hour for hour in self.unsealed() if hour < OCTOBER.end))
            self.settle()
            self.world.publish()
        with nullcontext() if is_prepared else suppress(CloseRefusedError):
            close_recounted(self.world.settings, OCTOBER, "ada", lambda: CLOSED_AT)
            event("closed")
            october = [hour for hour in self.billed() if hour < OCTOBER.end]
            assert {hour: self.billed()[hour] for hour in october} == {hour: self.due(hour) for hour in october}

    @rule()
    def settle(self) -> None:
        """Whatever is proposed is done: revisions where the period is open, adjustments where it is closed."""
        proposals = read_proposals(self.world.settings)
        revised = [one.hour for one in proposals if one.kind == "revision"]
        if revised:
            self.world.seal(*revised)
            self.world.publish()
        for number, one in enumerate((one for one in proposals if one.kind == "adjustment"), start=1):
            event("adjusted")
            case = AdjustmentCase(
                case_id=f"C-{len(read_adjustments(self.world.settings))}-{number}",
                reason=one.findings.reason,
                requested_by="ada",
                approved_by="grace",
                billing_period=NOVEMBER,
                adjusted_at=CLOSED_AT,
            )
            adjust(self.world.settings, case, one.lines)
        assert self.billed() == {hour: self.due(hour) for hour in self.billed()}
        assert [one for one in read_proposals(self.world.settings) if one.lines or one.kind == "revision"] == []

    def teardown(self) -> None:
        for hour in self.unsealed():
            self.world.seal(hour)
        self.world.publish()
        self.settle()
        differing = [one for one in verify(self.world.settings, sorted(self.billed())) if not one.is_agreeing]
        assert differing == []
        self._folder.cleanup()

    def unsealed(self) -> list[object]:
        closed, sealed = read_closed(self.world.settings), current_seals(read_seals(self.world.settings))
        return [hour for hour in HOURS if hour not in sealed and not closed.holds(hour)]

    def billed(self) -> dict[object, int]:
        """By sealed hour what its seal and its adjustments bill together."""
        seals = current_seals(read_seals(self.world.settings))
        billed: dict[object, int] = {hour: seal.billable_clicks for hour, seal in seals.items()}
        for one in read_adjustments(self.world.settings):
            billed[one.charge_hour] += one.delta_clicks
        return billed

    def due(self, hour: object) -> int:
        """What the model says."""
        first: dict[str, int] = {}
        for identity, number in self.clicks:
            first.setdefault(identity, number)
        return sum(HOURS[number] == hour and identity not in self.fraud for identity, number in first.items())


Books.TestCase.settings = settings(
    max_examples=HISTORIES,
    stateful_step_count=STEPS,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
TestBooks = Books.TestCase
