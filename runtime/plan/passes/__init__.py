"""The passes over a runtime plan: one idea a module, in `order.PASSES` with the reasons."""

from .order import PASSES, Pass

__all__ = ["PASSES", "Pass"]
