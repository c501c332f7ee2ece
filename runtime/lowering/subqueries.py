"""Lowering of subqueries in expressions: each is a view of one row, which SQL asks for its value.

Spark runs it with the batch, once, and says itself if it has several rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...physical.plan import SparkPlan
from ...physical.subqueries import PlannedSubquery
from .batch import Batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def make_views(
    plan: SparkPlan, batch: Batch, lowered: Callable[[SparkPlan, Batch], DataFrame]
) -> None:
    """Make the views of all subqueries in a plan, those within others first.

    Args:
        plan: the plan; the views are on the batch's session, which is the query's own.
        batch: the batch.
        lowered: gives the DataFrame of a subquery's plan.
    """
    made: set[str] = set()
    for node in plan.walk():
        for expression in node.expressions:
            for subquery in expression.collect(PlannedSubquery):
                if subquery.view not in made:
                    made.add(subquery.view)
                    below = subquery.computed.child
                    make_views(below, batch, lowered)
                    lowered(below, batch).createOrReplaceTempView(subquery.view)
