"""What a check can say of a changed query."""

from __future__ import annotations

from typing import Literal, get_args

Verdict = Literal["same", "stale", "differs", "refused"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The worst last."""
