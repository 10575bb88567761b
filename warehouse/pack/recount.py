"""Recounts the evidence pack that it lies in, from the pack's own files. Needs Python 3.11 and duckdb, nothing else.

    python recount.py [HASH]      HASH: of a seal that you kept elsewhere; it must still be in the chain

Prints each place where two things that should agree do not, and ends with `matches` (exit code 0) or with the number of
differences (exit code 1). README.md says what is checked, and what a pack cannot show.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

TABLES = {
    "clicks": ("log", "partition", "offset"),
    "invoice_rows": ("minute", "campaign_id", "ad_id", "country", "device"),
    "verdicts": ("verdict_id",),
    "adjustments": ("case_id", "line_number"),
    "prices": ("ad_id", "valid_from"),
    "seals": ("seal_number",),
}
"""Files that are there as CSV and as Parquet, with what names a row."""
KEY, PLACE = TABLES["invoice_rows"], TABLES["clicks"]
SEAL_NUMBERS = ("seal_number", "revision", "raw_clicks", "billable_clicks", "verdict_set", "ads_version")
SEAL_INTEGERS = (*SEAL_NUMBERS, "rule_version", "horizon_days")
ADJUSTMENT_INTEGERS = (
    *("line_number", "advertiser_id", "campaign_id", "ad_id", "delta_clicks", "corrects_seal_number"),
    "adjustment_number",
)
KNOWN_RULES = {"1", "2"}
DUPLICATES = ("duplicate", "conflicting_duplicate")
HOUR = timedelta(hours=1)
GENESIS = "0" * 64
TEXTS = ("actor", "case_id", "reason")
SHOWN_AT_MOST = 20
UNREADABLE = (OSError, ValueError, TypeError, LookupError, duckdb.Error)
Row = dict[str, str]
Outcome = tuple[str, str, str, str]
"""Outcome, reason, winner, verdict."""


class Pack:
    """The files of a folder, as text; nothing is believed yet. ``kept_head``: a hash that the chain must hold."""

    def __init__(self, folder: Path, kept_head: str | None) -> None:
        self.folder, self.kept_head = folder, kept_head
        self.about: dict[str, Any] = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
        self.publication: dict[str, Any] = json.loads((folder / "publication.json").read_text(encoding="utf-8"))
        self.tables = {name: read_csv(folder / f"{name}.csv") for name in TABLES}
        self.own = str(self.about["dispute"]["advertiser_id"])
        self.start, self.end = instant(self.about["dispute"]["start"]), instant(self.about["dispute"]["end"])
        first = self.start.replace(minute=0)
        hour_count = -((first - self.end) // HOUR)  # rounded up
        self.hours = {text_of(first + number * HOUR) for number in range(hour_count)}
        self.clicks = [row for row in self.tables["clicks"] if row["outcome"] != "look_back"]
        self.held: dict[str, Row] = {}
        for row in sorted(self.tables["seals"], key=lambda row: int(row["revision"])):
            if row["hour"] in self.hours and int(row["seal_number"]) <= self.publication["seal_number"]:
                self.held[row["hour"]] = row
        self.cuts: dict[str, dict[str, int]] = {hour: json.loads(row["cut"]) for hour, row in self.held.items()}
        self.prices: dict[str, list[Row]] = {}
        for row in self.tables["prices"]:
            self.prices.setdefault(row["ad_id"], []).append(row)

    def below_cut(self, hour: str, row: Row) -> bool:
        """Whether a row was read when the hour was sealed."""
        return int(row["offset"]) < self.cuts[hour].get(f"{row['log']}:{row['partition']}", 0)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def text_of(value: object) -> str:
    """As the CSV files write it: nothing for a null, ISO 8601 with Z for an instant."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return "" if value is None else str(value)


def read_csv(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_parquet(path: Path) -> list[Row]:
    described = duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    is_instant = [kind.startswith("TIMESTAMP") for _, kind, *_ in described]
    columns = [f'epoch_us("{row[0]}")' if at else f'"{row[0]}"' for row, at in zip(described, is_instant, strict=True)]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    rows = duckdb.execute(f"SELECT {', '.join(columns)} FROM read_parquet(?)", [str(path)]).fetchall()  # noqa: S608
    return [
        {
            row[0]: text_of(epoch + timedelta(microseconds=value) if at and value is not None else value)
            for row, at, value in zip(described, is_instant, values, strict=True)
        }
        for values in rows
    ]


def place_of(row: Row) -> str:
    return ":".join(row[name] for name in PLACE)


def named(name: str, row: Row) -> str:
    if name == "clicks":
        return f"click {place_of(row)} of {row['minute']}"
    return f"{name} row " + ", ".join(f"{column} {row[column]}" for column in TABLES[name])


def differing(where: str, found: object, expected: object) -> str:
    return f"{where}: found {found}, expected {expected}"


def manifest_findings(pack: Pack) -> Iterator[str]:
    """Each file has the SHA-256 that sha256sums.txt says."""
    for line in (pack.folder / "sha256sums.txt").read_text(encoding="utf-8").splitlines():
        expected, name = line.split("  ", 1)
        path = pack.folder / name
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "no file"
        if found != expected:
            yield differing(f"file {name}", found, expected)


def twin_findings(pack: Pack) -> Iterator[str]:
    """Each CSV file says what the Parquet file beside it says."""
    for name, rows in pack.tables.items():
        twins = read_parquet(pack.folder / f"{name}.parquet")
        if len(rows) != len(twins):
            yield differing(f"{name}.csv", f"{len(rows)} rows", f"the {len(twins)} of {name}.parquet")
        for row, twin in zip(rows, twins, strict=False):
            for column in (column for column in twin if row.get(column) != twin[column]):
                yield differing(
                    f"{name}.csv, {named(name, row)}, {column}", row.get(column), f"{twin[column]} as in {name}.parquet"
                )


def chained(previous: str, columns: dict[str, Any]) -> str:
    text = json.dumps(columns, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def hashed_columns(row: Row, integers: Iterable[str], private: Iterable[str] = ()) -> dict[str, Any]:
    covered = {name: row[name] for name in row.keys() - {"previous_hash", "hash", *private}}
    return covered | {name: int(row[name]) for name in integers}


def chain_findings(pack: Pack) -> Iterator[str]:
    """Each seal names the hash before it, up to the head; seals, publication and adjustments have their own hashes."""
    previous = GENESIS
    for place, row in enumerate(pack.tables["seals"], start=1):
        where = f"seal {row['seal_number']} of hour {row['hour']}"
        own_hash = chained(row["previous_hash"], hashed_columns(row, SEAL_INTEGERS, (*TEXTS, "salt")))
        if row["seal_number"] != str(place):
            yield differing(f"{where}, its place in the chain", row["seal_number"], place)
        if row["previous_hash"] != previous:
            yield differing(f"{where}, previous_hash", row["previous_hash"], previous)
        if row["hash"] != own_hash:
            yield differing(f"{where}, hash of its columns", own_hash, row["hash"])
        told = chained(row["salt"], {name: row[name] for name in TEXTS})
        if told != row["commitment"] and any(row[name] for name in (*TEXTS, "salt")):
            yield differing(f"{where}, commitment to its actor, case and reason", told, row["commitment"])
        previous = row["hash"]
    if pack.about["head"] != previous:
        yield differing("head of the seals", previous, pack.about["head"])
    found = chained(pack.publication["previous_hash"], hashed_columns(pack.publication, ()))
    if found != pack.publication["hash"]:
        yield differing("publication.json, hash of its columns", found, pack.publication["hash"])
    for row in pack.tables["adjustments"]:
        found = chained(row["previous_hash"], hashed_columns(row, ADJUSTMENT_INTEGERS))
        if found != row["hash"]:
            yield differing(f"{named('adjustments', row)}, hash of its columns", found, row["hash"])
    if pack.kept_head is not None and pack.kept_head not in {row["hash"] for row in pack.tables["seals"]}:
        yield differing("hash that you kept", "no seal that has it", pack.kept_head)


def hour_findings(pack: Pack) -> Iterator[str]:
    """Each hour has a seal of a rule that is known here, and all of its raw events are still there."""
    for hour in sorted(pack.hours):
        if hour not in pack.held:
            yield differing(f"hour {hour}", "no seal", "one that is published")
            continue
        seal, there = pack.held[hour], pack.about["raw_clicks_found"].get(hour)
        if seal["rule_version"] not in KNOWN_RULES:
            yield differing(f"hour {hour}, rule_version", seal["rule_version"], "a rule that this script knows")
        if there != int(seal["raw_clicks"]):
            yield differing(
                f"hour {hour}, raw events when this pack was made", there, f"{seal['raw_clicks']} as sealed; "
                "what is gone from raw can be proven no more",
            )  # fmt: skip


def click_findings(pack: Pack) -> Iterator[str]:
    """Each click belongs to the advertiser, and to the minute and hour that it is filed under."""
    for row in pack.tables["clicks"]:
        where, minute = named("clicks", row), text_of(instant(row["clicked_at"]).replace(second=0, microsecond=0))
        if row["advertiser_id"] != pack.own:
            yield differing(f"{where}, advertiser_id", row["advertiser_id"], pack.own)
        if row["minute"] != minute:
            yield differing(f"{where}, minute", row["minute"], minute)
        if row["hour"] != text_of(instant(minute).replace(minute=0)):
            yield differing(f"{where}, hour", row["hour"], text_of(instant(minute).replace(minute=0)))
        if row["contradiction"]:
            yield differing(
                f"{where}, raw_clicks", f"a payload that says another {row['contradiction']}", "what stands beside it"
            )
        if (row["outcome"] != "look_back") != (row["hour"] in pack.hours):
            yield differing(f"{where}, outcome", row["outcome"], "look_back in other hours, and nowhere else")


def order_of(row: Row) -> tuple[Any, ...]:
    return (instant(row["logged_at"]), *(int(row[name]) for name in PLACE))


def fraud_in_force(pack: Pack, verdict_set: int) -> dict[tuple[str, ...], str]:
    """By target the verdict that held when the hour was counted, where it is one of fraud."""
    newest: dict[tuple[str, ...], Row] = {}
    known = [row for row in pack.tables["verdicts"] if int(row["set_version"]) <= verdict_set]
    for row in sorted(known, key=lambda r: (instant(r["decided_at"]), int(r["set_version"]), r["verdict_id"])):
        is_click = row["target_kind"] == "click"
        newest[(row["impression_id"], row["ad_id"]) if is_click else tuple(row[name] for name in PLACE)] = row
    return {target: row["verdict_id"] for target, row in newest.items() if row["verdict"] == "fraud"}


class Rule:
    """The rule in rules/, applied to the clicks of the pack."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack
        self._copies: dict[tuple[str, str], list[Row]] = {}
        for row in sorted(pack.tables["clicks"], key=order_of):
            if row["kind"] == "click":
                self._copies.setdefault((row["impression_id"], row["ad_id"]), []).append(row)
        self._orders = {click: [order_of(row) for row in rows] for click, rows in self._copies.items()}
        sets = {int(seal["verdict_set"]) for seal in pack.held.values()}
        self._fraud = {verdict_set: fraud_in_force(pack, verdict_set) for verdict_set in sets}

    def outcome(self, row: Row) -> Outcome:
        """Of a click of the hours."""
        hour = row["hour"]
        if not self._pack.below_cut(hour, row):
            return "after_cut", "", "", ""
        if row["kind"] != "click":
            return "excluded", row["kind"], "", ""
        winner = self._winner(row)
        if winner is not None:
            is_same = all(row[name] == winner[name] for name in ("campaign_id", "country", "device"))
            return "excluded", "duplicate" if is_same else "conflicting_duplicate", place_of(winner), ""
        fraud = self._fraud[int(self._pack.held[hour]["verdict_set"])]
        of_click = fraud.get((row["impression_id"], row["ad_id"]), "")
        verdict = fraud.get(tuple(row[name] for name in PLACE), of_click)
        return ("excluded", "fraud", "", verdict) if verdict else ("billable", "", "", "")

    def _winner(self, row: Row) -> Row | None:
        """The earliest copy within the horizon before it, below the cut."""
        click, own = (row["impression_id"], row["ad_id"]), order_of(row)
        since = own[0] - timedelta(days=int(self._pack.held[row["hour"]]["horizon_days"]))
        copies, orders = self._copies[click], self._orders[click]
        for place in range(bisect_left(orders, (since,)), bisect_left(orders, own)):
            if self._pack.below_cut(row["hour"], copies[place]):
                return copies[place]
        return None


def outcome_findings(pack: Pack) -> Iterator[str]:
    """Each click has the outcome that the rule gives it, with the same reason, winner and verdict."""
    rule = Rule(pack)
    hidden = {f"{one['log']}:{one['partition']}:{one['offset']}" for one in pack.about["not_shown"]}
    for row in pack.clicks:
        if row["hour"] not in pack.held:
            continue
        winner = ":".join(filter(None, (row["winner_log"], row["winner_partition"], row["winner_offset"])))
        stated = row["outcome"], row["reason"], winner, row["verdict_id"]
        if row["reason"] in DUPLICATES and winner in hidden:
            continue
        found = rule.outcome(row)
        if stated != found:
            yield differing(
                f"{named('clicks', row)}, outcome", " ".join(filter(None, stated)), " ".join(filter(None, found))
            )


def words_of(row: Row) -> list[int]:
    line = "|".join([*(row[name] for name in PLACE), row["impression_id"], row["ad_id"], row["advertiser_id"],
                     row["campaign_id"], row["minute"][:16], row["country"], row["device"]])  # fmt: skip
    return eight_words(hashlib.sha256(line.encode()).hexdigest())


def eight_words(digest: str) -> list[int]:
    return [int(digest[place : place + 8], 16) for place in range(0, 64, 8)]


def digest_findings(pack: Pack) -> Iterator[str]:
    """Of each hour the own billable clicks and the sum of the others add up to the sealed count and digest."""
    foreign = {row["hour"]: row for row in read_csv(pack.folder / "foreign_sums.csv")}
    by_hour: dict[str, list[Row]] = {}
    for row in pack.clicks:
        by_hour.setdefault(row["hour"], []).append(row)
    for hour, seal in pack.held.items():
        others = foreign.get(hour, {"clicks": "0", "digest": GENESIS})
        count, sums = int(others["clicks"]), eight_words(others["digest"])
        own = [row for row in by_hour.get(hour, []) if row["outcome"] == "billable"]
        for row in own:
            sums = [total + word for total, word in zip(sums, words_of(row), strict=True)]
        digest = "".join(f"{total % 2**32:08x}" for total in sums)
        if count + len(own) != int(seal["billable_clicks"]):
            yield differing(
                f"hour {hour}, billable clicks", f"{len(own)} own and {count} of others", seal["billable_clicks"]
            )
        if digest != seal["digest"]:
            yield differing(f"hour {hour}, digest of its billable clicks", digest, f"{seal['digest']} as sealed")
        excluded = Counter(row["reason"] for row in by_hour.get(hour, []) if row["outcome"] == "excluded")
        for reason, clicks in excluded.items():
            sealed = json.loads(seal["excluded_clicks"]).get(reason, 0)
            if clicks > sealed:
                yield differing(f"hour {hour}, excluded as {reason}", clicks, f"at most {sealed}, of all advertisers")


def price_at(pack: Pack, ad_id: str, minute: str) -> tuple[str, str]:
    """Price and currency of the ad at the start of a minute."""
    valid = [row for row in pack.prices.get(ad_id, []) if instant(row["valid_from"]) <= instant(minute)]
    newest = max(valid, key=lambda row: instant(row["valid_from"]), default=None)
    return (newest["price_micros"], newest["currency"]) if newest else ("", "")


def invoice_findings(pack: Pack) -> Iterator[str]:
    """Each invoice row is the number of billable clicks of its key in the range, at the price of its minute."""
    counted = Counter(
        tuple(row[name] for name in KEY)
        for row in pack.clicks
        if row["outcome"] == "billable" and pack.start <= instant(row["clicked_at"]) < pack.end
    )
    stated = {tuple(row[name] for name in KEY): row for row in pack.tables["invoice_rows"]}
    if len(stated) != len(pack.tables["invoice_rows"]):
        yield differing("invoice_rows.csv", "a key twice", "each key once")
    for key in sorted(counted.keys() | stated.keys()):
        where = "invoice row " + ", ".join(f"{name} {value}" for name, value in zip(KEY, key, strict=True))
        clicks = stated[key]["clicks"] if key in stated else "no row"
        if clicks != str(counted[key]):
            yield differing(f"{where}, clicks", clicks, f"{counted[key]} as recounted")
    for row in pack.tables["invoice_rows"]:
        price, currency = price_at(pack, row["ad_id"], row["minute"])
        amount = str(int(row["clicks"]) * int(price)) if price else ""
        money = (row["price_micros"], row["currency"], row["amount_micros"])
        if money != (price, currency, amount):
            yield differing(
                f"{named('invoice_rows', row)}, money", " ".join(money), " ".join((price, currency, amount))
            )


CHECKS: tuple[Callable[[Pack], Iterator[str]], ...] = (
    *(manifest_findings, twin_findings, chain_findings, hour_findings, click_findings, outcome_findings),
    *(digest_findings, invoice_findings),
)


def findings_of(check: Callable[[Pack], Iterator[str]], pack: Pack) -> list[str]:
    """What a check finds; that it cannot read what it needs is a finding, too."""
    try:
        return list(check(pack))
    except UNREADABLE as error:
        return [f"cannot be checked, a file is not what it should be: {error!r}"]


def main(folder: Path, kept_head: str | None = None) -> int:
    """Prints what it finds; the exit code."""
    count = 0
    try:
        pack = Pack(folder, kept_head)
    except UNREADABLE as error:
        print(f"a file is not what it should be: {error!r}\ndiffers in 1 place")
        return 1
    for check in CHECKS:
        found = findings_of(check, pack)
        count += len(found)
        print(f"{check.__doc__} {'agrees' if not found else f'{len(found)} DIFFER'}")
        for line in found[:SHOWN_AT_MOST]:
            print(f"  - {line}")
    for one in pack.about["not_shown"]:
        print(f"note: copy {one['log']}:{one['partition']}:{one['offset']} is not shown: {one['why']}")
    clicks = Counter(row["outcome"] for row in pack.clicks if pack.start <= instant(row["clicked_at"]) < pack.end)
    print(f"{pack.about['dispute']['case_id']}: {clicks['billable']} billable clicks in the range")
    print(f"head of the seals: {pack.about['head']}")
    print("matches" if count == 0 else f"differs in {count} places")
    return 0 if count == 0 else 1


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent, *sys.argv[1:2]))
