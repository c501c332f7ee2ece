"""Literals as Arrow scalars."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .program import Step
from .vectors import plain_type


def constant(step: Step) -> Any:
    """The value of a literal step."""
    return pa.scalar(step.options[0], plain_type(step.kind))
