"""Every error that people can see is described in docs/errors.md as it is, and nothing else is."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

from domain.errors import TallystickError
from tests.conventions.sources import ROOT, name_of, product_files, tree_of


def _class_names(path: Path) -> list[str]:
    """Names of classes whose bases look like errors; the syntax tree, because importing every module takes long."""
    return [
        node.name
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Error") for base in node.bases)
    ]


def _error_classes() -> dict[str, type[TallystickError]]:
    found: dict[str, type[TallystickError]] = {}
    for path in product_files():
        for name in _class_names(path):
            module = import_module(name_of(path).removesuffix(".py").replace("/", "."))
            error = getattr(module, name)
            if issubclass(error, TallystickError):
                found[name] = error
    return found


def _row(error: type[TallystickError]) -> str:
    paragraph = " ".join((inspect.getdoc(error) or "").split("\n\n")[0].split()).replace("``", "`")
    return f"| `{error.__name__}` | {error.exit_code} | {'yes' if error.is_transient else 'no'} | {paragraph} |"


def test_each_error_is_described_as_it_is() -> None:
    lines = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").splitlines()
    expected = [_row(error) for _, error in sorted(_error_classes().items())]
    assert [line for line in lines if line.startswith("| `")] == expected


def test_each_error_says_what_it_is() -> None:
    """An inherited docstring describes the parent."""
    assert [name for name, error in _error_classes().items() if not error.__dict__.get("__doc__")] == []
