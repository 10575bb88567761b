"""The clock and the environment are read at the edges only: ruff has the rule, these tests keep the rule on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conventions.sources import ROOT, pyproject, rooms

EDGE_FILES = {"warehouse/clock.py", "warehouse/settings.py"}
BANNED = {
    "now": "from datetime import UTC, datetime\n\nAT = datetime.now(UTC)\n",
    "utcnow": "import datetime\n\nAT = datetime.datetime.utcnow()\n",
    "time": "from time import time\n\nAT = time()\n",
    "environ": "import os\n\nHOME = os.environ['HOME']\n",
    "getenv": "from os import getenv\n\nHOME = getenv('HOME')\n",
}


def _ruff(code: str, file_name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "TID251", "--stdin-filename", file_name, "-"],
        input=code,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("code", BANNED.values(), ids=BANNED.keys())
def test_clock_and_environment_are_refused_in_every_room(code: str) -> None:
    for room in rooms():
        assert "TID251" in _ruff(code, f"{room}/example.py"), room


def test_the_rule_is_selected_and_only_the_edge_files_are_exempt() -> None:
    lint = pyproject()["tool"]["ruff"]["lint"]
    exempt = {pattern for pattern, rules in lint["per-file-ignores"].items() if "TID251" in rules or "TID" in rules}
    assert "TID" in lint["select"]
    assert exempt - {"tests/**"} == EDGE_FILES
