"""What finance and an auditor do in the demo: a revision, a dispute, a close, an adjustment.

Belongs here: the steps as the commands take them (``verdicts``, ``proposals``, ``dispute``, ``period``), on one
hour each.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cli.commands.dispute import pack_to
from domain.adjustments import Adjustment, AdjustmentCase
from domain.buckets import HOUR, format_utc
from domain.disputes import Claim, Resolution
from domain.periods import Period, PeriodClose
from domain.seals import current_seals
from domain.settings import Settings
from domain.verdicts import ClickTarget
from quality.closing import close_recounted
from quality.proposals import read_proposals
from quality.slices import in_hours
from services.approvals import approval_of
from services.tokens import Caller
from spark_jobs.params import ReconcileParams
from spark_jobs.reconcile import reconcile
from warehouse.adjustments import adjust
from warehouse.clock import now
from warehouse.disputes import open_dispute, resolve_dispute
from warehouse.hour_findings import read_findings
from warehouse.layout import dataset_of, open_table
from warehouse.seals import read_seals
from warehouse.verdict_files import read_verdict_bytes
from warehouse.verdict_intake import take_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRAUD_CLICKS = 25
"""So many clicks are judged in each of two hours."""


@dataclass(frozen=True)
class Books:
    """The books of the demo's month."""

    settings: Settings
    period: Period
    say: Callable[[str], None]

    def revise_for_fraud(self, spark: SparkSession, hour: datetime) -> tuple[int, int, int]:
        """How many clicks were judged, and how many of the hour were billable before and after."""
        before = self._billable_clicks(hour)
        judged = self._judge_fraud(hour, "lab-1")
        (found,) = read_findings(self.settings)
        self.say(f"proposed: a revision of {format_utc(found.hour)}, case {found.case_id}: {found.reason}")
        params = ReconcileParams(
            hour, hour + HOUR, f"{found.actor} by the demo", reason=found.reason, case_id=found.case_id
        )
        (receipt,) = reconcile(self.settings, spark, params, now, progress=self.say).hours
        after = self._billable_clicks(hour)
        self.say(f"seal {receipt.seal_number} holds now: {before:,} billable clicks became {after:,}")
        return judged, before, after

    def dispute(self) -> str:
        """The last line of what the pack's script says, run in a folder of its own, isolated from our packages."""
        start, end = self.period.end - HOUR, self.period.end
        advertiser_id = self._largest_advertiser(start)
        claim = Claim(
            advertiser_id=advertiser_id,
            start=start,
            end=end,
            claim="we counted one click less",
            actor="demo",
            claimed_clicks=None,
            opened_at=now(),
        )
        dispute = open_dispute(self.settings, claim)
        pack = self.settings.home / f"{dispute.case_id}.zip"
        receipt = pack_to(self.settings, dispute.case_id, pack)
        self.say(f"{dispute.case_id} of advertiser {advertiser_id}: {receipt.event_count:,} clicks packed into {pack}")
        folder = pack.with_suffix("")
        shutil.rmtree(folder, ignore_errors=True)
        with zipfile.ZipFile(pack) as file:
            file.extractall(folder)
        command = [sys.executable, "-I", "recount.py"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  our script
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        for line in lines:
            self.say(f"recount.py: {line}")
        answer = Resolution(outcome="rejected", reason="each click recounts", actor="demo", resolved_at=now())
        resolve_dispute(self.settings, dispute.case_id, answer)
        return lines[-1] if lines else ""

    def close(self) -> PeriodClose:
        """The certificate."""
        close = close_recounted(self.settings, self.period, "demo", now, on_progress=self.say)
        self.say(f"{close.billable_clicks:,} clicks in {close.hour_count} hours, root digest {close.root_digest}")
        return close

    def adjust_for_fraud(self, hour: datetime) -> tuple[int, list[Adjustment]]:
        """How many clicks were judged after the close, and the lines that two people approved."""
        judged = self._judge_fraud(hour, "lab-2")
        (proposal,) = read_proposals(self.settings, [hour], self.say)
        self.say(f"proposed: an adjustment of {len(proposal.lines)} lines, {proposal.findings.reason}")
        approval = approval_of(Caller("operator", person="ada"), Caller("approve", person="grace"))
        case = AdjustmentCase(
            case_id=proposal.findings.case_id,
            reason=proposal.findings.reason,
            billing_period=self.period.following,
            adjusted_at=now(),
            **vars(approval),
        )
        written = adjust(self.settings, case, proposal.lines)
        total = sum(one.delta_clicks for one in written)
        self.say(
            f"case {case.case_id}: {total:+,} clicks, billed in {case.billing_period}, asked by ada, approved by grace"
        )
        return judged, written

    def _judge_fraud(self, hour: datetime, source: str) -> int:
        """Takes in a set of verdicts about some billable clicks of the hour, as a file would bring them."""
        at = now()
        said = {"verdict": "fraud", "reason": "a bot", "decided_at": format_utc(at)}
        clicks = [{name: row[name] for name in ClickTarget._fields} for row in self._billable(hour)[:FRAUD_CLICKS]]
        lines = "".join(f"{json.dumps(click | said)}\n" for click in clicks)
        given = read_verdict_bytes(f"verdicts of {source}", ".jsonl", lines.encode(), at)
        receipt = take_in(self.settings, given, source, "demo", at)
        judged = receipt.verdict_count
        self.say(f"{source} judges {judged} clicks of {format_utc(hour)} fraud: verdict set {receipt.set_version}")
        return judged

    def _billable_clicks(self, hour: datetime) -> int:
        return current_seals(read_seals(self.settings))[hour].billable_clicks

    def _billable(self, hour: datetime) -> list[dict[str, Any]]:
        """The billable clicks of an hour, in the order of the log."""
        raw = dataset_of(open_table(self.settings, "raw_clicks")).to_table(filter=in_hours([hour])).to_pylist()
        excluded = (
            dataset_of(open_table(self.settings, "click_exclusions")).to_table(filter=in_hours([hour])).to_pylist()
        )
        gone = {_position(row) for row in excluded}
        return sorted((row for row in raw if _position(row) not in gone), key=_position)

    def _largest_advertiser(self, hour: datetime) -> int:
        clicks = Counter(row["advertiser_id"] for row in self._billable(hour))
        return int(clicks.most_common(1)[0][0])


def _position(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["log"], row["partition"], row["offset"]
