"""Functions that need OVER: of tables. Streams refuse them, in words that show them."""

from __future__ import annotations

from ..expressions.core import NULL_LITERAL, Call, Expression, Literal, lit
from ..expressions.windows import opposite
from ..registry import FunctionSpec, Show, register
from ..schemas.types import DOUBLE, INT, NullType
from ..settings.conf import Conf
from ..text.quoting import in_quotes, to_sql_id
from ..text.text import pretty
from ..tree import replace
from .coercion import cast_to
from .mismatch import non_foldable, require_count, type_mismatch, unexpected_type
from .shapes import always_null, each, first_type, never_null, taking, template


def _check_offset(call: Call, conf: Conf) -> Expression:
    """`lag(x)` is `lag(x, 1, NULL)`."""
    require_count(call, 1, 2, 3)
    given, defaults = call.arguments, (lit(1), NULL_LITERAL)
    value, offset, default = given + defaults[len(given) - 1 :]
    if not offset.foldable:
        shown = f"(- {pretty(offset)})" if call.name == "lag" else pretty(offset)
        full = replace(call, arguments=(value, offset, default))
        raise type_mismatch(
            "NON_FOLDABLE_INPUT",
            full,
            f"{call.name}({', '.join(map(pretty, full.arguments))})",
            inputName=to_sql_id("offset"),
            inputType='"INT"',
            inputExpr=in_quotes(shown),
        )
    if value.resolved and not isinstance(default.data_type, NullType):
        default = cast_to(default, value.data_type, conf)
    return replace(call, arguments=(value, offset, default))


def _check_tiles(call: Call, conf: Conf) -> Expression:
    """`ntile(4)`: a constant above 0."""
    if not call.arguments:
        return replace(call, arguments=(lit(1),))
    require_count(call, 0, 1)
    tiles = call.arguments[0]
    if not tiles.foldable:
        raise non_foldable(call, "buckets", tiles.data_type.sql, tiles)
    if tiles.data_type != INT:
        raise unexpected_type(call, 0, '"INT"')
    _check_positive(call, tiles, "buckets", "(0, 2147483647]", "")
    return call


def _check_nth(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) > 1:
        _check_positive(call, call.arguments[1], "offset", "(0, 9223372036854775807]", "L")
    return call


def _check_positive(call: Call, number: Expression, name: str, allowed: str, suffix: str) -> None:
    value = number.value if isinstance(number, Literal) else None
    if isinstance(value, int) and value <= 0:
        raise type_mismatch(
            "VALUE_OUT_OF_RANGE",
            call,
            exprName=name,
            valueRange=allowed,
            currentValue=f"{value}{suffix}",
        )


def _offset_text(call: Call, show: Show) -> str:
    """Plans show how far `lag` looks ahead: the offset with a minus."""
    value, offset, default = call.arguments
    ahead = opposite(offset) if call.name == "lag" else offset
    return f"{call.name}({show(value)}, {show(ahead)}, {show(default)})"


def _ignores_nulls(call: Call) -> bool:
    """Said by a clause, or as DataFrames do by a third argument."""
    given = call.arguments[2] if len(call.arguments) > 2 else None
    is_argument = isinstance(given, Literal) and given.value is True
    return is_argument or bool(call.options and call.options[0])


def _nth_text(call: Call, show: Show) -> str:
    shown = ", ".join(map(show, call.arguments[:2]))
    return f"nth_value({shown}, {str(_ignores_nulls(call)).lower()})"


def _nth_name(call: Call, show: Show) -> str:
    ignore = " ignore nulls" if _ignores_nulls(call) else ""
    return f"nth_value({', '.join(map(show, call.arguments[:2]))}){ignore}"


_NAME = template("{name}()")
# A rank's arguments are the columns of ORDER BY, which its name does not repeat.
_RANK_NAME = template("{upper}()")

register(
    *each(
        *each(
            FunctionSpec(name="rank", data_type=lambda call: INT, limits_groups=True),
            FunctionSpec(name="dense_rank", data_type=lambda call: INT, limits_groups=True),
            FunctionSpec(name="percent_rank", data_type=lambda call: DOUBLE),
            rank_like=True,
            pretty=_RANK_NAME,
            sql=_NAME,
        ),
        FunctionSpec(
            name="row_number", data_type=lambda call: INT, check=taking(""), limits_groups=True
        ),
        FunctionSpec(name="cume_dist", data_type=lambda call: DOUBLE, text=_NAME, sql=_NAME),
        FunctionSpec(name="ntile", data_type=lambda call: INT, check=_check_tiles),
        kind="window",
        nullable=never_null,
    ),
    *each(
        *(
            FunctionSpec(
                name=name,
                data_type=first_type,
                check=_check_offset,
                text=_offset_text,
                constant_text="data",
            )
            for name in ("lag", "lead")
        ),
        FunctionSpec(
            name="nth_value",
            data_type=first_type,
            check=_check_nth,
            text=_nth_text,
            pretty=_nth_name,
        ),
        kind="window",
        nullable=always_null,
        null_treatment=True,
    ),
)
