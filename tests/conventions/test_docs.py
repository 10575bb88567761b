"""What the documents name exists: files, links, make targets, commands, settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from cli.main import COMMANDS
from domain.settings import Settings
from tests.conventions.sources import ROOT, name_of, python_files, text_files
from warehouse.settings import HOME, PREFIX

DOCUMENTS = [path for path in text_files() if path.suffix == ".md"]
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:\.(?:py|md|toml|xml|yaml|sh|txt|json)|/)")
DOCUMENT_IN_CODE = re.compile(r"\bdocs/[\w/-]+\.(?:md|json)\b")
STATE = ("home/", ".cache/", ".tallystick/", ".venv/")
"""Folders that exist only after set-up or at run time."""
OF_TESTS = {"TALLYSTICK_SCREENSHOTS"}
"""Not settings: what tests are told by."""
EXAMPLES = {"ads.jsonl", "tallystick.toml", "truth.json"}
"""Files that the reader writes."""


def _named(pattern: str, path: Path) -> Iterator[str]:
    for code in CODE.findall(path.read_text(encoding="utf-8")):
        yield from re.findall(pattern, code)


def _missing_files(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    named = [name for name in INLINE.findall(text) if FILE.fullmatch(name)]
    wanted = [name for name in named if not name.startswith(STATE) and name not in EXAMPLES]
    links = [path.parent / target for target in LINK.findall(text)]
    return [name for name in wanted if not _exists(name, path)] + [str(link) for link in links if not link.exists()]


def _exists(name: str, document: Path) -> bool:
    return (ROOT / name).exists() or (document.parent / name).exists()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_named_files_exist(document: Path) -> None:
    assert _missing_files(document) == []


def test_documents_named_in_code_exist() -> None:
    named = {
        (name_of(path), name)
        for path in python_files()
        for name in DOCUMENT_IN_CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert {(where, name) for where, name in named if not (ROOT / name).exists()} == set()


def test_named_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for path in DOCUMENTS for name in _named(r"\bmake ([a-z]+)\b", path)}
    assert named
    assert named <= targets


def test_named_commands_exist() -> None:
    named = {name for path in DOCUMENTS for name in _named(r"\btallystick ([a-z][a-z-]*)\b", path)}
    assert named
    assert named <= COMMANDS.keys()


def test_named_settings_exist() -> None:
    known = {HOME, *OF_TESTS, *(PREFIX + field.name.upper() for field in fields(Settings))}
    named = {
        name
        for path in text_files()
        for name in re.findall(rf"\b{PREFIX}[A-Z][A-Z_]+\b", path.read_text(encoding="utf-8"))
        if not path.is_relative_to(ROOT / "tests")
    }
    assert named <= known


def _setting_row(field: Field[Any]) -> str:
    bounds, choices = field.metadata["bounds"], field.metadata["choices"]
    allowed = f"{bounds[0]} to {bounds[1]}" if bounds else " or ".join(choices or ["text"])
    default = "empty" if field.default == "" else field.default
    return f"| `{field.name}` | {default} | {allowed} | {field.metadata['help']} |"


def test_every_setting_is_described_as_it_is() -> None:
    lines = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8").splitlines()
    expected = [_setting_row(field) for field in fields(Settings) if field.metadata]
    assert [line for line in lines if line.startswith("| `")] == expected


def test_readme_lists_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {name for name in COMMANDS if f"`tallystick {name}" not in text} == set()
