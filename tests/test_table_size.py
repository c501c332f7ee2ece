"""The size of a table's files, by which joins are chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

import stateplan
from stateplan.planner.described_sources import files_size
from stateplan.planner.model.plans.statistics import default_size
from stateplan.planner.model.schemas.types import STRING, ArrayType, CollatedStringType

JOIN = "SELECT e.user, u.v FROM STREAM events e JOIN users u ON e.user = u.user"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """12 bytes in two files, and more that do not count."""
    for name, size in {"a.json": 7, "k=1/b.json": 5, "_log/c": 100, "k=1/.b.json.crc": 9}.items():
        path = tmp_path / "table" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    (tmp_path / "table" / "gone.json").symlink_to(tmp_path / "nowhere")
    return tmp_path / "table"


def test_visible_files_count(table: Path) -> None:
    assert files_size(str(table)) == 12
    assert files_size(table.as_uri()) == 12
    assert files_size(f"{table}/*.json") == 7
    assert files_size(f"{table}/a.json") == 7
    assert files_size(f"{table}/none") == files_size("s3://bucket/table") == files_size(None) == 0


@pytest.mark.parametrize(
    ("given", "threshold", "join"),
    [
        ({}, "12b", "BroadcastHashJoin"),
        ({}, "11b", "SortMergeJoin"),
        ({"size": "1 GB"}, "10MB", "SortMergeJoin"),
        ({"size": "9 MB"}, "10MB", "BroadcastHashJoin"),
    ],
)
def test_joins_are_chosen_by_it(
    table: Path, given: dict[str, str], threshold: str, join: str
) -> None:
    users = {"schema": "user STRING, v INT", "static": True, "path": str(table), **given}
    query = stateplan.sql(
        JOIN,
        sources={"events": "user STRING", "users": users},
        conf={"spark.sql.autoBroadcastJoinThreshold": threshold},
    )
    assert join in query.explain()


def test_a_catalog_may_say_it(tmp_path: Path) -> None:
    from stateplan.planner.described_sources import catalog_tables, load_catalog

    path = tmp_path / "catalog.yaml"
    path.write_text('users: {schema: "user STRING", size: 3 GiB}\n')
    assert catalog_tables(load_catalog(path))["users"].size_in_bytes == 3 << 30


def test_a_collated_string_counts_as_any_string() -> None:
    assert default_size(CollatedStringType("UNICODE_CI")) == default_size(STRING) == 20
    assert default_size(ArrayType(CollatedStringType("UNICODE_CI"))) == 20
