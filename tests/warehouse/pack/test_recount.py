"""The script of a pack, run as a stranger runs it: by an interpreter of its own, in a folder that holds the pack."""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domain.buckets import MINUTE
from tests.support.dispute_world import adjusted, dispute_world, opened
from tests.support.sealed_world import HOUR, exchanged, logged
from tests.warehouse.pack.test_files import files_of, pack_bytes
from warehouse.pack import recount
from warehouse.pack.recount import text_of

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Files:
    world = dispute_world(tmp_path_factory.mktemp("recounted"))
    opened(world)
    adjusted(world)
    return files_of(pack_bytes(world))


def _recount(folder: Path, files: Files, *arguments: str) -> tuple[int, list[str]]:
    """Exit code and the lines that it prints."""
    _unpack(folder, files)
    command = [sys.executable, "-I", "recount.py", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={})
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def _recount_here(capsys: pytest.CaptureFixture[str], folder: Path, files: Files) -> tuple[int, list[str]]:
    """The same without an interpreter of its own, which takes longer to start than to recount."""
    _unpack(folder, files)
    code = recount.main(folder)
    return code, capsys.readouterr().out.splitlines()


def _unpack(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content)


def _summed(files: Files) -> Files:
    """With fitting sums: a forger would write them, too."""
    others = sorted(name for name in files if name != "sha256sums.txt")
    lines = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in others]
    return files | {"sha256sums.txt": "".join(lines).encode()}


def _set(name: str, row_number: int, *kinds: str, **columns: Any) -> Callable[[Files], Files]:
    """Changes a row of a table, in the CSV file, in the Parquet file, or in both."""

    def change(files: Files) -> Files:
        changed = dict(files)
        for kind in kinds or KINDS:
            changed[f"{name}.{kind}"] = KINDS[kind](files[f"{name}.{kind}"], row_number, columns)
        assert changed != files
        return changed

    return change


def _set_csv(content: bytes, row_number: int, columns: dict[str, Any]) -> bytes:
    reader = csv.DictReader(io.StringIO(content.decode()))
    rows = list(reader)
    rows[row_number] |= {key: "" if value is None else text_of(value) for key, value in columns.items()}
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, reader.fieldnames or [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _set_parquet(content: bytes, row_number: int, columns: dict[str, Any]) -> bytes:
    table = pq.read_table(io.BytesIO(content))
    rows = table.to_pylist()
    rows[row_number] |= columns
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    return file.getvalue()


KINDS = {"csv": _set_csv, "parquet": _set_parquet}


def _replaced(name: str, old: str, new: str) -> Callable[[Files], Files]:
    def change(files: Files) -> Files:
        assert files[name].count(old.encode()) == 1
        return files | {name: files[name].replace(old.encode(), new.encode())}

    return change


def _other_sum(files: Files) -> Files:
    """The last line is that of the second hour."""
    lines = files["foreign_sums.csv"].decode().splitlines()
    lines[-1] = lines[-1][:-64] + "0" * 64
    return files | {"foreign_sums.csv": "\n".join([*lines, ""]).encode()}


def _head(files: Files) -> str:
    return str(json.loads(files["pack.json"])["head"])


def test_it_matches(packed: Files, tmp_path: Path) -> None:
    """Law 11, for one advertiser, without any code of ours."""
    code, lines = _recount(tmp_path, packed)
    assert (code, lines[-1]) == (0, "matches"), lines
    assert lines[-3:-1] == ["D-1: 4 billable clicks in the range", f"head of the seals: {_head(packed)}"]
    assert len(lines) == 8 + 3


def test_it_needs_python_and_duckdb_alone() -> None:
    """Our packages are installed beside duckdb here, so that running it alone would not tell."""
    tree = ast.parse(Path(recount.__file__).read_text(encoding="utf-8"))
    names = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    names |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names - sys.stdlib_module_names == {"duckdb"}


KEY = "campaign_id 100, ad_id 1, country"
DIGEST = "hour 2026-11-30T09:00:00Z, digest of its billable clicks: found "
CHANGES: dict[str, tuple[Callable[[Files], Files], list[str]]] = {
    "country of a click, in one file": (
        _set("clicks", 3, "csv", country="DE"),
        [
            "clicks.csv, click 1:0:3 of 2026-11-30T09:08:00Z, country: found DE, expected CA as in clicks.parquet",
            DIGEST,
            f"minute 2026-11-30T09:08:00Z, {KEY} CA, device mobile, clicks: found 1, expected 0 as recounted",
            f"minute 2026-11-30T09:08:00Z, {KEY} DE, device mobile, clicks: found no row, expected 1 as recounted",
        ],
    ),
    "country of a click, in the other file": (
        _set("clicks", 3, "parquet", country="DE"),
        ["clicks.csv, click 1:0:3 of 2026-11-30T09:08:00Z, country: found CA, expected DE as in clicks.parquet"],
    ),
    "country of a click": (_set("clicks", 3, country="DE"), [DIGEST]),
    "impression of a click": (_set("clicks", 8, impression_id="D"), [DIGEST]),
    "minute of a click": (
        _set("clicks", 8, minute=HOUR),
        [
            "click 1:0:8 of 2026-11-30T09:00:00Z, minute: found 2026-11-30T09:00:00Z, expected 2026-11-30T09:13:00Z",
            DIGEST,
        ],
    ),
    "a click that shall not be judged": (
        _set("clicks", 9, outcome="look_back", reason=None, verdict_id=None),
        ["click 1:0:9 of 2026-11-30T09:14:00Z, outcome: found look_back, expected look_back in other"],
    ),
    "fraud that shall be billed": (
        _set("clicks", 9, outcome="billable", reason=None, verdict_id=None),
        [
            "click 1:0:9 of 2026-11-30T09:14:00Z, outcome: found billable, expected excluded fraud v-1",
            "hour 2026-11-30T09:00:00Z, billable clicks: found 5 own and 4 of others, expected 8",
            f"minute 2026-11-30T09:14:00Z, {KEY} US, device mobile, clicks: found no row, expected 1 as recounted",
        ],
    ),
    "a click that shall not be billed": (
        _set("clicks", 8, outcome="excluded", reason="head"),
        ["click 1:0:8 of 2026-11-30T09:13:00Z, outcome: found excluded head, expected billable", DIGEST],
    ),
    "winner of a copy": (
        _set("clicks", 2, winner_offset=0),
        [
            "click 1:0:2 of 2026-11-30T09:07:00Z, outcome: found excluded duplicate 1:0:0, "
            "expected excluded duplicate 1:0:1"
        ],
    ),
    "time of a copy": (
        _set("clicks", 2, logged_at=HOUR + timedelta(days=8)),
        ["click 1:0:2 of 2026-11-30T09:07:00Z, outcome: found excluded duplicate 1:0:1, expected billable"],
    ),
    "clicks of an invoice row": (
        _set("invoice_rows", 0, clicks=2, amount_micros=500_000),
        [f"minute 2026-11-30T09:06:00Z, {KEY} US, device mobile, clicks: found 2, expected 1 as recounted"],
    ),
    "clicks of an invoice row, in one file": (
        _set("invoice_rows", 0, "parquet", clicks=2),
        [f"invoice_rows row minute 2026-11-30T09:06:00Z, {KEY} US, device mobile, clicks: found 1, expected 2 as in"],
    ),
    "amount of an invoice row": (
        _set("invoice_rows", 0, amount_micros=1),
        ["money: found 250000 EUR 1, expected 250000 EUR 250000"],
    ),
    "price": (
        _set("prices", 1, price_micros=200_000),
        ["money: found 300000 EUR 300000, expected 200000 EUR 200000"],
    ),
    "count of a seal": (
        _set("seals", 0, billable_clicks=7),
        [
            "seal 1 of hour 2026-11-30T09:00:00Z, hash of its columns: found",
            "hour 2026-11-30T09:00:00Z, billable clicks: found 4 own and 4 of others, expected 7",
        ],
    ),
    "words put into a seal that the pack does not tell": (
        _set("seals", 0, actor="ada", reason="you asked for it"),
        ["seal 1 of hour 2026-11-30T09:00:00Z, commitment to its actor, case and reason: found "],
    ),
    "a chain written anew from its middle": (
        _set("seals", 1, previous_hash="1" * 64),
        ["seal 2 of hour 2026-11-30T10:00:00Z, previous_hash: found 1111"],
    ),
    "head": (_replaced("pack.json", '"head":"', '"head":"0'), ["head of the seals: found"]),
    "sum of others' clicks": (_other_sum, ["hour 2026-11-30T10:00:00Z, digest of its billable clicks: found"]),
    "number of others' clicks": (
        _replaced("foreign_sums.csv", "2026-11-30T10:00:00Z,1,", "2026-11-30T10:00:00Z,2,"),
        ["hour 2026-11-30T10:00:00Z, billable clicks: found 2 own and 2 of others, expected 3"],
    ),
    "verdict": (
        _set("verdicts", 3, verdict="fraud"),
        ["click 1:0:8 of 2026-11-30T09:13:00Z, outcome: found billable, expected excluded fraud v-4"],
    ),
    "clicks of an adjustment": (
        _set("adjustments", 0, delta_clicks=-1),
        ["adjustments row case_id C-1, line_number 1, hash of its columns: found "],
    ),
    "adjustments": (
        lambda files: files | {"adjustments.csv": files["adjustments.csv"] + b"C-1\n"},
        ["adjustments.csv: found 2 rows, expected the 1 of adjustments.parquet"],
    ),
    "publication": (
        _replaced("publication.json", '"seal_number":2', '"seal_number":3'),
        ["publication.json, hash of its columns: found"],
    ),
    "range": (
        _replaced("pack.json", '"start":"2026-11-30T09:05:00Z"', '"start":"2026-11-30T09:07:00Z"'),
        [f"minute 2026-11-30T09:06:00Z, {KEY} US, device mobile, clicks: found 1, expected 0 as recounted"],
    ),
    "raw that was there": (
        _replaced("pack.json", '"2026-11-30T10:00:00Z":3', '"2026-11-30T10:00:00Z":2'),
        ["hour 2026-11-30T10:00:00Z, raw events when this pack was made: found 2, expected 3 as sealed"],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_value_is_named(
    packed: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    changed, expected = CHANGES[change]
    code, lines = _recount_here(capsys, tmp_path, _summed(changed(packed)))
    said = "\n".join(lines)
    assert [text for text in expected if text not in said] == [], said
    assert (code, lines[-1].startswith("differs in ")) == (1, True)
    assert "  - file " not in said, "with fitting sums, the sums alone would not do"


@pytest.mark.parametrize("name", ["README.md", "rules/rule_2.md", "adjustments.csv", "clicks.parquet", "recount.py"])
def test_a_file_that_is_not_as_it_was_packed(
    packed: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    changed = packed[name] + b"\n"
    code, lines = _recount_here(capsys, tmp_path, packed | {name: changed})
    assert code == 1
    assert lines[-1].startswith("differs in ")
    assert f"  - file {name}: found {hashlib.sha256(changed).hexdigest()}, expected" in "\n".join(lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda files: files | {"clicks.parquet": b"PAR1"},
        lambda files: {name: content for name, content in files.items() if name != "clicks.csv"},
        lambda files: files | {"pack.json": b"{"},
        _set("seals", 0, "csv", revision="none"),
    ],
    ids=["no Parquet", "no clicks", "no JSON", "no number"],
)
def test_a_file_that_is_none(
    packed: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Files], Files]
) -> None:
    code, lines = _recount_here(capsys, tmp_path, change(packed))
    assert (code, lines[-1].startswith("differs in ")) == (1, True)
    assert "a file is not what it should be: " in "\n".join(lines)


def test_words_of_its_own_case_are_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a revision that the case led to the pack tells reason, actor and salt, and none of them can be exchanged."""
    world = dispute_world(tmp_path / "home")
    opened(world)
    world.archive([logged(95, HOUR + 20 * MINUTE)])
    world.seal(HOUR, case_id="D-1", reason="the claim is right", actor="grace")
    world.publish()
    files = files_of(pack_bytes(world))
    assert _recount_here(capsys, tmp_path / "as packed", files)[1][-1] == "matches"
    for column in ("reason", "actor", "salt"):
        changed = _summed(_set("seals", 2, **{column: "another"})(files))
        code, lines = _recount_here(capsys, tmp_path / column, changed)
        found = "seal 3 of hour 2026-11-30T09:00:00Z, commitment to its actor, case and reason: found "
        assert (code, found in "\n".join(lines)) == (1, True), lines


def test_a_head_that_was_kept(packed: Files, tmp_path: Path) -> None:
    """F6: whoever kept a hash sees that the chain was written anew."""
    assert _recount(tmp_path, packed, _head(packed))[1][-1] == "matches"
    code, lines = _recount(tmp_path, packed, "f" * 64)
    assert code == 1
    assert f"  - hash that you kept: found no seal that has it, expected {'f' * 64}" in lines


def test_raw_that_was_changed_or_is_gone(tmp_path: Path) -> None:
    """What was done to raw after the seal is seen in every pack that is made from it."""
    world = dispute_world(tmp_path / "home")
    opened(world)
    in_payload = exchanged("payload", b'"country": "CA"', b'"country": "DE"')
    world.tamper("raw_clicks", lambda row: in_payload(row) if row["offset"] == 3 else row)
    code, lines = _recount(tmp_path / "changed", files_of(pack_bytes(world)))
    assert (code, f"  - {DIGEST}" in "\n".join(lines)) == (1, True)
    place = "click 1:0:3 of 2026-11-30T09:08:00Z, raw_clicks: found a payload that says another country"
    assert place in "\n".join(lines)
    world.tamper("raw_clicks", lambda row: None if row["offset"] in {3, 90} else row)
    code, lines = _recount(tmp_path / "gone", files_of(pack_bytes(world)))
    said = "\n".join(lines)
    assert (
        "hour 2026-11-30T09:00:00Z, raw events when this pack was made: found 15, expected 16 as sealed; what is"
        in said
    )
    assert "note: copy 1:0:90 is not shown: gone" in said
    assert code == 1
