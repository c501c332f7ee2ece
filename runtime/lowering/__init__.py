"""Lowering: an executed physical plan becomes a PySpark DataFrame around stateful kernels."""

from .context import (
    BatchResults,
    EventTimeStats,
    LoweredBatch,
    LoweringContext,
    OperatorResult,
    default_tasks,
    session_settings,
)
from .lower import lower

__all__ = [
    "BatchResults",
    "EventTimeStats",
    "LoweredBatch",
    "LoweringContext",
    "OperatorResult",
    "default_tasks",
    "lower",
    "session_settings",
]
