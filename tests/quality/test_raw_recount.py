"""The recount in SQL against the plain-Python oracle, and what it makes of single awkward rows."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from domain.buckets import hour_of
from domain.counting import EXCLUSION_REASONS, LoggedEvent, count_billable
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from quality.raw_recount import HourRecount, RawRecount
from tests.support.sealed_world import (
    HORIZON_DAYS,
    HOUR,
    LOG_DELAY,
    SealedWorld,
    draft_of,
    logged,
    minute_rows,
    sealed_world,
)
from warehouse.layout import table_uri
from warehouse.schema import arrow_rows
from warehouse.tables import TABLES

HORIZON = timedelta(days=HORIZON_DAYS)
MICROSECOND = timedelta(microseconds=1)
GAPS = [
    timedelta(0),
    MICROSECOND,
    timedelta(minutes=7),
    timedelta(hours=5),
    HORIZON / 2,
    HORIZON,
    HORIZON + MICROSECOND,
]
GAP_WEIGHTS = [30, 20, 30, 5, 2, 2, 2]


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    return sealed_world(tmp_path)


def recount(settings: Settings, hour: datetime, cut: dict[str, int], verdict_set: int = 0) -> HourRecount:
    with RawRecount(settings, lambda _: None) as engine:
        return engine.recount(hour, cut, HORIZON, verdict_set)


def random_log(seed: int, event_count: int) -> list[LoggedEvent]:
    """Two partitions, dense in copies, with ties and gaps around the horizon; clicks up to a day late."""
    draw = random.Random(seed)
    at, offsets, events = HOUR - timedelta(days=20), Counter[int](), []
    for _ in range(event_count):
        (gap,) = draw.choices(GAPS, GAP_WEIGHTS)
        at += gap
        partition = draw.randrange(2)
        event = logged(
            offsets[partition],
            at - draw.choice([timedelta(0), timedelta(seconds=30), timedelta(hours=23)]),
            partition,
            logged_at=at,
            impression_id=draw.choice(["imp-a", "imp-b", 'imp"c', "imp-ä\\"]),
            ad_id=draw.randint(1, 2),
            advertiser_id=draw.choice([10, 20]),
            campaign_id=draw.choice([100, 100, 101]),
            country=draw.choice(["US", "US", "CA"]),
            kind=draw.choice(["click", "click", "click", "head", "prefetch"]),
        )
        offsets[partition] += 1
        events.append(event)
    return events


def judge_at_random(world: SealedWorld, draw: random.Random) -> int:
    """Four sets of verdicts, two of each on every third event or so; the version of the last but one."""
    for number in range(4):
        verdicts = []
        for event in draw.sample(world.log, len(world.log) // 3):
            click = ClickTarget(event.event.impression_id, event.event.ad_id)
            for target in (event.position, *([click] if draw.random() < 0.05 else [])):
                decided_at = HOUR + timedelta(microseconds=draw.randrange(3))
                judgement = draw.choice(["fraud", "fraud", "withdrawn"])
                verdict_id = f"{number}-{draw.randrange(1_000):03}-{len(verdicts)}"
                verdicts.append(FraudVerdict(verdict_id, target, judgement, "a bot", decided_at))
        world.judge_fraud(*verdicts)
    return 3


@pytest.mark.parametrize("seed", range(3))
def test_every_hour_equals_the_oracle(world: SealedWorld, seed: int) -> None:
    """Laws 5, 6 and 11: counts, reasons, digest and minutes of each hour, at a random cut, hours in random order.

    Verdicts on clicks and positions, decided over and over again and in one instant, of which the last sets came later.
    """
    world.archive(random_log(seed, 120))
    draw = random.Random(seed)
    verdict_set = judge_at_random(world, draw)
    cut = {place: draw.randint(end // 2, end) for place, end in world.end_offsets().items()}
    hours = sorted({hour_of(event.event.clicked_at) for event in world.log})
    draw.shuffle(hours)
    reasons = Counter[str]()
    with RawRecount(world.settings, lambda _: None) as engine:
        for hour in hours:
            outcomes = world.outcomes(hour, cut, verdict_set)
            expected = draft_of(hour, 0, cut, outcomes)
            found = engine.recount(hour, cut, HORIZON, verdict_set)
            assert (found.raw_clicks, found.billable_clicks) == (expected.raw_clicks, expected.billable_clicks)
            assert found.excluded_clicks == expected.excluded_clicks
            assert found.digest == expected.digest
            rows = arrow_rows(TABLES["final_clicks_minute"], minute_rows(count_billable(outcomes)))
            assert engine.minute_differences(rows.to_reader()) == []
            assert engine.disagreements(hour) == []
            reasons.update(found.excluded_clicks)
    assert min(reasons[reason] for reason in EXCLUSION_REASONS) > 3


def test_an_hour_without_clicks_is_the_empty_set(world: SealedWorld) -> None:
    """F4: nothing raw, nothing billable, the digest of nothing."""
    assert recount(world.settings, HOUR, {"1:0": 10}) == HourRecount(0, 0, {}, "0" * 64, 0, 0)


def test_an_hour_without_a_file_leaves_nothing_of_the_one_before(world: SealedWorld) -> None:
    """F4: it is passed over unopened, and what was judged of another hour is not taken for its own."""
    world.archive([logged(0, HOUR)])
    nothing = arrow_rows(TABLES["final_clicks_minute"], [])
    with RawRecount(world.settings, lambda _: None) as engine:
        assert engine.recount(HOUR, {"1:0": 1}, HORIZON, 0).billable_clicks == 1
        assert len(engine.minute_differences(nothing.to_reader())) == 1
        assert engine.recount(HOUR + timedelta(hours=1), {"1:0": 1}, HORIZON, 0).raw_clicks == 0
        assert engine.minute_differences(nothing.to_reader()) == []


def test_a_long_range_holds_no_more_than_the_horizon_reaches(world: SealedWorld) -> None:
    """A year is recounted in the room of some days; going back reads again what was forgotten."""
    days = [HOUR + timedelta(days=number) for number in range(12)]
    world.archive([logged(number, day, impression_id="imp-a") for number, day in enumerate(days)])
    with RawRecount(world.settings, lambda _: None) as engine:
        for day in days:
            engine.recount(day, world.end_offsets(), timedelta(days=1), 0)
            ((held,),) = engine.rows("SELECT count(DISTINCT hour_us) FROM events")
            assert held <= 4
        assert engine.recount(days[1], world.end_offsets(), timedelta(days=1), 0).excluded_clicks == {"duplicate": 1}
        assert engine.recount(days[0], world.end_offsets(), timedelta(days=1), 0).billable_clicks == 1


@pytest.mark.parametrize(
    ("distance", "excluded"),
    [
        pytest.param(HORIZON, {"duplicate": 1}, id="L4-exactly-the-horizon"),
        pytest.param(HORIZON + MICROSECOND, {}, id="L4-a-microsecond-beyond"),
    ],
)
def test_an_earlier_copy_may_stand_under_any_hour(
    world: SealedWorld, distance: timedelta, excluded: dict[str, int]
) -> None:
    """Raw is filed by the time of the click, copies are judged by the time of logging.

    The earlier copy claims to be a click of the day after, so it is filed under a later hour than its duplicate.
    """
    first = logged(0, HOUR + timedelta(days=1), logged_at=HOUR + LOG_DELAY - distance)
    world.archive([first])
    world.archive([logged(1, HOUR, impression_id=first.event.impression_id)])
    assert recount(world.settings, HOUR, {"1:0": 2}).excluded_clicks == excluded


def test_files_without_the_time_looked_for_are_not_read(world: SealedWorld) -> None:
    """The look-back opens only files whose statistics reach into it."""
    world.archive([logged(0, HOUR - 2 * HORIZON), logged(1, HOUR - HORIZON / 2), logged(2, HOUR)])
    with RawRecount(world.settings, lambda _: None) as engine:
        engine.recount(HOUR, {"1:0": 3}, HORIZON, 0)
        assert len(engine._loaded) == 2


def test_what_lies_beyond_the_cut_is_told_and_not_counted(world: SealedWorld) -> None:
    """A log that the cut does not name lies beyond it as well."""
    world.archive([logged(0, HOUR), logged(1, HOUR), logged(0, HOUR, log=2)])
    found = recount(world.settings, HOUR, {"1:0": 1})
    assert (found.raw_clicks, found.late_count) == (1, 2)


def test_a_copy_beyond_the_cut_shadows_nothing(world: SealedWorld) -> None:
    """Law 6: partition 1 holds an earlier copy that the cut leaves out."""
    first = logged(0, HOUR, partition=1)
    second = logged(0, HOUR + MICROSECOND, impression_id=first.event.impression_id)
    world.archive([first, second])
    assert recount(world.settings, HOUR, {"1:0": 1, "1:1": 0}).billable_clicks == 1
    assert recount(world.settings, HOUR, {"1:0": 1, "1:1": 1}).excluded_clicks == {"duplicate": 1}


def test_the_payload_counts_and_not_the_columns(world: SealedWorld) -> None:
    """Columns that were changed alone change no figure; they are told."""
    world.archive([logged(0, HOUR)])
    before = recount(world.settings, HOUR, {"1:0": 1})
    world.tamper("raw_clicks", lambda row: row | {"campaign_id": 999, "country": "FR"})
    assert recount(world.settings, HOUR, {"1:0": 1}) == before
    with RawRecount(world.settings, lambda _: None) as engine:
        assert engine.disagreements(HOUR) == [
            "raw row 1:0:0: its payload says something else than its campaign_id, country"
        ]


@pytest.mark.parametrize(
    ("payload", "what"),
    [
        pytest.param(b"\xff\xfe", "its payload is not JSON", id="not-utf8"),
        pytest.param(b'{"v":1,', "its payload is not JSON", id="not-json"),
        pytest.param(b"", "its payload is not JSON", id="empty"),
        pytest.param(
            b"[]",
            "its payload says something else than its impression_id, ad_id, advertiser_id, campaign_id, clicked_at, "
            "country, device, kind, server_id, server_seq",
            id="no-object",
        ),
    ],
)
def test_a_payload_that_is_no_event(world: SealedWorld, payload: bytes, what: str) -> None:
    """It stays a raw row, has no outcome, and stops nothing."""
    world.archive([logged(0, HOUR), logged(1, HOUR)])
    world.tamper("raw_clicks", lambda row: row | {"payload": payload} if row["offset"] == 1 else row)
    found = recount(world.settings, HOUR, {"1:0": 2})
    assert (found.raw_clicks, found.billable_clicks, found.unreadable_count) == (2, 1, 1)
    with RawRecount(world.settings, lambda _: None) as engine:
        assert engine.disagreements(HOUR) == [f"raw row 1:0:1: {what}"]


def test_a_row_filed_under_another_hour_is_told(world: SealedWorld) -> None:
    world.archive([logged(0, HOUR)])
    other = b"2026-11-30T08:59:59.999999Z"
    world.tamper(
        "raw_clicks",
        lambda row: (
            row
            | {
                "clicked_at": datetime(2026, 11, 30, 8, 59, 59, 999_999, UTC),
                "payload": row["payload"].replace(b"2026-11-30T09:00:00Z", other),
            }
        ),
    )
    with RawRecount(world.settings, lambda _: None) as engine:
        assert engine.disagreements(HOUR) == [
            "raw row 1:0:0: its payload says something else than its click_date and click_hour"
        ]


def test_erased_personal_fields_are_no_disagreement(world: SealedWorld) -> None:
    """They may be gone from the columns, from the payload, or from both; the digest does not notice."""
    world.archive([logged(offset, HOUR) for offset in range(3)])
    before = recount(world.settings, HOUR, {"1:0": 3})
    gone = {"ip": None, "user_agent": None}
    erased = (b', "ip": "198.51.100.7", "user_agent": "Mozilla/5.0"', b"")
    world.tamper("raw_clicks", lambda row: row | gone if row["offset"] != 1 else row)
    world.tamper(
        "raw_clicks", lambda row: row | ({"payload": row["payload"].replace(*erased)} if row["offset"] else {})
    )
    assert recount(world.settings, HOUR, {"1:0": 3}) == before
    with RawRecount(world.settings, lambda _: None) as engine:
        assert engine.disagreements(HOUR) == []


def test_a_row_that_is_there_twice_is_told(world: SealedWorld) -> None:
    world.archive([logged(0, HOUR)])
    world.archive([logged(0, HOUR)])
    with RawRecount(world.settings, lambda _: None) as engine:
        assert engine.disagreements(HOUR) == ["raw row 1:0:0: it is there 2 times"]


@pytest.mark.parametrize("tampered_offset", [0, 1], ids=["first-file", "second-file"])
def test_instants_may_be_written_in_sparks_older_way(world: SealedWorld, tampered_offset: int) -> None:
    """Spark writes 96-bit timestamps unless told otherwise; files of both ways may stand side by side."""
    world.archive([logged(0, HOUR, logged_at=HOUR + MICROSECOND)])
    world.archive([logged(1, HOUR, impression_id="imp-0-0", logged_at=HOUR + MICROSECOND)])
    before = recount(world.settings, HOUR, {"1:0": 2})
    for path in DeltaTable(table_uri(world.settings, "raw_clicks")).file_uris():
        rows = pq.ParquetFile(path).read()
        if rows["offset"].to_pylist() == [tampered_offset]:
            pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    assert before.excluded_clicks == {"duplicate": 1}
    assert recount(world.settings, HOUR, {"1:0": 2}) == before
    with RawRecount(world.settings, lambda _: None) as engine:
        assert engine.disagreements(HOUR) == []


def test_many_differences_are_counted_and_some_are_named(world: SealedWorld) -> None:
    world.archive([logged(offset, HOUR, ad_id=offset + 1) for offset in range(13)])
    with RawRecount(world.settings, lambda _: None) as engine:
        engine.recount(HOUR, {"1:0": 13}, HORIZON, 0)
        nothing = arrow_rows(TABLES["final_clicks_minute"], [])
        differences = engine.minute_differences(pa.Table.to_reader(nothing))
    assert len(differences) == 11
    assert differences[0] == (
        "minute 2026-11-30T09:00:00Z, advertiser 10, campaign 100, ad 1, country US, device mobile: "
        "published 0, recounted 1"
    )
    assert differences[-1] == "and 3 more like these"
