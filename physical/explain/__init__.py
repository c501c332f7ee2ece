"""The texts of a plan: simple, extended, formatted, json, stateful."""

from __future__ import annotations

from .modes import MODES, Explainable, explain

__all__ = ["MODES", "Explainable", "explain"]
