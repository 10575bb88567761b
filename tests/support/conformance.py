"""Example rows that several crawlers share, where they lie beside this checkout.

Belongs here: finding them. Each test that reads them has small cases of its own, which run everywhere.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.conventions.sources import ROOT

FOLDER = ROOT.parent / "shared" / "conformance"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one file; the test is skipped, with the reason, where there is none."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        pytest.skip(f"no rows of {name} beside this checkout; the other cases of this file stand alone")
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def robots_body(row: dict[str, Any]) -> bytes:
    """The robots.txt of a row."""
    return base64.b64decode(row["robots_b64"]) if "robots_b64" in row else str(row.get("robots", "")).encode()
