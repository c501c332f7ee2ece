"""Fields, items and entries of values that are made on the spot; `withField` and `dropFields`."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import Call, CaseWhen, Expression, GetStructField, Literal
from ....planner.model.expressions.equality import same
from ....planner.model.functions.build import call, is_call, null
from ....planner.model.functions.struct_updates import UpdateFields, combined, made
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import StructType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ..support import settings


def simplify_extraction(expression: Expression) -> Expression:
    """`named_struct('a', x, 'b', y).a` -> `x`, `array(x, y)[0]` -> `x`, `map('a', x)['a']` -> `x`.

    An index outside of the array stays where it is an error. So does `element_at`.
    """
    if isinstance(expression, GetStructField):
        return _field(expression)
    assert isinstance(expression, Call)
    base, key = expression.arguments[:2]
    if is_call(base, "array") and isinstance(key, Literal) and isinstance(key.value, int):
        items = base.children
        if 0 <= key.value < len(items):
            return items[key.value]
        if is_call(expression, "get_array_item") and not expression.ansi:
            return null(expression.data_type)
    elif is_call(base, "map"):
        return _entry(base.children, key)
    return expression


def _field(field: GetStructField) -> Expression:
    base = field.child
    if is_call(base, "named_struct"):
        return base.children[2 * field.ordinal + 1]
    if isinstance(base, UpdateFields) and not isinstance(base.struct, UpdateFields):
        return _updated_field(field, base)
    if isinstance(base, Call) and base.name in ("from_json", "from_csv"):
        return _parsed_field(field, base)
    if is_call(base, "array"):
        items = [
            GetStructField(child=item, ordinal=field.ordinal, name=field.name)
            for item in base.children
        ]
        return call("array", *items)
    return field


def _updated_field(field: GetStructField, update: UpdateFields) -> Expression:
    """`update_fields(s, WithField(a, x)).a` -> `if (isnull(s)) null else x`; others are s's own."""
    struct = update.struct
    _, value = update.fields[field.ordinal]
    if (isinstance(value, GetStructField) and same(value.child, struct)) or not struct.nullable:
        return value
    return call("if", call("isnull", struct), null(value.data_type), value)


def _parsed_field(field: GetStructField, parsed: Call) -> Expression:
    """`from_json(text, 'a INT, b INT').b` parses b alone, and so does from_csv."""
    schema, options, *_ = parsed.options
    if options or not isinstance(schema, StructType) or len(schema.fields) < 2:
        return field
    chosen, is_csv = settings.current(), parsed.name == "from_csv"
    if not (chosen.csv_fields if is_csv else chosen.json_fields):
        return field
    wanted = StructType((schema.fields[field.ordinal],))
    # The whole schema says where a field stands in a line.
    changed = (wanted, options, schema) if is_csv else (wanted, options)
    return replace(field, ordinal=0, child=replace(parsed, options=changed))


def _entry(entries: tuple[Expression, ...], key: Expression) -> Expression:
    conditions = tuple(call("=", key, candidate) for candidate in entries[::2])
    return CaseWhen(conditions=conditions, values=entries[1::2], otherwise=None)


def combine_updates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Changes of changes become one; of those that put in one field the last one stays.

    `update_fields(update_fields(s, p), q)` -> `update_fields(s, p, q)`. Idempotent.
    """
    return _with_updates(plan, lambda update: combined(update, conf))


def replace_updates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`update_fields(s, WithField(a, x))` -> `if (isnull(s)) null else named_struct(a, x, ...)`.

    Idempotent: afterwards there are no such calls.
    """
    return _with_updates(plan, made)


def _with_updates(plan: LogicalPlan, function: Callable[[UpdateFields], Expression]) -> LogicalPlan:
    def visit(node: Expression) -> Expression:
        return function(node) if isinstance(node, UpdateFields) else node

    return plan.transform_up(lambda node: node.transform_expressions(visit))
