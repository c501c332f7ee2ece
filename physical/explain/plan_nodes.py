"""The names of plan JSON: each kind of node that a physical plan may hold, and its class.

The names are those of the classes. A class that gets another name keeps the one that it has here,
by an entry of its own: saved plans have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from ...planner.model.expressions import base, bound, core, literal, python_functions, windows
from ...planner.model.schemas import types
from .. import (
    aggregate,
    basic,
    distribution,
    exchange,
    joins,
    python_operators,
    python_state,
    scans,
    state,
    stateful,
    streaming_join,
    subqueries,
)

_CLASSES: Mapping[ModuleType, str] = {
    aggregate: """
        HashAggregateExec ObjectHashAggregateExec SortAggregateExec MergingSessionsExec
        WindowExec WindowGroupLimitExec
    """,
    basic: """
        StreamingRelationExec LocalTableScanExec RDDScanExec ProjectExec FilterExec
        ExpandExec GenerateExec UnionExec EventTimeWatermarkExec LocalLimitExec
        GlobalLimitExec CollectLimitExec AdaptiveSparkPlanExec CollectMetricsExec
    """,
    distribution: """
        UnspecifiedDistribution AllTuples ClusteredDistribution
        StatefulOpClusteredDistribution OrderedDistribution IdentityBroadcastMode
        HashedRelationBroadcastMode BroadcastDistribution UnknownPartitioning
        SinglePartition BroadcastPartitioning HashPartitioning RoundRobinPartitioning
        RangePartitioning PartitioningCollection
    """,
    exchange: """
        ShuffleExchangeExec BroadcastExchangeExec ReusedExchangeExec SortExec
        TakeOrderedAndProjectExec RangeExec CoalesceExec SampleExec
    """,
    joins: """
        BroadcastHashJoinExec SortMergeJoinExec ShuffledHashJoinExec
        BroadcastNestedLoopJoinExec CartesianProductExec
    """,
    python_operators: """
        EvalPythonExec MapInPythonExec FlatMapGroupsInPythonExec AggregateInPythonExec
        FlatMapCoGroupsInPythonExec PlanLaterExec UpdateEventTimeColumnExec
    """,
    python_state: "FlatMapGroupsInPandasWithStateExec TransformWithStateInPySparkExec",
    scans: "FileSourceScanExec ColumnarToRowExec",
    state: "StateStoreSchema StatefulOperatorStateInfo",
    stateful: """
        StateStoreRestoreExec StateStoreSaveExec SessionWindowStateStoreRestoreExec
        SessionWindowStateStoreSaveExec StreamingDeduplicateExec
        StreamingDeduplicateWithinWatermarkExec StreamingLocalLimitExec
        StreamingGlobalLimitExec
    """,
    streaming_join: "StreamingSymmetricHashJoinExec",
    subqueries: "SubqueryExec ReusedSubqueryExec PlannedSubquery",
    base: "Metadata",
    bound: "Shown BoundReference",
    core: """
        AttributeReference LambdaVariable Alias Cast Call CaseWhen GetStructField
        LambdaFunction AggregateExpression SortOrder
    """,
    literal: "Literal",
    python_functions: "PythonUDF",
    windows: "WindowExpression WindowFrame PreciseTimestampConversion",
    types: """
        NullType BooleanType StringType CollatedStringType BinaryType ByteType ShortType
        IntegerType LongType FloatType DoubleType DecimalType DateType TimestampType
        TimestampNTZType CalendarIntervalType DayTimeIntervalType YearMonthIntervalType
        ArrayType MapType StructField StructType
    """,
}

NODES: Mapping[str, type] = {
    name: getattr(module, name) for module, names in _CLASSES.items() for name in names.split()
}
"""By its name in JSON."""

NAMES: Mapping[type, str] = {kind: name for name, kind in NODES.items()}
