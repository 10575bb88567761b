"""What the demo shows at its end: the equation, live against final, and whether all of it is what it must be.

Belongs here: the judgements, each against something that was known before, and the tables. The chapters are
``cli/commands/demo.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cli.console import out, print_table
from domain.adjustments import Adjustment
from domain.buckets import HOUR, format_utc
from domain.counting import EXCLUSION_REASONS
from domain.errors import IntegrityError
from domain.periods import PeriodClose
from domain.seals import current_seals
from domain.settings import Settings
from spark_jobs.params import ReconcileReceipt
from traffic.truth import Truth
from warehouse.layout import open_table, rows_of
from warehouse.periods import read_closed
from warehouse.publications import latest_publication
from warehouse.seals import read_seals
from warehouse.tables import LIVE_CLICKS_MINUTE

SUMMANDS = ("billable", *EXCLUSION_REASONS)


@dataclass
class Story:
    """What has been found so far; ``judgements`` says of each sentence whether it is so."""

    settings: Settings
    hours: list[datetime]
    judgements: dict[str, bool] = field(default_factory=dict)

    def check_counts(self, truth: Truth, receipt: ReconcileReceipt) -> None:
        """The first count, before anybody judged anything."""
        final, live = (_rows(self.settings, name) for name in ("final_clicks_minute", "live_clicks_minute"))
        self._judge("final equals the truth that the generator wrote down", final == truth.final_rows())
        self._judge("live equals the truth", live == truth.live_rows())
        self._judge("all hours are sealed and published", len(receipt.of("seal")) == len(self.hours))

    def check_equation(self, by_advertiser: Mapping[int, Counter[str]]) -> None:
        """The law that the table at the end shows."""
        is_so = all(one["raw"] == sum(one[name] for name in SUMMANDS) for one in by_advertiser.values())
        self._judge("raw = billable + excluded by reason, for each advertiser", is_so)

    def check_recount(self, agrees: bool) -> None:
        """Each time that it was asked for; it has to agree every time."""
        sentence = "the recount from raw agrees with the seals"
        self._judge(sentence, agrees and self.judgements.get(sentence, True))

    def check_revision(self, fraud_count: int, before: int, after: int) -> None:
        """Clicks of the hour before and after so many were judged."""
        self._judge(f"the revision bills {fraud_count} clicks less, the fraud", before - after == fraud_count)

    def check_pack(self, last_line: str) -> None:
        """What the pack's own script said last."""
        self._judge("the dispute's pack recounts itself and matches", last_line == "matches")

    def check_close(self, close: PeriodClose) -> None:
        """The certificate against the published rows."""
        clicks = sum(_rows(self.settings, "final_clicks_minute").values())
        self._judge("the closed month bills what is published", close.billable_clicks == clicks)

    def check_adjustment(self, fraud_count: int, written: list[Adjustment]) -> None:
        """What the second half of the fraud takes off the next bill."""
        total = sum(one.delta_clicks for one in written)
        self._judge(f"the adjustment takes {fraud_count} clicks off the next bill", total == -fraud_count)

    def _judge(self, sentence: str, is_so: bool) -> None:
        self.judgements[sentence] = is_so


def print_summary(story: Story) -> None:
    """The tables and the judgements; ``IntegrityError`` if one of them is not so."""
    by_advertiser = _figures_by_advertiser(story.settings)
    story.check_equation(by_advertiser)
    reasons = (f"+ {reason}" for reason in EXCLUSION_REASONS)
    columns = ("advertiser", "raw", "= billable", *reasons, "live", "live - final")
    rows = [_row(f"{advertiser}", figures) for advertiser, figures in sorted(by_advertiser.items())]
    rows.append(_row("all", sum(by_advertiser.values(), Counter())))
    out.print()
    print_table(columns, rows, title="raw = billable + excluded by reason; live against final")
    publication, closed_until = latest_publication(story.settings), read_closed(story.settings).closed_until
    out.print(f"final_until:  {format_utc(publication.final_until) if publication else 'nothing is sealed'}")
    out.print(f"closed_until: {format_utc(closed_until) if closed_until else 'nothing is closed'}")
    for text, is_so in story.judgements.items():
        out.print(f"  [{'green' if is_so else 'bold red'}]{'yes' if is_so else 'NO'}[/]  {text}")
    _where_next(story)
    if not all(story.judgements.values()):
        raise IntegrityError(
            "; ".join(f"not so: {text}" for text, is_so in story.judgements.items() if not is_so),
            "the story above, to the last click",
            f"look into {story.settings.home} and report it",
        )


def _figures_by_advertiser(settings: Settings) -> dict[int, Counter[str]]:
    """Of the attempts that hold now."""
    held = {seal.attempt for seal in current_seals(read_seals(settings)).values()}
    figures: dict[int, Counter[str]] = {}
    for row in rows_of(open_table(settings, "drift")).to_pylist():
        if row["attempt"] in held:
            counts = figures.setdefault(row["advertiser_id"], Counter())
            counts.update({"raw": row["raw_clicks"], "billable": row["final_clicks"], "live": row["live_clicks"]})
    for row in rows_of(open_table(settings, "click_exclusions")).to_pylist():
        if row["attempt"] in held:
            figures[row["advertiser_id"]][row["reason"]] += 1
    return figures


def _row(name: str, figures: Counter[str]) -> tuple[Any, ...]:
    difference = figures["live"] - figures["billable"]
    excluded = (figures[reason] for reason in EXCLUSION_REASONS)
    return (name, figures["raw"], figures["billable"], *excluded, figures["live"], difference)


def _rows(settings: Settings, table: str) -> dict[tuple[Any, ...], int]:
    rows = rows_of(open_table(settings, table)).to_pylist()
    return {tuple(row[name] for name in LIVE_CLICKS_MINUTE.key): row["clicks"] for row in rows}


def _where_next(story: Story) -> None:
    out.print("\nWhere to look next:")
    home = f"TALLYSTICK_HOME={story.settings.home}"
    start, end = format_utc(story.hours[0]), format_utc(story.hours[-1] + HOUR)
    for command in (
        f"{home} tallystick counts --granularity hour --group-by campaign --from {start} --to {end}",
        f"{home} tallystick dispute show D-1",
        f"{home} tallystick period list",
        "make up, then the Dagster page on http://127.0.0.1:18300",
        "README.md: the path of one click",
    ):
        out.print(f"  {command}", markup=False)
