"""What the convention tests look at: the rooms of this repository, their files, their syntax trees.

Belongs here: finding and reading files. What is demanded of them stands in the tests beside this file.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = frozenset({"__pycache__", "build", "node_modules"})
TEXT_SUFFIXES = frozenset(
    {"", ".css", ".csv", ".html", ".js", ".json", ".md", ".py", ".sh", ".sql", ".toml", ".txt", ".xml", ".yaml", ".yml"}
)


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages() -> list[str]:
    """Every package that is installed, with sub-packages, as ``pyproject.toml`` lists them."""
    return list(pyproject()["tool"]["setuptools"]["packages"])


def rooms() -> list[str]:
    """The top-level packages: what DESIGN calls rooms."""
    return [name for name in packages() if "." not in name]


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        is_hidden = path.name.startswith(".") and path.name not in {".ci", ".gitignore"}
        if is_hidden or path.name in SKIPPED_FOLDERS or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


@cache
def text_files() -> tuple[Path, ...]:
    """Everything a person wrote: the working tree without caches, environments and state."""
    return tuple(path for path in _walk(ROOT) if path.suffix in TEXT_SUFFIXES)


@cache
def product_files() -> tuple[Path, ...]:
    """The Python files of the rooms."""
    return tuple(path for path in text_files() if path.suffix == ".py" and name_of(path).split("/")[0] in rooms())


@cache
def python_files() -> tuple[Path, ...]:
    """All Python files: rooms, tests, benchmarks."""
    return tuple(path for path in text_files() if path.suffix == ".py")


def name_of(path: Path) -> str:
    """The path from the root of the repository: what a failing test prints."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
