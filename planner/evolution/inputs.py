"""What a command or a call names as a query: all that explains, and a plan that was explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from ...physical.explain.plan_json import from_json
from ..described_sources import catalog_tables, load_catalog
from ..description import load_description, read_file, read_text
from ..model.errors import DescriptionError
from ..model.frozen import dataclass
from ..model.settings.conf import Conf
from ..query import Query
from .check import Asked


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read.

    Attributes:
        catalog: a YAML file with tables for SQL files and scripts.
        conf: settings over the file's own.
        output_mode: instead of the file's.
        name: which of a script's queries.
    """

    catalog: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    output_mode: str | None = None
    name: str | None = None


def load_asked(path: str | Path, reading: Reading | None = None) -> Asked:
    """The query in a file: a description, SQL, a PySpark script or notebook, or a plan as JSON.

    Raises:
        StateplanError: the file is missing, broken, or starts no such query.
    """
    reading = reading or Reading()
    match Path(path).suffix.lower():
        case ".py" | ".ipynb":
            return _of_script(path, reading)
        case ".sql":
            return Query.of_sql_file(
                path,
                catalog=reading.catalog,
                conf=Conf(dict(reading.conf)),
                output_mode=reading.output_mode,
            )
        case ".json":
            content = read_file(Path(path))
            if isinstance(content, dict) and "plan" in content:
                return from_json(content)
    description = load_description(path)
    return Query.of(
        description,
        conf=Conf({**description.conf, **reading.conf}),
        output_mode=reading.output_mode,
        folder=Path(path).resolve().parent,
    )


def _of_script(path: str | Path, reading: Reading) -> Asked:
    from ..connect import needed

    with needed("A PySpark script"):
        from ..connect.script.explain import started_queries
        from ..connect.script.program import Program
    read_text(Path(path))  # refused before a process starts for it
    tables = catalog_tables(load_catalog(reading.catalog))
    found = started_queries(Program(path=str(path)), catalog=tables, conf=Conf(dict(reading.conf)))
    wanted = [execution for name, execution in found if reading.name in (None, name)]
    if len(wanted) != 1:
        raise _which(path, [name for name, _ in found], reading.name)
    return wanted[0]


def _which(path: str | Path, names: Sequence[str | None], wanted: str | None) -> DescriptionError:
    shown = ", ".join(name or "one without a name" for name in names) or "none"
    if wanted is None:
        return DescriptionError.of(
            "STATEPLAN_WHICH_QUERY", path=path, count=len(names), found=shown
        )
    return DescriptionError.of("STATEPLAN_NO_SUCH_QUERY", path=path, wanted=wanted, found=shown)
