"""Who may import whom: the contracts of ``pyproject.toml`` hold, and each of them notices a violation."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conventions.sources import ROOT, pyproject, rooms

PLANTED = {
    "warehouse/clock.py": "import spark_jobs",  # upwards
    "services/__init__.py": "import assets",  # sideways
    "quality/__init__.py": "import dagster",
    "clicklog/__init__.py": "import pyspark.sql",
    "warehouse/settings.py": "import delta",
    "domain/buckets.py": "import time",
}
BROKEN_BY_THEM = {
    "layers": ["warehouse.clock -> spark_jobs", "services -> assets"],
    "dagster": ["quality -> dagster"],
    "no-jvm": ["clicklog -> pyspark", "traffic is not allowed to import pyspark"],  # traffic only through clicklog
    "spark-side": ["warehouse.settings -> delta"],
    "pure-domain": ["domain.buckets -> time"],
}
"""By contract, what its part of the report must say."""


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    return subprocess.run([*command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False)


def test_contracts_hold() -> None:
    done = _lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_contract_notices_a_violation(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room in rooms():
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "traffic" / "planted.py").write_text("import clicklog\n")
    for file_name, line in PLANTED.items():
        with (tmp_path / file_name).open("a") as file:
            file.write(f"\n{line}\n")
    parts = re.split(r"\n(.+)\n-+\n", _lint(tmp_path).stdout)
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    for contract in pyproject()["tool"]["importlinter"]["contracts"]:
        expected = BROKEN_BY_THEM[contract["id"]]
        assert [line for line in expected if line not in said.get(contract["name"], "")] == [], contract["id"]
