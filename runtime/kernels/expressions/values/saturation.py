"""Floats as whole numbers, as Java casts them."""

from __future__ import annotations

from typing import Any

import numpy as np


def saturated(data: Any, kind: Any) -> Any:
    """Floats as whole numbers as Java casts them: NaN is 0, what is beyond is the extreme."""
    limits = np.iinfo(kind)
    wide = data.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        inside = (wide > float(limits.min)) & (wide < float(limits.max))
        if inside.all():
            return wide.astype(kind)
        found = np.where(inside, wide, 0).astype(kind)
    found = np.where(wide >= float(limits.max), limits.max, found)
    return np.where(wide <= float(limits.min), limits.min, found).astype(kind)
