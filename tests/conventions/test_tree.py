"""The tree as a whole: nothing of one machine in it, a test beside each module, every table and command registered."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from cli.main import COMMANDS, load_command
from tests.conventions.sources import ROOT, name_of, product_files, python_files, rooms, text_files, tree_of
from warehouse.tables import TABLES

MACHINE_PATH = re.compile(r"(?:^|[^\w./-])/(?:work|root|farm|home|Users)/\w", re.MULTILINE)
REGISTRY = re.compile(
    r"https?://[\w.-]*(?:registry|repo\d*\.|packages?\.|files\.|proxy\.)[\w.-]*|https?://[^\s\"]*/(?:maven2?|simple|-)/"
)
OTHER_TESTS = {"conventions", "docs", "faults"}
"""Folders of tests that belong to no single module: habits of the tree, and faults of the whole path."""
UNTESTED_LINES = 20
UNTESTED = {
    "cli/commands/demo.py",
    "cli/commands/stream.py",
}
"""Modules of more than 20 lines that no test is about. This list may only shrink."""

TEST_FILES = [path for path in text_files() if path.is_relative_to(ROOT / "tests") and path.name.startswith("test_")]


def _matches(pattern: re.Pattern[str]) -> list[str]:
    return [name_of(path) for path in text_files() if pattern.search(path.read_text(encoding="utf-8"))]


def test_no_path_of_one_machine() -> None:
    assert _matches(MACHINE_PATH) == []


def test_no_address_of_a_registry() -> None:
    assert _matches(REGISTRY) == []


@pytest.mark.parametrize("text", ["see /" + "work/main", "cd /" + "root/x", "'/" + "home/me/x'"])
def test_a_machine_path_would_be_seen(text: str) -> None:
    assert MACHINE_PATH.search(text)


@pytest.mark.parametrize("text", ["https:" + "//repo1.example.org/x", "https:" + "//example.org/maven2/org/x.jar"])
def test_a_registry_address_would_be_seen(text: str) -> None:
    assert REGISTRY.search(text)


def _tested_module(test: Path) -> Path:
    relative = test.relative_to(ROOT / "tests")
    return ROOT / relative.with_name(relative.name.removeprefix("test_"))


def test_each_test_mirrors_a_module() -> None:
    mirrors = [path for path in TEST_FILES if path.relative_to(ROOT / "tests").parts[0] not in OTHER_TESTS]
    orphans = [
        name_of(path)
        for path in mirrors
        if not _tested_module(path).exists() and not _tested_module(path).with_suffix("").is_dir()
    ]
    assert orphans == []


def _imports(path: Path) -> set[Path]:
    """The modules of the rooms that this file imports."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    stems = {ROOT / name.replace(".", "/") for name in names}
    return {file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")} & set(product_files())


def _room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def test_each_module_has_a_test() -> None:
    """A test file of its own; or a test imports it, or it is a part, in the same room, of a module that has one."""
    tested = {_tested_module(path) for path in TEST_FILES}
    tested |= {found for path in python_files() if _room(path) == "tests" for found in _imports(path)}
    while parts := {
        part for whole in tested if whole.exists() and whole.is_file() for part in _imports(whole) - tested
        if _room(part) == _room(whole)
    }:  # fmt: skip
        tested |= parts
    untested = {
        name_of(path)
        for path in product_files()
        if path.name != "__init__.py"
        and path not in tested
        and len(path.read_text(encoding="utf-8").splitlines()) > UNTESTED_LINES
    }
    assert untested == UNTESTED


def test_each_table_file_is_in_the_catalogue() -> None:
    files = {path.stem for path in (ROOT / "warehouse" / "tables").glob("[a-z]*.py")}
    assert files == TABLES.keys()
    assert {name: table.name for name, table in TABLES.items()} == {name: name for name in files}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_registered_command_exists(name: str) -> None:
    assert load_command(name).help


def test_each_command_file_is_registered() -> None:
    files = {path.stem.replace("_", "-") for path in (ROOT / "cli" / "commands").glob("[a-z]*.py")}
    assert files == COMMANDS.keys()


def test_ci_runs_what_people_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "exec make test"


def test_rooms_have_folders() -> None:
    assert [room for room in rooms() if not (ROOT / room).is_dir()] == []
