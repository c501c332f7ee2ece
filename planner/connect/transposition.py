"""`transpose`: rows become columns, which takes the rows themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.errors import AnalysisError
from ..model.expressions.core import AttributeReference, Expression, Origin
from ..model.expressions.unresolved import UnresolvedAttribute
from ..model.functions.coercion import tightest_common_type
from ..model.functions.hashes import scala_type
from ..model.plans.query_plan import LogicalPlan
from ..model.schemas.types import AtomicType
from ..model.text.quoting import in_quotes
from .failures import not_started, unsupported
from .places import Message

if TYPE_CHECKING:
    from .relations import RelationReader


def transpose(reader: RelationReader, message: Message, origin: Origin | None) -> LogicalPlan:
    """`transpose`, which is checked as Spark checks it and then needs the rows.

    Raises:
        StateplanError: the index is no column of single values, the others have no common type;
            else a stream has not been started, and a table is not read.
    """
    child = reader.child(message.input)
    index: Expression = child.output[0]
    if message.index_columns:
        index = reader.expressions.read(message.index_columns[0])
        if isinstance(index, UnresolvedAttribute):
            found = reader.session.resolved_over(child, index)
            if found is None:
                raise reader.session.unknown(index.parts, child, None)
            index = found
    if not isinstance(index, AttributeReference):
        raise _bad_index("Index column must be an atomic attribute")
    if not isinstance(index.type_, AtomicType):
        raise _bad_index(
            f"Index column must be of atomic type, but found: {scala_type(index.type_)}"
        )
    rest = [column for column in child.output if column.expr_id != index.expr_id]
    common = rest[0].type_ if rest else None
    for column in rest[1:]:
        assert common is not None
        wider = tightest_common_type(common, column.type_, reader.session.conf)
        if wider is None:
            raise _no_common_type(common.sql, column.type_.sql)
        common = wider
    if child.is_streaming:
        raise not_started(origin)
    raise unsupported("transpose() of a table", origin)


def _bad_index(reason: str) -> AnalysisError:
    condition = "TRANSPOSE_INVALID_INDEX_COLUMN"
    return AnalysisError.of(condition, reason=reason)


def _no_common_type(left: str, right: str) -> AnalysisError:
    condition = "TRANSPOSE_NO_LEAST_COMMON_TYPE"
    return AnalysisError.of(condition, dt1=in_quotes(left), dt2=in_quotes(right))
