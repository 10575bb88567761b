"""The jars: each fault named by file, and a fetch that puts all in place or nothing."""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cli.jars import IVY_FILE, SUMS_FILE, JarsError, fetch_jars, jar_faults, read_sums
from clicklog.java import find_java

CONTENT = {"spark/a.jar": b"aaa", "broker/b.jar": b"bbb"}
SUMS = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    folder = tmp_path / "jars"
    for name, content in CONTENT.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(content)
    return folder


def test_jars_whose_sums_hold_have_no_fault(jars: Path) -> None:
    assert jar_faults(jars, SUMS) == []


def test_a_missing_jar_is_named(jars: Path) -> None:
    (jars / "spark/a.jar").unlink()
    assert jar_faults(jars, SUMS) == ["spark/a.jar is missing"]


def test_a_jar_too_much_is_named(jars: Path) -> None:
    """The class path is the whole folder, so a left-over jar would be loaded."""
    (jars / "broker/old.jar").write_bytes(b"")
    assert jar_faults(jars, SUMS) == ["broker/old.jar is not in sha256sums.txt"]


def test_another_jar_under_the_name_is_named(jars: Path) -> None:
    (jars / "broker/b.jar").write_bytes(b"bbc")
    assert jar_faults(jars, SUMS) == [
        f"broker/b.jar has SHA-256 {hashlib.sha256(b'bbc').hexdigest()}, not {SUMS['broker/b.jar']}"
    ]


def test_no_folder_is_every_jar_missing(tmp_path: Path) -> None:
    assert jar_faults(tmp_path / "none", SUMS) == ["broker/b.jar is missing", "spark/a.jar is missing"]


def test_every_pinned_dependency_has_a_sum() -> None:
    pinned = set()
    for dependency in ET.parse(IVY_FILE).getroot().iter("dependency"):
        configuration = dependency.get("conf", "spark->default").split("->")[0]
        pinned.add(f"{configuration}/{dependency.get('name')}-{dependency.get('rev')}.jar")
    assert pinned
    assert pinned <= read_sums(SUMS_FILE).keys()


@pytest.mark.java
def test_a_failed_fetch_names_what_is_missing_and_changes_nothing(jars: Path, tmp_path: Path) -> None:
    """The mirror here is an empty folder."""
    (tmp_path / "mirror").mkdir()
    mirror = tmp_path / "settings.xml"
    mirror.write_text(
        '<ivysettings><settings defaultResolver="mirror"/><resolvers><filesystem name="mirror">'
        f'<artifact pattern="{tmp_path}/mirror/[artifact].[ext]"/></filesystem></resolvers>'
        f'<caches defaultCacheDir="{tmp_path}/cache"/></ivysettings>'
    )
    with pytest.raises(JarsError, match=r"Ivy could not fetch the jars: .*UNRESOLVED"):
        fetch_jars(find_java(), jars, mirror)
    assert jar_faults(jars, SUMS) == []
