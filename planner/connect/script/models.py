"""MLlib in a user's file: models are not read or fitted, what they add to a DataFrame is planned.

A transformer adds the columns that its parameters name. Of a model that was loaded nobody knows the
stages: it adds the columns that the code uses. Both stand in plans as the function in Scala that
Spark's own are.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from pyspark.sql.connect import proto
from pyspark.sql.connect import types as connect_types
from pyspark.sql.connect.column import Column
from pyspark.sql.connect.expressions import Expression
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DoubleType,
    IntegerType,
    StringType,
    StructType,
)

from .later import change_when_imported
from .rules import Rules
from .stand_ins import StandIn

_VECTOR = (
    StructType()
    .add("type", ByteType(), False)
    .add("size", IntegerType())
    .add("indices", ArrayType(IntegerType(), False))
    .add("values", ArrayType(DoubleType(), False))
)
_TEXTS = ArrayType(StringType())
# The parameters that name a column which is added, and its type where that is always the same.
_ADDED: dict[str, DataType | None] = {
    "outputCol": None,
    "outputCols": None,
    "rawPredictionCol": _VECTOR,
    "probabilityCol": _VECTOR,
    "predictionCol": DoubleType(),
    "topicDistributionCol": _VECTOR,
}
# Whose `outputCol` is no vector.
_OUTPUTS: dict[str, DataType] = {
    **dict.fromkeys(("Tokenizer", "RegexTokenizer", "StopWordsRemover", "NGram"), _TEXTS),
    **dict.fromkeys(("StringIndexer", "StringIndexerModel", "Bucketizer"), DoubleType()),
    **dict.fromkeys(("Binarizer", "QuantileDiscretizer", "Imputer"), DoubleType()),
    "IndexToString": StringType(),
}
_READ = ("featuresCol", "inputCol", "inputCols", "itemsCol", "userCol", "itemCol")


class _Call(Expression):
    """A call of a function in Scala without a name."""

    def __init__(self, arguments: Sequence[Expression], type_: DataType | str) -> None:
        super().__init__()
        self._arguments = arguments
        self._type = type_

    def to_plan(self, session: Any) -> proto.Expression:
        """The message of the call."""
        plan = self._create_proto_expression()
        call = plan.common_inline_user_defined_function
        call.deterministic = True
        call.scalar_scala_udf.nullable = True
        if isinstance(self._type, str):
            call.scalar_scala_udf.outputType.unparsed.data_type_string = self._type
        else:
            sent = connect_types.pyspark_types_to_proto_types(self._type)
            call.scalar_scala_udf.outputType.CopyFrom(sent)
        call.arguments.extend(argument.to_plan(session) for argument in self._arguments)
        return plan

    def __repr__(self) -> str:
        return f"UDF({', '.join(map(repr, self._arguments))})"


def _call(frame: Any, inputs: Sequence[str], type_: DataType | str) -> Column:
    return Column(_Call([frame[name]._expr for name in inputs], type_))


def unknown_column(placeholder: str) -> Column:
    """A struct that a function gives which is not here, of the fields that the code uses."""
    return Column(_Call([], placeholder))


def _parameters(stage: Any) -> dict[str, Any]:
    """The parameters that are set, or have a default, by name."""
    return {one.name: stage.getOrDefault(one) for one in stage.params if stage.isDefined(one)}


def transformed(stage: Any, frame: Any) -> Any:
    """A DataFrame with the columns that a transformer adds to it, whose parameters are known."""
    set_ = _parameters(stage)
    inputs: list[str] = []
    for name in _READ:
        value = set_.get(name, ())
        inputs += [value] if isinstance(value, str) else list(value)
    for name, known in _ADDED.items():
        value = set_.get(name)
        columns = [value] if isinstance(value, str) else list(value or ())
        type_ = known or _OUTPUTS.get(type(stage).__name__.removesuffix("Model"), _VECTOR)
        for column in filter(None, columns):
            frame = frame.withColumn(column, _call(frame, inputs, type_))
    return frame


def _base() -> Any:
    return importlib.import_module("pyspark.ml.base").Transformer


def model_of(path: str, estimator: Any = None) -> Any:
    """A model that is not here: loaded from `path`, or what an estimator would give.

    Everything about it but `transform` is a stand-in.
    """

    class Model(_base()):  # type: ignore[misc]
        """Adds the columns that its estimator names, or that the code uses."""

        def _transform(self, frame: Any) -> Any:
            if estimator is not None:
                return transformed(estimator, frame)
            output = _call(frame, frame.columns, f"?{path}?")
            return frame.select("*", output.alias("__model")).select(
                *(frame[name] for name in frame.columns), "__model.*"
            )

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return StandIn(f"{path}.{name}")

    return Model()


def _wrapper(module: Any) -> None:
    module.JavaTransformer._transform = transformed
    module.JavaEstimator._fit = lambda self, frame: model_of(f"{type(self).__name__}.fit", self)


def _util(module: Any) -> None:
    class Reader:
        """`PipelineModel.read()`."""

        def __init__(self, kind: type) -> None:
            self.kind = kind

        def session(self, spark: Any) -> Reader:
            """There is one session."""
            return self

        def load(self, path: Any) -> Any:
            """A model that adds the columns which the code uses."""
            return model_of(f"{self.kind.__name__}.load({path})")

    module.MLReadable.load = classmethod(lambda cls, path: Reader(cls).load(path))
    for kind in (module.MLReadable, module.JavaMLReadable, module.DefaultParamsReadable):
        kind.read = classmethod(Reader)


def _pipeline(module: Any) -> None:
    """Of a pipeline with a stage that is not here the columns are those that the code uses."""
    fit = module.Pipeline._fit

    def fitted(self: Any, frame: Any) -> Any:
        unknown = any(isinstance(stage, StandIn) for stage in self.getStages())
        return model_of("Pipeline.fit") if unknown else fit(self, frame)

    module.Pipeline._fit = fitted


def _param(module: Any) -> None:
    """A stand-in is a parameter of any type."""
    converters = module.TypeConverters

    def passing(convert: Any) -> Any:
        return staticmethod(lambda value: value if isinstance(value, StandIn) else convert(value))

    for name in dir(converters):
        if name.startswith("to"):
            setattr(converters, name, passing(getattr(converters, name)))


def plan_models() -> None:
    """From now on models are planned. It happens in the process of `stateplan explain` alone."""
    changes = {"wrapper": _wrapper, "util": _util, "param": _param, "pipeline": _pipeline}
    Rules.transformed = lambda path, frame: model_of(path).transform(frame)
    change_when_imported({f"pyspark.ml.{name}": change for name, change in changes.items()})
