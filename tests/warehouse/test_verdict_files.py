"""Files of verdicts in three formats: the same verdicts out of each, each bad line named, none of it taken in part."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domain.errors import UsageError
from domain.identity import LogPosition
from domain.verdicts import ClickTarget, FraudVerdict
from warehouse.verdict_files import BadVerdictsError, read_verdict_bytes, read_verdict_file
from warehouse.verdicts import RejectedLine

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
DECIDED_AT = AT - timedelta(hours=1)
SAID = {"verdict": "fraud", "reason": 'a "bot", or so', "decided_at": "2026-05-04T11:00:00Z"}
RECORDS: list[dict[str, Any]] = [
    {"impression_id": "imp-1", "ad_id": 7, "score_micros": 5, **SAID},
    {"log": 1, "partition": 0, "offset": 9, **SAID},
]
HEADER = "impression_id,ad_id,log,partition,offset,verdict,reason,score_micros,decided_at"
QUOTED = '"a ""bot"", or so"'
CSV = (
    f"{HEADER}\nimp-1,7,,,,fraud,{QUOTED},5,2026-05-04T11:00:00Z\n\n,,1,0,9,fraud,{QUOTED},,2026-05-04T11:00:00Z\n"
).encode()
LINE = f"imp-1,7,,,,fraud,{QUOTED},5,2026-05-04T11:00:00Z"


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_parquet(path: Path, records: list[dict[str, Any]]) -> Path:
    names = {name: None for record in records for name in record}
    pq.write_table(pa.table({name: [record.get(name) for record in records] for name in names}), path)
    return path


def json_lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def rejected(path: Path) -> list[RejectedLine]:
    """The bad lines, the same whether they are refused or skipped."""
    with pytest.raises(BadVerdictsError) as refused:
        read_verdict_file(path, AT)
    skipped = read_verdict_file(path, AT, is_skipping_bad=True)
    assert skipped.rejected == refused.value.rejected
    return skipped.rejected


@pytest.mark.parametrize(
    ("name", "numbers"), [("a.csv", (2, 4)), ("a.CSV", (2, 4)), ("a.jsonl", (1, 2)), ("a.parquet", (1, 2))]
)
def test_every_format_gives_the_same_verdicts(tmp_path: Path, name: str, numbers: tuple[int, int]) -> None:
    path = tmp_path / name
    if name.endswith("parquet"):
        typed = [record | {"decided_at": DECIDED_AT} for record in RECORDS]
        write_parquet(path, typed)
    else:
        write(path, json_lines(*RECORDS) if name.endswith("jsonl") else CSV)
    found = read_verdict_file(path, AT)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    first, second = (f"{digest[:16]}-{number:09}" for number in numbers)
    assert found.file_digest == digest
    assert found.verdicts == [
        FraudVerdict(first, ClickTarget("imp-1", 7), "fraud", 'a "bot", or so', DECIDED_AT, 5),
        FraudVerdict(second, LogPosition(1, 0, 9), "fraud", 'a "bot", or so', DECIDED_AT),
    ]
    assert found.rejected == []


def test_a_spreadsheet_writes_a_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"\xef\xbb\xbf" + CSV.replace(b"\n", b"\r\n"))
    assert len(read_verdict_file(path, AT).verdicts) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("imp-1,7", "2 values, for 9 columns"),
        (f"{LINE},", "10 values, for 9 columns"),
        (LINE.replace(QUOTED, '"a bot'), "no CSV: unexpected end of data"),
        (LINE.replace("imp-1", ""), "impression_id is None"),
        (LINE.replace("fraud", "guilty"), "verdict is 'guilty'"),
    ],
    ids=["short", "long", "open quote", "no impression", "unknown verdict"],
)
def test_a_bad_line_of_csv_is_named_and_spoils_no_other(tmp_path: Path, line: str, reason: str) -> None:
    path = write(tmp_path / "a.csv", f"{HEADER}\n{LINE}\n{line}\n{LINE}\n")
    (bad,) = rejected(path)
    assert (bad.line_number, bad.text) == (3, line)
    assert bad.reason.startswith(reason)
    assert len(read_verdict_file(path, AT, is_skipping_bad=True).verdicts) == 2


def test_bytes_that_are_no_utf8_are_kept_as_escapes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"{HEADER}\n".encode() + LINE.encode().replace(b"bot", b"b\xf6t"))
    assert rejected(path) == [RejectedLine(2, "no UTF-8", LINE.replace("bot", "b\\xf6t"))]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no JSON object"),
        (json.dumps(RECORDS[0] | {"colour": 1}), "unknown field colour"),
        (json.dumps(RECORDS[0] | {"score_micros": 0.9}), "score_micros is 0.9"),
    ],
    ids=["cut", "deep", "array", "unknown field", "fraction"],
)
def test_a_bad_line_of_json_is_named(tmp_path: Path, line: str, reason: str) -> None:
    (bad,) = rejected(write(tmp_path / "a.jsonl", json_lines(*RECORDS) + f"\n{line}\n"))
    assert (bad.line_number, bad.text) == (4, line)
    assert bad.reason.startswith(reason)


def test_a_bad_row_of_parquet_is_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", [*RECORDS, RECORDS[1] | {"offset": -1}])
    (bad,) = rejected(path)
    assert (bad.line_number, json.loads(bad.text)["offset"]) == (3, -1)
    assert bad.reason.startswith("offset is -1")


def test_an_instant_without_a_zone_is_bad_and_a_finer_one_is_cut(tmp_path: Path) -> None:
    table = pa.table(
        {name: [RECORDS[0][name]] for name in ("impression_id", "ad_id", "verdict", "reason")}
        | {"decided_at": pa.array([1_777_892_400_000_000_999], pa.timestamp("ns", tz="UTC"))}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    (found,) = read_verdict_file(tmp_path / "a.parquet", AT).verdicts
    assert found.decided_at == DECIDED_AT
    naive = table.set_column(4, "decided_at", table["decided_at"].cast(pa.timestamp("ns")))
    pq.write_table(naive, tmp_path / "b.parquet")
    assert "not an instant with its zone" in rejected(tmp_path / "b.parquet")[0].reason


def test_a_refusal_names_the_first_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "x\n" * 1_021)
    with pytest.raises(BadVerdictsError) as refused:
        read_verdict_file(path, AT)
    assert "has 1,021 bad lines: line 1: no JSON" in refused.value.found
    assert refused.value.found.endswith("; 1,001 more")
    assert "line 20:" in refused.value.found
    assert len(refused.value.rejected) == 1_021


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "ends in '.txt'"),
        ("gone.csv", None, "cannot be read: No such file"),
        ("a.csv", f"{HEADER},colour\n", "has colour in line 1"),
        ("a.csv", f"{HEADER},ad_id\n", "has a column twice in line 1"),
        ("a.csv", b"\xff\n", "has no UTF-8 in line 1"),
        ("a.parquet", "text", "cannot be read as Parquet"),
    ],
    ids=["suffix", "missing", "unknown column", "column twice", "bytes", "no parquet"],
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: bytes | str | None, message: str
) -> None:
    if content is not None:
        write(tmp_path / name, content)
    with pytest.raises(UsageError, match=message):
        read_verdict_file(tmp_path / name, AT, is_skipping_bad=True)


def test_an_unknown_column_of_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has unknown columns colour"):
        read_verdict_file(write_parquet(tmp_path / "a.parquet", [RECORDS[0] | {"colour": 1}]), AT)


def test_an_array_of_json_is_the_same_verdicts(tmp_path: Path) -> None:
    """Its places are its lines; of bytes that came without a file, too, and there no line is ever skipped."""
    content = json.dumps(RECORDS).encode()
    found = read_verdict_file(write(tmp_path / "a.json", content), AT)
    assert found == read_verdict_bytes("the body", ".json", content, AT)
    of_lines = read_verdict_file(write(tmp_path / "a.jsonl", json_lines(*RECORDS)), AT)
    assert [one.target for one in found.verdicts] == [one.target for one in of_lines.verdicts]
    with pytest.raises(BadVerdictsError, match="the body has 2 bad lines: line 2: no JSON object; line 3: verdict is"):
        read_verdict_bytes(
            "the body", ".json", json.dumps([RECORDS[0], 1, {**RECORDS[1], "verdict": "x"}]).encode(), AT
        )
    for text in (b"{}", b"[", b"\xff"):
        with pytest.raises(UsageError, match="the body is no "):
            read_verdict_bytes("the body", ".json", text, AT)
