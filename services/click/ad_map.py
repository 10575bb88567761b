"""The ads in force as one file that all processes of a machine map into memory: ten million take no heap and no start.

Belongs here: building that file from the table ``ads``, and looking an ad up in it. When it is replaced is
``catalogue.py``. The file is an Arrow IPC file, ordered by ad; it can be made anew at any time.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from domain.settings import Settings
from warehouse.layout import dataset_of
from warehouse.whole_files import written_beside

COLUMNS = ("ad_id", "advertiser_id", "campaign_id", "target_url")
_MODE = 0o600


class ServedAd(NamedTuple):
    """What a click needs to know of its ad."""

    ad_id: int
    advertiser_id: int
    campaign_id: int
    target_url: str


class AdMap:
    """The ads of one version of the table. Threads may share it; the file may be replaced or deleted meanwhile."""

    def __init__(self, path: Path) -> None:
        """Maps the file. ``OSError`` or ``pyarrow.ArrowInvalid`` if it is no such file."""
        with pa.memory_map(str(path)) as source:
            rows = pa.ipc.open_file(source).get_batch(0)  # nothing is copied out of the map
        self._ad_ids, self._advertisers, self._campaigns = (rows.column(name).to_numpy() for name in COLUMNS[:3])
        self._targets = rows.column(COLUMNS[3])

    def __len__(self) -> int:
        return len(self._ad_ids)

    def get(self, ad_id: int) -> ServedAd | None:
        """The ad; None if there is none of this id. Some microseconds, whatever the number of ads."""
        at = int(np.searchsorted(self._ad_ids, ad_id))
        if at == len(self._ad_ids) or self._ad_ids[at] != ad_id:
            return None
        target = cast("str", self._targets[at].as_py())
        return ServedAd(ad_id, int(self._advertisers[at]), int(self._campaigns[at]), target)


def ensure_ad_map(settings: Settings, snapshot: DeltaTable) -> AdMap:
    """The map of this snapshot of the table, made if it is not there; maps of other versions are deleted.

    Any number of processes may do so at once: each writes the same file whole. ``OSError`` if the disk refuses.
    """
    folder = settings.home / "catalogue"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"ads-{snapshot.metadata().id}-{snapshot.version()}.arrow"
    try:
        found = AdMap(path)
    except (FileNotFoundError, pa.ArrowInvalid):
        rows = _in_force(snapshot)
        with written_beside(path, _MODE) as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_batch(_one_batch(rows))
        found = AdMap(path)
    for other in folder.glob("ads-*.arrow"):
        if other != path:
            other.unlink(missing_ok=True)
    return found


def _in_force(snapshot: DeltaTable) -> pa.Table:
    """The newest row of each ad, ordered by ad, in columns of 64-bit offsets; no Python for each ad."""
    rows = dataset_of(snapshot).to_table(columns=[*COLUMNS, "valid_from"])
    ordered = rows.sort_by([("ad_id", "ascending"), ("valid_from", "ascending")])
    ad_ids = ordered.column("ad_id").to_numpy()
    is_last = np.append(ad_ids[1:] != ad_ids[:-1], True) if len(ad_ids) else np.array([], bool)
    newest = ordered.filter(pa.array(is_last)).select(COLUMNS)
    target = newest.schema.get_field_index("target_url")
    return newest.set_column(target, "target_url", newest.column("target_url").cast(pa.large_string()))


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    """All rows in one piece, so that a place in one column is the same place in the others."""
    whole = rows.combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_pylist([], rows.schema)
