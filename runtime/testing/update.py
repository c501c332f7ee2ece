"""Expectations written into scenario files, whose other lines stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ...planner.model.errors import DescriptionError


def write_expectation(path: Path, expect: Mapping[str, Any]) -> None:
    """Put `expect` into a file, in the place of the one that it has, or at its end.

    Raises:
        DescriptionError: the file is YAML whose keys do not stand on lines of their own.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        whole = {**json.loads(text), "expect": expect}
        path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    lines = text.splitlines()
    first, end = _place(lines, text, path)
    new = [*lines[:first], *expectation_lines(expect), *lines[end:]]
    path.write_text("\n".join(new) + "\n", encoding="utf-8")


def _place(lines: list[str], text: str, path: Path) -> tuple[int, int]:
    """The lines of the file's `expect`: the first, and the one behind the last."""
    root = yaml.compose(text)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise DescriptionError(
            "STATEPLAN_NOT_UPDATED",
            f"Expectations cannot be written into '{path}': its keys are in braces.",
            hint="Write 'sources:', 'sql:' and 'steps:' on lines of their own, without braces.",
        )
    starts = [(key.value, key.start_mark.line) for key, _ in root.value]
    first = next((line for name, line in starts if name == "expect"), None)
    if first is None:
        return len(lines), len(lines)
    end = min((line for _, line in starts if line > first), default=len(lines))
    while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1  # comments are of what follows them
    return first, end


def expectation_lines(expect: Mapping[str, Any]) -> Iterator[str]:
    """The YAML of an `expect`: a row and an operator's figures on a line each."""
    yield "expect:"
    if "columns" in expect:
        yield f"  columns: {_json(expect['columns'])}"
    if "batches" in expect:
        yield "  batches:" if expect["batches"] else "  batches: []"
    for batch in expect.get("batches") or []:
        lead = "    - "
        for key, value in batch.items():
            if isinstance(value, list) and value:
                yield f"{lead}{key}:"
                yield from (f"        - {_json(item)}" for item in value)
            else:
                yield f"{lead}{key}: {_json(value)}"
            lead = "      "
    if "error" in expect:
        yield f"  error: {_json(expect['error'])}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
