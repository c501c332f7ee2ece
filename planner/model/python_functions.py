"""Functions written in Python: Spark plans them without knowing what they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from .expressions import Call
from .ids import fresh_id
from .registry import FunctionSpec, Show
from .types import DataType, LongType

EvalKind = Literal["batched", "arrow", "grouped aggregate", "operator"]

PYTHON_FUNCTION = "pythonudf"


@dataclass(frozen=True, kw_only=True)
class PythonUDF(Call):
    """A call of a Python function. `name` is `pythonudf`: the function's own may be any.

    Attributes:
        function_name: the function's name in Python (`<lambda>` for a lambda).
        type_: what it was declared to return.
        kind: `batched` gets pickled rows, `arrow` Arrow batches (pandas_udf), `grouped aggregate` a
            group's rows; `operator` is the function of an operator such as mapInPandas.
        is_deterministic: whether equal arguments give equal results.
        result_id: names the call in plans.
        exact_kind: PySpark's number for the way that rows are sent; only like ones run together.
    """

    name: str = PYTHON_FUNCTION
    function_name: str
    type_: DataType
    kind: EvalKind = "operator"
    is_deterministic: bool = True
    result_id: int = field(default_factory=fresh_id)
    exact_kind: int = 0

    @cached_property
    def spec(self) -> FunctionSpec:
        return FunctionSpec(
            name=PYTHON_FUNCTION,
            kind="aggregate" if self.kind == "grouped aggregate" else "scalar",
            data_type=lambda call: self.type_,
            nullable=lambda call: True,
            text=_plan_text,
            pretty=_pretty,
            sql=_pretty,
            deterministic=self.is_deterministic,
            codegen=False,
        )

    @property
    def data_type(self) -> DataType:
        return self.type_

    @property
    def foldable(self) -> bool:
        return False


def _plan_text(call: Call, show: Show) -> str:
    assert isinstance(call, PythonUDF)
    suffix = "L" if isinstance(call.type_, LongType) else ""
    return f"{_pretty(call, show)}#{call.result_id}{suffix}"


def _pretty(call: Call, show: Show) -> str:
    assert isinstance(call, PythonUDF)
    return f"{call.function_name}({', '.join(map(show, call.arguments))})"
