"""All aggregate functions, registered: one module per family."""

from __future__ import annotations

from ..registry import register
from . import (
    aggregates_basic,
    aggregates_collections,
    aggregates_moments,
    aggregates_percentiles,
    aggregates_pivot,
    aggregates_sketches,
    aggregates_sums,
)

register(
    *aggregates_basic.SPECS,
    *aggregates_sums.SPECS,
    *aggregates_collections.SPECS,
    *aggregates_moments.SPECS,
    *aggregates_pivot.SPECS,
    *aggregates_percentiles.SPECS,
    *aggregates_sketches.SPECS,
)
