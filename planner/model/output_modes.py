"""The output modes of streams."""

from __future__ import annotations

from typing import Literal, get_args

OutputMode = Literal["append", "update", "complete"]
OUTPUT_MODES: tuple[OutputMode, ...] = get_args(OutputMode)
