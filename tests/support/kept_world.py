"""A closed month of two clicked hours and 718 quiet ones, in all tables: what retention is tried on. No JVM."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from deltalake import write_deltalake

from domain.buckets import hour_of
from domain.periods import close_of, parse_period
from domain.publications import PublicationDraft
from domain.settings import Settings
from tests.support.sealed_world import HOUR, SEALED_AT, SealedWorld, draft_of, logged, sealed_world
from warehouse.layout import open_table, table_uri, tables_path
from warehouse.periods import append_close
from warehouse.publications import append_publication
from warehouse.schema import arrow_rows
from warehouse.seals import append_seals, read_seals
from warehouse.tables import TABLES

NOVEMBER = parse_period("2026-11")
EARLY = datetime.fromisoformat("2026-11-03T05:00:00+00:00")
"""An hour with clicks, besides ``HOUR``; the books begin with it."""
SOON = datetime.fromisoformat("2026-12-15T00:00:00+00:00")
IN_SPRING = datetime.fromisoformat("2027-03-15T00:00:00+00:00")
"""More than 90 days after the end of November."""
YEARS_LATER = datetime.fromisoformat("2030-01-01T00:00:00+00:00")


def kept_world(home: Path, *, is_closed: bool = True) -> SealedWorld:
    """Both hours have five raw clicks in five files, live and final figures; sealed from ``EARLY`` to the end."""
    made = _made_once()
    settings = Settings(home=home)
    shutil.copytree(tables_path(made.settings), tables_path(settings))
    if is_closed:
        append_close(settings, close_of(NOVEMBER, read_seals(settings), "ada", SOON), 0)
    return SealedWorld(settings, list(made.log))


@cache
def _made_once() -> SealedWorld:
    home = Path(tempfile.mkdtemp(prefix="tallystick-kept-world-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    world = sealed_world(home)
    for offset in range(5):
        world.archive([logged(offset, EARLY), logged(offset + 5, HOUR + timedelta(minutes=offset))])
    world.seal(EARLY, HOUR)
    first = world.publish()
    quiet = [hour for hour in NOVEMBER.hours if hour > EARLY and hour != HOUR]
    seals = append_seals(world.settings, [draft_of(hour, 0, world.end_offsets(), []) for hour in quiet], 2, SEALED_AT)
    versions = {"minute_version": first.minute_version, "hour_version": first.hour_version}
    draft = PublicationDraft(
        **versions, day_version=first.day_version, seal_number=seals[-1].number, final_until=NOVEMBER.end
    )
    append_publication(world.settings, draft, 1, SEALED_AT)
    write_live(world.settings, EARLY, HOUR)
    write_identities(world.settings, world)
    return world


def write_live(settings: Settings, *hours: datetime) -> None:
    """A live row of each hour."""
    key = {"advertiser_id": 10, "campaign_id": 100, "ad_id": 1, "country": "US", "device": "mobile"}
    rows = [
        key | {"minute": hour, "clicks": 5, "versions": {"1:0": 9}, "click_date": hour.date(), "click_hour": hour.hour}
        for hour in hours
    ]
    write_deltalake(
        table_uri(settings, "live_clicks_minute"), arrow_rows(TABLES["live_clicks_minute"], rows), mode="append"
    )


def write_identities(settings: Settings, world: SealedWorld) -> None:
    """What the archive writes beside each raw click."""
    rows = [
        one.position._asdict()
        | {"logged_at": one.logged_at, "identity": bytes(16), "minted_at": None, "dimensions": 1}
        | {"log_date": one.logged_at.date()}
        for one in world.log
    ]
    write_deltalake(
        table_uri(settings, "click_identities"), arrow_rows(TABLES["click_identities"], rows), mode="append"
    )


def hours_in(settings: Settings, name: str) -> set[datetime]:
    """The hours that a table files rows under, by their minutes or hours."""
    column = "hour" if name == "final_clicks_hour" else "minute" if "minute" in name else "clicked_at"
    return {hour_of(at) for at in open_table(settings, name).to_pyarrow_table(columns=[column])[column].to_pylist()}


def vacuum_at_once(settings: Settings, *names: str) -> None:
    """Declares that replaced files may go in the moment that they are replaced."""
    for name in names:
        properties = {"delta.deletedFileRetentionDuration": "interval 0 hours"}
        open_table(settings, name).alter.set_table_properties(properties)
