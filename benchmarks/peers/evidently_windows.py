"""Runs in the environment of Evidently: its data drift preset with its defaults over windows of metric rows.

Arguments: a folder and names; for each name the folder has ``NAME.reference.csv`` and ``NAME.current.csv``, an hour a
row, a series a column. Prints one JSON object: by name whether the data set drifted (half of its columns, the default),
and how many columns did.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset


def main(folder: Path, names: list[str]) -> None:
    """One report a window."""
    found = {}
    for name in names:
        reference, current = (pd.read_csv(folder / f"{name}.{part}.csv") for part in ("reference", "current"))
        kept = [one for one in reference.columns if reference[one].nunique() > 1 and current[one].notna().any()]
        if not kept:  # Evidently raises for a day without any data: whoever runs it sees that
            found[name] = {"is_drift": True, "columns": len(reference.columns)}
            continue
        snapshot = Report([DataDriftPreset()]).run(current[kept], reference[kept])
        counts = [one["value"] for one in snapshot.dict()["metrics"] if isinstance(one["value"], dict)]
        drifted = next(one for one in counts if "share" in one)
        found[name] = {"is_drift": drifted["share"] >= 0.5, "columns": int(drifted["count"])}
    print(json.dumps(found))


warnings.filterwarnings("ignore")
main(Path(sys.argv[1]), sys.argv[2:])
