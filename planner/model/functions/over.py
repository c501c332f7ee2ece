"""Functions that need OVER. Streams refuse them, in words that show them."""

from __future__ import annotations

from ..expressions import Call
from ..registry import FunctionSpec, Show, register
from ..types import DOUBLE, INT, DataType
from .shapes import never_null


def _int(call: Call) -> DataType:
    return INT


def _double(call: Call) -> DataType:
    return DOUBLE


def _first(call: Call) -> DataType:
    return call.arguments[0].data_type


def _rank_name(call: Call, show: Show) -> str:
    """A rank's arguments are the columns of ORDER BY, which its name does not repeat."""
    return f"{call.name.upper()}()"


def _plain_name(call: Call, show: Show) -> str:
    return f"{call.name}()"


register(
    FunctionSpec(name="row_number", kind="window", data_type=_int, nullable=never_null),
    FunctionSpec(
        name="rank", kind="window", data_type=_int, nullable=never_null, pretty=_rank_name
    ),
    FunctionSpec(
        name="dense_rank", kind="window", data_type=_int, nullable=never_null, pretty=_rank_name
    ),
    FunctionSpec(
        name="percent_rank", kind="window", data_type=_double, nullable=never_null,
        pretty=_rank_name,
    ),
    FunctionSpec(
        name="cume_dist", kind="window", data_type=_double, nullable=never_null, text=_plain_name
    ),
    FunctionSpec(name="ntile", kind="window", data_type=_int, nullable=never_null),
    FunctionSpec(name="lag", kind="window", data_type=_first, nullable=lambda call: True),
    FunctionSpec(name="lead", kind="window", data_type=_first, nullable=lambda call: True),
)  # fmt: skip
