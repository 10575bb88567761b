"""The hour that is sealed next, and what it waits for. Loads no Spark.

Belongs here: finding that hour; whether it may be sealed is ``planning.py``. ``tallystick status`` and the page of the
metrics API show the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from domain.finality import final_until
from domain.seals import current_seals
from domain.settings import Settings
from spark_jobs.planning import plan
from warehouse.layout import open_table
from warehouse.logs import TopicRecreatedError
from warehouse.publications import latest_publication
from warehouse.seals import read_seals


@dataclass(frozen=True)
class NextSeal:
    """The hour that comes next, and what it waits for; nothing if it may be sealed now.

    ``expected_at``: when it may be sealed if all goes on as it does; None if that cannot be told.
    """

    hour: datetime
    waits_for: tuple[str, ...]
    expected_at: datetime | None = None


def next_seal(settings: Settings, at: datetime, log_problem: str | None) -> NextSeal | None:
    """The next seal as of ``at``; None before the first click was archived. Reads only.

    ``log_problem``: why the log does not answer; then it is not asked, and that is what the seal waits for.
    """
    publication = latest_publication(settings)
    known_until = publication.final_until if publication else None
    hour = final_until(current_seals(read_seals(settings)), known_until) or _first_archived_hour(settings)
    if hour is None:
        return None
    if log_problem is not None:
        return NextSeal(hour, (log_problem,))
    try:
        planned = plan(settings, [hour], at)[0]
    except TopicRecreatedError as error:
        return NextSeal(hour, (str(error),))
    return NextSeal(hour, planned.reasons, planned.expected_at)


def _first_archived_hour(settings: Settings) -> datetime | None:
    partitions = open_table(settings, "raw_clicks").partitions()
    hours = [(date.fromisoformat(each["click_date"]), int(each["click_hour"])) for each in partitions]
    return min((datetime.combine(day, time(hour), UTC) for day, hour in hours), default=None)
