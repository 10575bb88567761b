"""Generic package names such as ``domain`` and ``services`` resolve to this repository, and all are installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conventions.sources import ROOT, name_of, packages, product_files, pyproject, rooms


@pytest.mark.parametrize("package", packages())
def test_package_resolves_to_this_repository(package: str) -> None:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None, "a folder without __init__.py is anybody's"
    assert Path(spec.origin) == ROOT / package.replace(".", "/") / "__init__.py"


def test_every_folder_with_code_is_a_listed_package() -> None:
    folders = {name_of(path.parent).replace("/", ".") for path in product_files()}
    assert folders == set(packages())


def test_import_contracts_know_every_room() -> None:
    linter = pyproject()["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in linter["contracts"] if contract["type"] == "layers")
    assert set(linter["root_packages"]) == set(rooms())
    assert {room.strip() for layer in layers for room in layer.split("|")} == set(rooms())
