"""From Spark Connect's relations to logical plans, each over children analyzed before it.

PySpark analyzes every DataFrame as soon as it is made and builds the next on the analyzed plan;
doing the same gives its plans, its column ids where a DataFrame is used twice, and its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ...rules.common.fresh_ids import keep_apart
from ..model.errors import AnalysisError
from ..model.expressions.core import Alias, AttributeReference, Expression, Literal, Origin, lit
from ..model.expressions.intervals import in_micros, parse_interval
from ..model.expressions.subqueries import LateralJoin, LateralSubquery
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction, UnresolvedStar
from ..model.plans.hints import STATE_NAME, UnresolvedHint
from ..model.plans.join_types import JoinType, join_type_of
from ..model.plans.logical import (
    Deduplicate,
    EventTimeWatermark,
    Filter,
    Join,
    Offset,
    Project,
    Sort,
    Union,
    limited,
)
from ..model.plans.partitions import PARTITION_HINTS
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import AnalyzedPlan, SubqueryAlias
from ..model.plans.set_operations import Except, Intersect
from ..model.schemas.open_schemas import is_placeholder
from ..model.tree import replace
from ..sql.errors import negative_delay
from . import columns, grouping, partitions, python_functions, reads, statistics
from .expressions import ExpressionReader
from .failures import unsupported
from .names import name_parts
from .places import Message, origin_of

if TYPE_CHECKING:
    from .session import PlannerSession

_UNKNOWN_NAMES = ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION")
# What the messages call it, and what the user does.
_UNSUPPORTED = {
    "tail": "tail()",
    "parse": "Reading JSON or CSV from a DataFrame",
    "common_inline_user_defined_table_function": "A Python table function",
    "common_inline_user_defined_data_source": "A Python data source",
    "unresolved_table_valued_function": "A table function",
    "as_of_join": "An as-of join",
    "nearest_by_join": "A nearest-by join",
    "zip": "zip()",
    "relation_changes": "Reading the changes of a table",
    "cached_remote_relation": "A checkpointed DataFrame",
    "ml_relation": "Machine learning",
}


class RelationReader:
    """Turns the relations of one session into logical plans."""

    def __init__(self, session: PlannerSession) -> None:
        self.session = session
        self.expressions = ExpressionReader(session)

    def read(self, message: Message, origin: Origin | None) -> LogicalPlan:
        """The relation as an operator, unresolved, over the analyzed plans of its inputs.

        Raises:
            StateplanError: stateplan cannot plan it, or an input is refused.
        """
        kind = message.WhichOneof("rel_type")
        reader = _READERS.get(kind)
        if reader is None:
            what = _UNSUPPORTED.get(kind or "", f"The relation '{kind}'")
            raise unsupported(what, origin)
        return reader(self, getattr(message, kind), origin)

    def child(self, message: Message) -> AnalyzedPlan:
        """An input, analyzed."""
        return AnalyzedPlan(child=self.session.planned(message).analyzed)

    def staged(self, plan: LogicalPlan) -> AnalyzedPlan:
        """What PySpark itself builds in steps: a step, analyzed."""
        return AnalyzedPlan(child=self.session.analyzed(plan))

    def subquery(self, message: Message) -> LogicalPlan:
        """A DataFrame that is part of another: analyzed, or not yet where it needs the outer one.

        A column that the DataFrame itself does not have is one of the query around it.
        """
        try:
            return RelationReader.child(self, message)
        except AnalysisError as error:
            if error.condition not in _UNKNOWN_NAMES:
                raise
            return _Later(self.session).read(message, origin_of(message))

    # ------------------------------------------------------------------------------ one input

    def project(self, message: Message, origin: Origin | None) -> LogicalPlan:
        child = self.child(message.input)
        entries: list[Expression] = []
        for item in message.expressions:
            if item.WhichOneof("expr_type") == "unresolved_regex":
                pattern = item.unresolved_regex.col_name
                entries.extend(columns.matching(self, child, pattern))
            else:
                entries.append(self.expressions.named(item))
        return Project(child=child, project_list=tuple(entries), origin=origin)

    def filter(self, message: Message, origin: Origin | None) -> LogicalPlan:
        child = self.child(message.input)
        condition = self.expressions.read(message.condition)
        while isinstance(condition, Alias):
            condition = condition.child  # a condition has no name: `where("qty > 1 big")`
        return Filter(child=child, condition=condition, origin=origin)

    def sort(self, message: Message, origin: Origin | None) -> LogicalPlan:
        child = self.child(message.input)
        order = tuple(self.expressions.order(item) for item in message.order)
        is_global = message.is_global or not message.HasField("is_global")
        return Sort(child=child, order=order, is_global=is_global, origin=origin)

    def limit(self, message: Message, origin: Origin | None) -> LogicalPlan:
        return limited(self.child(message.input), lit(message.limit), origin)

    def offset(self, message: Message, origin: Origin | None) -> LogicalPlan:
        child = self.child(message.input)
        return Offset(child=child, offset=lit(message.offset), origin=origin)

    def deduplicate(self, message: Message, origin: Origin | None) -> LogicalPlan:
        child = self.child(message.input)
        names = dict.fromkeys(message.column_names)
        keys: tuple[Expression, ...] = tuple(UnresolvedAttribute(parts=(n,)) for n in names)
        if message.all_columns_as_keys:
            keys = (UnresolvedStar(),)
        within = message.within_watermark
        return Deduplicate(child=child, keys=keys, within_watermark=within, origin=origin)

    def watermark(self, message: Message, origin: Origin | None) -> LogicalPlan:
        child = self.child(message.input)
        text = message.delay_threshold
        amount = parse_interval(text)
        if in_micros(amount) < 0:
            raise negative_delay(text)
        if not child.is_streaming:
            return child  # Spark drops the watermark of a table at once
        event_time = UnresolvedAttribute(parts=name_parts(message.event_time), origin=origin)
        self._require_column(event_time, child)
        return EventTimeWatermark.of(
            child,
            event_time,
            amount,
            next(self.session.watermarks),
            delay_text=text if is_placeholder(text) else None,
            origin=origin,
        )

    def _require_column(self, name: UnresolvedAttribute, child: AnalyzedPlan) -> None:
        """Check that an event time's name of several parts is not that of a field.

        Raises:
            AnalysisError: no column has it.
        """
        if len(name.parts) == 1:
            return
        found = self.session.resolved_over(child, name)
        if not isinstance(found, AttributeReference):
            error = AnalysisError.of(
                "EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN", eventExpr=".".join(name.parts)
            )
            error.subject = name.parts if found is None else ()
            raise error

    def alias(self, message: Message, origin: Origin | None) -> LogicalPlan:
        return SubqueryAlias(child=self.child(message.input), alias=message.alias, origin=origin)

    def with_relations(self, message: Message, origin: Origin | None) -> LogicalPlan:
        """References are the DataFrames of subqueries, or those that SQL text names."""
        for reference in message.references:
            self.session.references[reference.common.plan_id] = reference
        of_sql = message.root.WhichOneof("rel_type") == "sql"
        for reference in message.references:
            if of_sql and reference.WhichOneof("rel_type") == "subquery_alias":
                name = reference.subquery_alias.alias
                self.session.create_view(name, reference, replace_existing=True)
        return self.child(message.root)

    def hint(self, message: Message, origin: Origin | None) -> LogicalPlan:
        """A join's hint; any other is as Spark's unknown ones: it changes nothing."""
        child = self.child(message.input)
        if message.name.upper() == STATE_NAME:
            values = map(self.expressions.read, message.parameters)
            names = tuple((str(getattr(value, "value", "")),) for value in values)
            return UnresolvedHint(child=child, name=message.name, tables=names, origin=origin)
        if message.name.upper() not in PARTITION_HINTS:
            return UnresolvedHint(child=child, name=message.name, origin=origin)
        parameters = tuple(self._parameter(item) for item in message.parameters)
        return UnresolvedHint(child=child, name=message.name, parameters=parameters, origin=origin)

    def _parameter(self, message: Message) -> Expression:
        """A hint's parameter: a number, or a column by its name."""
        value = self.expressions.read(message)
        if isinstance(value, Literal) and isinstance(value.value, str):
            return UnresolvedAttribute(parts=name_parts(value.value))
        return value

    # ----------------------------------------------------------------------------- two inputs

    def set_operation(self, message: Message, origin: Origin | None) -> LogicalPlan:
        if message.set_op_type != proto.SetOperation.SET_OP_TYPE_UNION:
            intersect = proto.SetOperation.SET_OP_TYPE_INTERSECT
            kind = Intersect if message.set_op_type == intersect else Except
            return kind(
                left=self.child(message.left_input),
                right=self.child(message.right_input),
                is_all=message.is_all,
                origin=origin,
            )
        left, right = self.child(message.left_input), self.child(message.right_input)
        inputs: tuple[LogicalPlan, ...] = (left, right)
        if not message.by_name:
            inputs = (*_branches(left), *_branches(right))
        return Union(
            inputs=inputs,
            by_name=message.by_name,
            allow_missing=message.allow_missing_columns,
            origin=origin,
        )

    def join(self, message: Message, origin: Origin | None) -> LogicalPlan:
        left, right = self.child(message.left), self.child(message.right)
        condition = self._condition(message)
        if condition is not None:
            right, condition = _apart(left, right, condition)
        return Join(
            left=left,
            right=right,
            join_type=_join_type(message),
            condition=condition,
            using=tuple(message.using_columns),
            origin=origin,
        )

    def lateral_join(self, message: Message, origin: Origin | None) -> LogicalPlan:
        condition = self._condition(message)
        return LateralJoin(
            child=self.child(message.left),
            query=LateralSubquery(plan=self.subquery(message.right), origin=origin),
            join_type=_join_type(message),
            condition=condition,
            origin=origin,
        )

    def _condition(self, message: Message) -> Expression | None:
        if not message.HasField("join_condition"):
            return None
        return self.expressions.read(message.join_condition)


class _Later(RelationReader):
    """Reads a DataFrame down to what can be analyzed by itself."""

    def child(self, message: Message) -> LogicalPlan:  # type: ignore[override]
        return self.subquery(message)


def _join_type(message: Message) -> JoinType:
    name = proto.Join.JoinType.Name(message.join_type).removeprefix("JOIN_TYPE_")
    return join_type_of(name) or "Inner"


def _apart(
    left: AnalyzedPlan, right: AnalyzedPlan, condition: Expression
) -> tuple[AnalyzedPlan, Expression]:
    """A join of a DataFrame with itself: `df.a == df.a` means one column of each side."""
    if left.output_ids.isdisjoint(right.output_ids):
        return right, condition
    apart = keep_apart(left, right)
    assert isinstance(apart, AnalyzedPlan)
    own = {a.expr_id: b for a, b in zip(right.output, apart.output, strict=True)}

    def across(node: Expression) -> Expression:
        match node:
            case UnresolvedFunction(
                name="=" | "<=>",
                arguments=(AttributeReference() as one, AttributeReference() as other),
            ) if one.expr_id == other.expr_id and one.expr_id in own:
                return replace(node, arguments=(one, own[one.expr_id]))
        return node

    return apart, condition.transform_up(across)


def _branches(plan: AnalyzedPlan) -> tuple[LogicalPlan, ...]:
    """A union's branches: PySpark puts unions of unions together at once."""
    inner = plan.child
    if isinstance(inner, Union) and not inner.by_name:
        return tuple(AnalyzedPlan(child=branch) for branch in inner.inputs)
    return (plan,)


Reader = Callable[[RelationReader, Message, Origin | None], LogicalPlan]
_READERS: dict[str | None, Reader] = {
    "project": RelationReader.project,
    "filter": RelationReader.filter,
    "sort": RelationReader.sort,
    "limit": RelationReader.limit,
    "offset": RelationReader.offset,
    "transpose": statistics.transpose,
    "deduplicate": RelationReader.deduplicate,
    "with_watermark": RelationReader.watermark,
    "subquery_alias": RelationReader.alias,
    "with_relations": RelationReader.with_relations,
    "hint": RelationReader.hint,
    "repartition": partitions.repartition,
    "repartition_by_expression": partitions.repartition_by,
    "sample": partitions.sample,
    "set_op": RelationReader.set_operation,
    "approx_quantile": statistics.number,
    "corr": statistics.number,
    "cov": statistics.number,
    "describe": statistics.describe,
    "summary": statistics.summary,
    "crosstab": grouping.crosstab,
    "join": RelationReader.join,
    "lateral_join": RelationReader.lateral_join,
    "aggregate": grouping.aggregate,
    "map_partitions": python_functions.map_partitions,
    "group_map": python_functions.group_map,
    "co_group_map": python_functions.co_group_map,
    "apply_in_pandas_with_state": python_functions.apply_in_pandas_with_state,
    "with_columns": columns.with_columns,
    "with_columns_renamed": columns.with_columns_renamed,
    "drop": columns.drop,
    "to_df": columns.to_df,
    "to_schema": columns.to_schema,
    "collect_metrics": partitions.collect_metrics,
    "fill_na": columns.fill_na,
    "drop_na": columns.drop_na,
    "replace": columns.replace_values,
    "unpivot": columns.unpivot,
    "read": reads.read,
    "sql": reads.sql,
    "local_relation": reads.local_relation,
    "range": reads.numbers,
}
