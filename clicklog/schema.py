"""The JSON Schema file of the click event, for producers that are not ours.

Belongs here: where the file is and writing it anew. The event is defined in ``domain/events.py`` and nowhere else;
after a change there, ``python -m clicklog.schema`` writes the file, and a test holds the two equal.
"""

from __future__ import annotations

import json
from pathlib import Path

from domain.events import EVENT_VERSION, json_schema

SCHEMA_FILE = Path(__file__).parent / "schemas" / f"click_event.v{EVENT_VERSION}.json"


def schema_text() -> str:
    """The file's content."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
