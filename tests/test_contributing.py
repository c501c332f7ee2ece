"""What CONTRIBUTING.md names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = sorted(set(re.findall(r"(?:planner|rules|physical|runtime|tests)/[\w./]+\w", TEXT)))


@pytest.mark.parametrize("path", PATHS)
def test_the_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_shortest_kernel_is_there() -> None:
    assert (ROOT / "runtime" / "kernels" / "deduplicate.py").exists()
