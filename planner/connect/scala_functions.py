"""Calls of functions in Scala or Java, as Scala's client sends them and as models are taken."""

from __future__ import annotations

from ..model.expressions.core import Expression, Origin
from ..model.expressions.scala_functions import ScalaUDF
from ..model.expressions.unresolved import UnresolvedFunction
from ..model.schemas.types import BYTE, DOUBLE, INT, STRING, ArrayType, StructField, StructType
from .places import Message
from .types import from_proto, read_schema

# A vector of MLlib as Spark keeps it.
VECTOR = StructType(
    (
        StructField("type", BYTE, False),
        StructField("size", INT, True),
        StructField("indices", ArrayType(INT, False), True),
        StructField("values", ArrayType(DOUBLE, False), True),
    )
)
# Spark's are functions without a name that only MLlib knows.
VECTOR_FUNCTIONS = {"vector_to_array": ArrayType(DOUBLE, False), "array_to_vector": VECTOR}


def vector_call(name: str, arguments: tuple[Expression, ...], origin: Origin | None) -> Expression:
    """`vector_to_array(column)` and `array_to_vector(column)`."""
    return ScalaUDF(type_=VECTOR_FUNCTIONS[name], arguments=arguments[:1], origin=origin)


def scala_call(
    message: Message, arguments: tuple[Expression, ...], origin: Origin | None
) -> Expression:
    """A call whose code came with it: only its type matters to a plan.

    A type as text is a struct's, of the columns that the code uses where it is a placeholder.
    """
    sent = message.scalar_scala_udf
    written = sent.outputType.WhichOneof("kind") == "unparsed"
    text = sent.outputType.unparsed.data_type_string
    return ScalaUDF(
        function_name=message.function_name,
        type_=read_schema(text) if written else from_proto(sent.outputType),
        may_be_null=sent.nullable,
        is_deterministic=message.deterministic,
        arguments=arguments,
        origin=origin,
    )


def unknown_call(function: UnresolvedFunction) -> Expression:
    """A call of a function that only a cluster's catalog knows, taken to give a text."""
    return ScalaUDF(
        function_name=function.name,
        type_=STRING,
        arguments=function.arguments,
        origin=function.origin,
    )
