"""Plans that the embedded engine has read once, for all batches that run them again.

Sail reads the SQL of a plan's expressions in each query anew, which takes milliseconds, and every
text that it reads costs 20 to 100 KB of memory that it never gives back. A plan that comes a second
time is made a view, which holds what was read.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.connect import proto

from ..protocol import parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_REMEMBERED = 64
_OVER_ROWS = frozenset(
    {"map_partitions", "project", "filter", "to_df", "join", "set_op", "limit", "sort"}
    | {"aggregate", "hint", "repartition", "repartition_by_expression"}
)
"""What stands above numbers in a plan that is remembered. What it gives depends on nothing else
than the rows that its functions find in this process."""


class _View(NamedTuple):
    name: str
    rows: DataFrame


class RememberedPlans:
    """Plans over rows of this process, by what they say.

    Args:
        spark: the query's session.

    Attributes:
        known: whether plans say all that they depend on: expressions may name views.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._views: OrderedDict[bytes, _View | None] = OrderedDict()  # None: it came once
        self._named = 0
        self.known = True

    def remembered(self, frame: DataFrame) -> DataFrame:
        """The same rows, by the view that the engine has of such a plan, if it has come before."""
        if not self.known:
            return frame
        asked: Any = frame
        relation = asked._plan.to_proto(asked.sparkSession.client).root
        if not _is_of_rows(relation):
            return frame
        _number(relation, {})
        said = relation.SerializeToString(deterministic=True)
        if said not in self._views:
            self._views[said] = None
            self._forget_the_oldest()
            return frame
        self._views.move_to_end(said)
        view = self._views[said]
        if view is None:
            view = self._views[said] = self._view(frame)
        return view.rows

    def _view(self, frame: DataFrame) -> _View:
        name = f"stateplan_plan_{self._named}"
        self._named += 1
        columns = frame.columns  # of which two may have one name, but not in a view
        frame.toDF(*(f"c{place}" for place in range(len(columns)))).createOrReplaceTempView(name)
        return _View(name, self._spark.table(name).toDF(*columns))

    def forget(self) -> None:
        """Forget all: the session reads plans in another way from now on."""
        for view in self._views.values():
            self._drop(view)
        self._views.clear()

    def _forget_the_oldest(self) -> None:
        if len(self._views) > _REMEMBERED:
            _, view = self._views.popitem(last=False)
            self._drop(view)

    def _drop(self, view: _View | None) -> None:
        if view is not None:
            self._spark.catalog.dropTempView(view.name)


def _is_of_rows(relation: Any) -> bool:
    kind = relation.WhichOneof("rel_type")
    if kind not in _OVER_ROWS:
        return bool(kind == "range")
    node = getattr(relation, kind)
    return all(_is_of_rows(below) for below in parts(node) if isinstance(below, proto.Relation))


def _number(message: Any, numbers: dict[int, int]) -> None:
    """Number plans by where they stand: PySpark numbers them one after the other."""
    numbered = isinstance(message, proto.RelationCommon | proto.Expression.UnresolvedAttribute)
    if numbered and message.HasField("plan_id"):
        message.plan_id = numbers.setdefault(message.plan_id, len(numbers))
    for part in parts(message):
        _number(part, numbers)
