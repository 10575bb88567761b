"""Unused files go, and no file that a reader opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from domain.errors import IntegrityError
from domain.settings import Settings
from tests.support.kept_world import kept_world, vacuum_at_once
from warehouse.layout import open_table, table_uri
from warehouse.publications import latest_publication
from warehouse.vacuum import published_versions, vacuum

NAME = "final_clicks_minute"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """All published minutes are deleted in the newest version, which no publication names."""
    settings = kept_world(tmp_path).settings
    vacuum_at_once(settings, NAME)
    open_table(settings, NAME).delete()
    return settings


def published_rows(settings: Settings) -> int:
    version = published_versions(latest_publication(settings))[NAME]
    return DeltaTable(table_uri(settings, NAME), version=version).to_pyarrow_table().num_rows


def test_a_publication_stays_readable(settings: Settings) -> None:
    """F7, D13."""
    assert vacuum(settings, NAME) == 0
    assert published_rows(settings) == 6


def test_a_file_in_use_is_not_deleted_even_if_delta_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D13: what a vacuum would delete is compared with what readers open, before anything goes."""
    blind = DeltaTable.vacuum

    def forgetful(self: DeltaTable, *args: object, keep_versions: object, **options: object) -> list[str]:
        return blind(self, *args, **options)  # type: ignore[arg-type] # what it is given, but one

    monkeypatch.setattr(DeltaTable, "vacuum", forgetful)
    with pytest.raises(IntegrityError, match="a vacuum of final_clicks_minute would delete 2 files that readers open"):
        vacuum(settings, NAME)
    assert published_rows(settings) == 6


def test_files_that_were_left_behind_go(settings: Settings) -> None:
    stray = Path(table_uri(settings, NAME)) / "part-00000-left-behind.snappy.parquet"
    stray.write_bytes(b"half a file")
    assert vacuum(settings, NAME, is_dry_run=True) == 1
    assert stray.exists()
    assert vacuum(settings, NAME) == 1
    assert not stray.exists()


def test_replaced_files_stay_for_as_long_as_is_declared(tmp_path: Path) -> None:
    settings = kept_world(tmp_path).settings
    for name in ("raw_clicks", "live_clicks_minute"):
        open_table(settings, name).delete()
        assert vacuum(settings, name) == 0


def test_nothing_is_pinned_before_the_first_publication() -> None:
    assert published_versions(None) == {}
