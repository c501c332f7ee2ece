"""The runtime plan: what we do in one micro-batch, typed, before any engine does it.

No PySpark and no Arrow in here: `explain("runtime")` needs neither.
"""

from .batches import RuntimePlans
from .facts import SPARK, BatchFacts, EngineFacts, Reader
from .make import RuntimePlan, runtime_plan
from .nodes import RuntimeNode
from .printing import plan_text, runtime_json, runtime_text

__all__ = [
    "SPARK",
    "BatchFacts",
    "EngineFacts",
    "Reader",
    "RuntimeNode",
    "RuntimePlan",
    "RuntimePlans",
    "plan_text",
    "runtime_json",
    "runtime_plan",
    "runtime_text",
]
