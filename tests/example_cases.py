"""The examples of Spark's guide and of Nexmark, and where their plans are kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
PLANS = HERE / "examples"
GUIDE = sorted((EXAMPLES / "guide").glob("*.py"))
NEXMARK = sorted((EXAMPLES / "nexmark").glob("q*.sql"))
CATALOG = EXAMPLES / "nexmark" / "catalog.yaml"
SEPARATOR = "\n\n"
JOBS = EXAMPLES / "jobs"
PIPELINE = (
    {"spark.sql.shuffle.partitions": "8", "spark.sql.session.timeZone": "UTC"},
    sorted((JOBS / "pipeline" / "transformations").iterdir()),
)
SETTINGS = {"spark.sql.shuffle.partitions": "5", "spark.sql.session.timeZone": "UTC"}


def mode_of(query: Path) -> str:
    """The output mode of a query of Nexmark: its first line says `(update mode)` or nothing."""
    found = re.match(r"-- \((\w+) mode\)", query.read_text(encoding="utf-8"))
    return found[1] if found else "append"


def nexmark_cases() -> dict[str, dict[str, Any]]:
    """Nexmark's queries as descriptions, by name."""
    catalog = yaml.safe_load(CATALOG.read_text(encoding="utf-8"))
    tables = {n: {"schema": s} if isinstance(s, str) else s for n, s in catalog.items()}
    return {
        query.stem: {
            "sources": tables,
            "sql": query.read_text(encoding="utf-8"),
            "output_mode": mode_of(query),
            "conf": SETTINGS,
        }
        for query in NEXMARK
    }


def shown_plans(plans: Mapping[str, str]) -> str:
    """Plans by name as they are kept in a file."""
    return SEPARATOR.join(f"-- {name}\n{plan}" for name, plan in sorted(plans.items())) + "\n"
