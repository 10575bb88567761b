"""Creation of all tables: plain protocol, described, once, whoever starts at the same time."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from domain.errors import IntegrityError
from domain.settings import Settings
from warehouse.create import create_missing_tables
from warehouse.layout import dataset_of, open_table, table_uri
from warehouse.schema import delta_schema
from warehouse.tables import TABLES

RACERS = 3
ROUNDS = 4


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_created_as_described(settings: Settings, name: str) -> None:
    found, table = open_table(settings, name), TABLES[name]
    metadata = found.metadata()
    assert json.loads(found.schema().to_json()) == json.loads(delta_schema(table).to_json())
    assert (metadata.name, metadata.description) == (name, table.description)
    assert metadata.partition_columns == list(table.partition_by)
    assert metadata.configuration == table.delta_properties


@pytest.mark.parametrize("name", TABLES)
def test_the_protocol_is_one_that_every_reader_opens(settings: Settings, name: str) -> None:
    """No column mapping, deletion vectors, timestamps without zone: those need a higher protocol."""
    protocol = open_table(settings, name).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    assert not protocol.reader_features
    assert not protocol.writer_features


@pytest.mark.parametrize("name", TABLES)
def test_duckdb_opens_it(settings: Settings, name: str) -> None:
    rows = dataset_of(open_table(settings, name))  # noqa: F841 - DuckDB finds it by its name
    assert duckdb.sql("SELECT * FROM rows").columns == list(TABLES[name].column_names)


def test_polars_opens_them(settings: Settings) -> None:
    import polars

    for name, table in TABLES.items():
        assert polars.scan_delta(table_uri(settings, name)).collect().columns == list(table.column_names)


def test_it_is_repeatable(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    assert create_missing_tables(settings) == list(TABLES)
    assert create_missing_tables(settings) == []
    assert {open_table(settings, name).version() for name in TABLES} == {0}


def test_only_what_is_missing_is_created(settings: Settings) -> None:
    seals = Path(table_uri(settings, "seals"))
    seals.rename(seals.with_name("elsewhere"))
    assert create_missing_tables(settings) == ["seals"]


def test_a_folder_left_by_a_creation_that_was_killed_is_no_table(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    log = Path(table_uri(settings, "seals")) / "_delta_log"
    log.mkdir(parents=True)
    (log / "_commit_0123.json.tmp").write_text("half a com")
    assert create_missing_tables(settings) == list(TABLES)


@pytest.mark.parametrize(
    ("columns", "partitions", "named"),
    [
        ('[{"name":"log","type":"integer","nullable":false,"metadata":{}}]', [], "first_offsets, registered_at, topic"),
        (None, ["topic"], "order or partitions"),
        ("long", [], "differs in log;"),
        ("nullable", [], "differs in log;"),
    ],
    ids=["missing columns", "partitioned otherwise", "another type", "nullable"],
)
def test_a_table_with_other_columns_is_refused(
    tmp_path: Path, columns: str | None, partitions: list[str], named: str
) -> None:
    """D12: columns are changed by a migration, never by whoever happens to write."""
    settings = Settings(home=tmp_path)
    fields = json.loads(delta_schema(TABLES["logs"]).to_json())["fields"]
    if columns == "long":
        fields[0]["type"] = "long"
    elif columns == "nullable":
        fields[0]["nullable"] = True
    elif columns is not None:
        fields = json.loads(columns)
    schema = type(delta_schema(TABLES["logs"])).from_json(json.dumps({"type": "struct", "fields": fields}))
    DeltaTable.create(table_uri(settings, "logs"), schema, partition_by=partitions)
    with pytest.raises(IntegrityError, match=r"table logs at .* differs in") as raised:
        create_missing_tables(settings)
    assert named in str(raised.value)
    assert DeltaTable(table_uri(settings, "logs")).version() == 0


def test_processes_that_start_at_once_create_each_table_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(RACERS), context.Queue()
    racers = [context.Process(target=_create, args=(tmp_path, barrier, results)) for _ in range(RACERS)]
    for racer in racers:
        racer.start()
    created = [results.get(timeout=60) for _ in range(RACERS * ROUNDS)]
    for racer in racers:
        racer.join(60)
    for number in range(ROUNDS):
        names = [name for home, found in created if home == number for name in found]
        assert sorted(names) == sorted(TABLES), number
        assert {open_table(Settings(home=tmp_path / str(number)), name).version() for name in TABLES} == {0}


def _create(home: Path, barrier: Any, results: Any) -> None:
    for number in range(ROUNDS):
        barrier.wait(60)
        results.put((number, create_missing_tables(Settings(home=home / str(number)))))
