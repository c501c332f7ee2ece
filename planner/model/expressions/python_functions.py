"""Functions in Python, Scala or Java: Spark plans them without knowing what they do."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Literal

from ..frozen import dataclass
from ..ids import fresh_id
from ..registry import FunctionSpec, Show
from ..schemas.types import DataType, LongType, NullType, NumericType, StringType
from ..text.text import plan_text, pretty
from .bound import Written
from .core import Alias, AttributeReference, Call, Cast, Expression, GetStructField
from .core import Literal as LiteralValue

EvalKind = Literal["batched", "arrow", "grouped aggregate", "operator"]

PYTHON_FUNCTION = "pythonudf"


@dataclass(frozen=True, kw_only=True)
class UserFunction(Call):
    """A call of a function of which only the declaration is known.

    Attributes:
        function_name: the function's own name, which may be any.
        type_: what it was declared to return.
        is_deterministic: whether equal arguments give equal results.
    """

    function_name: str
    type_: DataType
    is_deterministic: bool = True

    @property
    def data_type(self) -> DataType:
        return self.type_

    @property
    def foldable(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class PythonUDF(UserFunction):
    """A call of a Python function; a lambda's `function_name` is `<lambda>`.

    Attributes:
        kind: `batched` gets pickled rows, `arrow` Arrow batches (pandas_udf), `grouped aggregate` a
            group's rows; `operator` is the function of an operator such as mapInPandas.
        result_id: names the call in plans.
        names: what the arguments are given by, "" for one by position; empty if all are so.
        exact_kind: PySpark's number for the way that rows are sent; only like ones run together.
    """

    name: str = PYTHON_FUNCTION
    kind: EvalKind = "operator"
    result_id: int = field(default_factory=fresh_id)
    exact_kind: int = 0
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[AttributeReference, ...]:
        """What the function of an operator gets."""
        return tuple(a for a in self.arguments if isinstance(a, AttributeReference))

    @cached_property
    def spec(self) -> FunctionSpec:
        return FunctionSpec(
            name=PYTHON_FUNCTION,
            options_hold="names",
            kind="aggregate" if self.kind == "grouped aggregate" else "scalar",
            data_type=lambda call: self.type_,
            nullable=lambda call: True,
            text=_plan_text,
            pretty=_pretty,
            sql=_pretty,
            deterministic=self.is_deterministic,
            codegen=False,
        )


def _plan_text(call: Call, show: Show) -> str:
    assert isinstance(call, PythonUDF)
    suffix = "L" if isinstance(call.type_, LongType) else ""
    return f"{_called(call, show)}#{call.result_id}{suffix}"


def _pretty(call: Call, show: Show) -> str:
    """The call in names: its arguments are written as in plans, without ids."""
    assert isinstance(call, PythonUDF)
    return _called(call, lambda argument: plan_text(_without_ids(argument)))


def _called(call: PythonUDF, show: Show) -> str:
    shown = [show(argument) for argument in call.arguments]
    if call.names:
        pairs = zip(call.names, shown, strict=True)
        shown = [f"{name} => {text}" if name else text for name, text in pairs]
    return f"{call.function_name}({', '.join(shown)})"


@dataclass(frozen=True, kw_only=True)
class _Shown(Written):
    """A part of an argument that is written as in names."""

    part: Expression

    @property
    def data_type(self) -> DataType:
        return self.part.data_type

    @property
    def text(self) -> str:
        """The form in names."""
        return pretty(self.part)


def _without_ids(argument: Expression) -> Expression:
    """Spark's `usePrettyExpression`: what it replaces is written as in names, the rest as in plans.

    `CAST(a AS INT)`, as names say elsewhere, thus is `cast(a as int)` here.
    """
    if _is_replaced(argument):
        return _Shown(part=argument)
    return argument.map_children(_without_ids)


def _is_replaced(part: Expression) -> bool:
    match part:
        case AttributeReference() | GetStructField() | Alias() | PythonUDF():
            return True
        case LiteralValue(type_=StringType() | NumericType() | NullType()):
            return True
        case Cast(implicit=implicit):
            return implicit
        case Call(spec=spec):
            return spec.replacement is not None and spec.text is None
        case _:
            return False


SCALA_FUNCTION = "scalaudf"


@dataclass(frozen=True, kw_only=True)
class ScalaUDF(UserFunction):
    """A call of one in Scala or Java; `function_name` is empty where it was given none.

    Attributes:
        may_be_null: whether what it returns may be null.
    """

    name: str = SCALA_FUNCTION
    function_name: str = ""
    may_be_null: bool = True

    @cached_property
    def spec(self) -> FunctionSpec:
        return FunctionSpec(
            name=SCALA_FUNCTION,
            options_hold="names",
            data_type=lambda call: self.type_,
            nullable=lambda call: self.may_be_null,
            text=_scala_text,
            pretty=_scala_text,
            sql=_scala_text,
            deterministic=self.is_deterministic,
        )


def _scala_text(call: Call, show: Show) -> str:
    assert isinstance(call, ScalaUDF)
    return f"{call.function_name or 'UDF'}({', '.join(map(show, call.arguments))})"
