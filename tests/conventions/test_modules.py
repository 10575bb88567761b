"""Habits of single modules: a docstring, short files and functions, no assert, no data pulled through the driver."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conventions.sources import ROOT, name_of, product_files, python_files, tree_of

LONGEST_FILE_LINES = 399
LONGEST_FUNCTION_LINES = 59
LONG_FILES: frozenset[str] = frozenset()
"""Files that may be longer. This list may only shrink."""
LONG_FUNCTIONS: frozenset[str] = frozenset()
"""Functions (``file:name``) that may be longer. This list may only shrink."""


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield f"{name_of(path)}:{node.name}", node.end_lineno - node.lineno + 1


def test_each_module_says_what_it_is() -> None:
    silent = [name_of(path) for path in python_files() if not ast.get_docstring(tree_of(path))]
    assert silent == []


def test_files_are_short() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    assert {name for name, lines in lengths.items() if lines > LONGEST_FILE_LINES} == LONG_FILES


def test_functions_are_short() -> None:
    lengths = [function for path in python_files() for function in _functions(path)]
    assert {name for name, lines in lengths if lines > LONGEST_FUNCTION_LINES} == LONG_FUNCTIONS


def test_no_assert_in_the_product() -> None:
    """An assert is gone under ``python -O``; a refusal is an error with a remedy."""
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in product_files()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Assert)
    ]
    assert found == []


def test_transforms_pull_no_data_through_the_driver() -> None:
    transforms = [path for path in product_files() if path.is_relative_to(ROOT / "spark_jobs" / "transforms")]
    found = [
        f"{name_of(path)}:{node.lineno} {node.attr}"
        for path in transforms
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in {"toPandas", "collect", "toLocalIterator"}
    ]
    assert transforms
    assert found == []


def test_no_mocks_anywhere() -> None:
    """Engines and peers are real ones; a test replaces parts of ours through arguments."""
    found = [
        name_of(path)
        for path in python_files()
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unittest.mock"))
        or (isinstance(node, ast.Import) and any(alias.name.startswith("unittest.mock") for alias in node.names))
    ]
    assert found == []
