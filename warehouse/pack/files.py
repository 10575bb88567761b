"""An evidence pack: one zip of tables, proofs, rules and the script that recounts it. Same content, same bytes.

Belongs here: which files there are and how they are written. What stands in them is ``warehouse/pack/evidence.py``; the
script is ``warehouse/pack/recount.py``, which uses nothing of ours.
"""

from __future__ import annotations

import csv
import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from domain.buckets import format_utc
from domain.chain import canonical_json
from domain.disputes import Dispute
from domain.errors import IntegrityError
from domain.settings import Settings
from warehouse.adjustments import read_adjustments
from warehouse.csv_cells import csv_rows
from warehouse.disputes import read_dispute
from warehouse.pack import recount
from warehouse.pack.evidence import Evidence, refuse_unsealed
from warehouse.prices import price_table, read_prices
from warehouse.schema import arrow_schema
from warehouse.tables import ADJUSTMENTS, SEALS

HERE = Path(__file__).resolve().parent
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the zip: the earliest that there is."""
READABLE = 0o100644 << 16
SUMS = "sha256sums.txt"


@dataclass(frozen=True)
class PackReceipt:
    """What was packed. ``incomplete_hours``: those of which raw events are gone, so that nothing is proven of them.

    ``findings``: each place where the pack's own script finds a difference; none if it matches.
    """

    case_id: str
    billable_clicks: int
    event_count: int
    incomplete_hours: tuple[datetime, ...]
    findings: tuple[str, ...]


def write_pack(settings: Settings, case_id: str, file: IO[bytes]) -> PackReceipt:
    """Writes the pack of a dispute. Reads the tables only; repeatable.

    ``UsageError`` for an unknown dispute, or one with an hour that is not sealed and published; then it writes nothing.
    """
    dispute = read_dispute(settings, case_id)
    with tempfile.TemporaryDirectory(prefix="tallystick-pack-") as folder, Evidence(settings, dispute) as evidence:
        refuse_unsealed(evidence.missing_hours)
        receipt = _write_files(settings, dispute, evidence, Path(folder))
        _zip(Path(folder), file)
    return receipt


def _write_files(settings: Settings, dispute: Dispute, evidence: Evidence, folder: Path) -> PackReceipt:
    invoice = evidence.final_rows()
    adjustments = [
        one.columns()
        for one in read_adjustments(settings)
        if one.advertiser_id == dispute.advertiser_id and one.charge_hour in set(dispute.hours)
    ]
    event_count = _write_table(folder, "clicks", evidence.clicks())
    _write_table(folder, "invoice_rows", invoice.to_reader())
    _write_table(folder, "verdicts", evidence.verdicts())
    _write_table(folder, "adjustments", _reader(adjustments, arrow_schema(ADJUSTMENTS)))
    _write_table(folder, "prices", price_table(read_prices(settings, dispute.advertiser_id)).to_reader())
    _write_table(folder, "seals", _reader(_seal_rows(dispute, evidence), arrow_schema(SEALS)))
    _write_csv(folder, "foreign_sums", evidence.foreign_sums().to_reader())
    _write_json(folder / "pack.json", _about(dispute, evidence))
    _write_json(folder / "publication.json", asdict(evidence.publication) if evidence.publication else {})
    _copy_texts(folder, {seal.rule_version for seal in evidence.held.values()})
    _write_sums(folder)
    billable_clicks = pc.sum(invoice.column("clicks")).as_py() or 0
    return PackReceipt(
        dispute.case_id, billable_clicks, event_count, tuple(evidence.incomplete_hours), _recounted(folder)
    )


def _recounted(folder: Path) -> tuple[str, ...]:
    """What the script will say to who gets the pack: whoever writes it should know first."""
    pack = recount.Pack(folder, None)
    return tuple(finding for check in recount.CHECKS for finding in recount.findings_of(check, pack))


def _seal_rows(dispute: Dispute, evidence: Evidence) -> list[dict[str, Any]]:
    """The whole chain; who asked for a seal and why only where that is the business of this case."""
    return [seal.columns_for(dispute.case_id) for seal in evidence.seals]


def _about(dispute: Dispute, evidence: Evidence) -> dict[str, Any]:
    said = {name: value for name, value in vars(dispute).items() if name != "events"}
    return {
        "dispute": said | {"events": [vars(event) for event in dispute.events]},
        "raw_clicks_found": {format_utc(hour): count for hour, count in evidence.raw_counts().items()},
        "not_shown": [asdict(one) for one in evidence.not_shown()],
        "head": evidence.seals[-1].hash,
    }


def _reader(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatchReader:
    return pa.Table.from_pylist(list(rows), schema=schema).to_reader()


def _write_table(folder: Path, name: str, rows: pa.RecordBatchReader) -> int:
    """As CSV and as Parquet, in one pass; how many rows there were."""
    with pq.ParquetWriter(folder / f"{name}.parquet", rows.schema, compression="zstd") as parquet:
        return _write_csv(folder, name, rows, parquet.write_batch)


def _write_csv(
    folder: Path, name: str, rows: pa.RecordBatchReader, beside: Callable[[pa.RecordBatch], None] = lambda _: None
) -> int:
    count = 0
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(rows.schema.names)
        for batch in rows:
            beside(batch)
            writer.writerows(csv_rows(batch))
            count += batch.num_rows
    return count


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    path.write_bytes(canonical_json(document).encode() + b"\n")


def _copy_texts(folder: Path, rule_versions: Iterable[int]) -> None:
    shutil.copyfile(HERE / "about.md", folder / "README.md")
    shutil.copyfile(HERE / "recount.py", folder / "recount.py")
    (folder / "rules").mkdir()
    for version in rule_versions:
        source = HERE / "rules" / f"rule_{version}.md"
        if not source.exists():
            raise IntegrityError(
                f"a seal names rule version {version}", "a rule whose text was kept", "use the version that sealed it"
            )
        shutil.copyfile(source, folder / "rules" / source.name)


def _files(folder: Path) -> list[tuple[str, Path]]:
    found = ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return sorted(found)


def _write_sums(folder: Path) -> None:
    lines = []
    for name, path in _files(folder):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def _zip(folder: Path, file: IO[bytes]) -> None:
    """Names sorted, times and modes fixed: nothing of this run gets in."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in _files(folder):
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, READABLE, 3
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)
