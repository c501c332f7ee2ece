"""What an expression is to the agreement table: a name and the kinds of its arguments.

The table (agreement.json) says per signature whether the embedded engine computes what Spark does.
A signature generalises over what makes no difference and over nothing else:

- Types stand as their kind: `int`, `string`, ... as Spark writes them; decimals as `decimal18` (at
  most 18 digits, a long in Spark) or `decimal38`; nested types by their parts.
- A struct of several kinds of fields has a signature per kind, and so has a function that takes any
  number of arguments, each for itself (`coalesce`, `hash`, `named_struct`). All have to agree.
- A constant argument is marked `=`: `substring(string, =int, =int)`. Where its value decides what
  is computed, the value stands there: `date_trunc(='MONTH', timestamp)`. A format that times are
  written in has a signature per part, a regular expression one per feature that it uses.
- Structs that are compared and whose fields have different names are said so: `of other names`.
- A result whose type the arguments' kinds do not decide is written behind: `-> decimal38`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from ...physical.subqueries import PlannedSubquery
from ...planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
)
from ...planner.model.expressions.windows import PreciseTimestampConversion
from ...planner.model.functions.build import is_call, is_comparison
from ...planner.model.registry import find
from ...planner.model.schemas.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructType,
)
from ...planner.model.text.spark_sql import cast_function


@dataclass(frozen=True, order=True)
class Signature:
    """A row of the table: what is computed, over which kinds of arguments."""

    name: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


def kinds(data_type: DataType) -> tuple[str, ...]:
    """The kinds of a type: one, or for structs one per kind of their fields."""
    match data_type:
        case DecimalType(precision=precision):
            return ("decimal18" if precision <= 18 else "decimal38",)
        case ArrayType(element_type=element):
            return tuple(f"array<{kind}>" for kind in kinds(element))
        case MapType(key_type=key, value_type=value):
            return tuple(f"map<{k}, {v}>" for k, v in product(kinds(key), kinds(value)))
        case StructType(fields=fields):
            inner = {kind for field in fields for kind in kinds(field.data_type)}
            return tuple(f"struct<{kind}>" for kind in sorted(inner)) or ("struct<>",)
        case _:
            return (data_type.simple,)


def signatures(expression: Expression) -> tuple[Signature, ...]:
    """The signatures of an expression itself, its children aside; empty for a plain column."""
    match expression:
        case AttributeReference() | Alias() | LambdaVariable() | LambdaFunction():
            return ()
        case Literal():
            return tuple(
                Signature("literal", _constant_kind(expression, k)) for k in _kinds(expression)
            )
        case Call():
            return _of_call(expression)
        case AggregateExpression(function=function, distinct=distinct, filter=condition):
            return tuple(
                Signature(found.name, found.arguments + suffix)
                for found in _of_call(function)
                for suffix in _suffixes(distinct, condition is not None)
            )
        case Cast(child=child, type_=target):
            name = cast_function(expression).lower()
            return tuple(
                Signature(name, f"{one} -> {other}")
                for one, other in product(_tokens(name, 0, child), kinds(target))
            )
        case CaseWhen(values=values, otherwise=otherwise):
            branches = (*values, *(() if otherwise is None else (otherwise,)))
            tokens = {t for branch in branches for t in _tokens("case", 0, branch)}
            return tuple(Signature("case", token) for token in sorted(tokens))
        case GetStructField(child=child):
            name = "field of array" if isinstance(child.data_type, ArrayType) else "field"
            return tuple(Signature(name, kind) for kind in kinds(expression.field.data_type))
        case PreciseTimestampConversion(from_type=one, to_type=other):
            return (Signature("precisetimestampconversion", f"{one.simple} -> {other.simple}"),)
        case PlannedSubquery():
            return ()  # its plan is looked at by itself; what it gives is a row of ours
        case _:
            return (Signature(type(expression).__name__.lower(), "?"),)


def _of_call(call: Call) -> tuple[Signature, ...]:
    tokens = [_tokens(call.name, i, argument) for i, argument in enumerate(call.arguments)]
    if call.name == "named_struct":
        tokens = tokens[1::2]
    elif call.name == "if":
        tokens = tokens[1:]
    if call.spec.treats_alike:
        each = sorted({token for one in tokens for token in one})
        choices: Iterable[tuple[str, ...]] = ((token,) for token in each) if each else ((),)
    else:
        choices = product(*tokens)
    name = str(call.options[0]) if call.spec.options_hold == "method" else call.name
    options = _options(call) + (" of other names" if has_unlike_names(call) else "")
    results = _results(call)
    return tuple(
        Signature(name, ", ".join(choice) + options + result)
        for choice in choices
        for result in results
    )


def has_unlike_names(expression: Expression) -> bool:
    """Whether values are compared whose structs have fields of different names."""
    if not (is_comparison(expression) or is_call(expression, "in")):
        return False
    first, *others = (list(_field_names(child.data_type)) for child in expression.children)
    return any(other != first for other in others)


def _field_names(data_type: DataType) -> Iterator[str]:
    if isinstance(data_type, StructType):
        yield from (field.name for field in data_type.fields)
    for part in data_type.parts:
        yield from _field_names(part)


def _options(call: Call) -> str:
    """The options that decide what is computed."""
    options = call.options
    match call.spec.options_hold:
        case "names" | "type":
            return ""
        case "method":
            options = options[3:]
        case "type and values":
            options = tuple(o for o in options[1:] if o and not isinstance(o, DataType))
    return "".join(f"; {getattr(option, 'simple', option)}" for option in options)


def _results(call: Call) -> tuple[str, ...]:
    """What is written of the result's type where the arguments' kinds do not decide it."""
    data_type = call.data_type
    if call.spec.options_hold in ("type", "type and values"):
        return tuple(f" -> {kind}" for kind in kinds(data_type))
    if isinstance(data_type, DecimalType):
        # At 38 digits Spark may have cut the scale: another computation than below.
        full = data_type.precision == DecimalType.MAX_PRECISION
        return (" -> decimal of 38 digits",) if full else (f" -> {kinds(data_type)[0]}",)
    return ("",)


def _suffixes(distinct: bool, filtered: bool) -> tuple[str, ...]:
    return tuple(
        text for text, wanted in ((" distinct", distinct), (" filter", filtered)) if wanted
    ) or ("",)


def _kinds(expression: Expression) -> tuple[str, ...]:
    return kinds(expression.data_type)


def _tokens(name: str, position: int, argument: Expression) -> tuple[str, ...]:
    """The forms in which an argument stands in signatures; all have to agree."""
    if isinstance(argument, LambdaFunction):
        return tuple(f"lambda {kind}" for kind in kinds(argument.data_type))
    if not isinstance(argument, Literal):
        return kinds(argument.data_type)
    return _by_value(name, position, argument) or tuple(
        _constant_kind(argument, kind) for kind in kinds(argument.data_type)
    )


def _constant_kind(literal: Literal, kind: str) -> str:
    return f"=null {kind}" if literal.value is None else f"={kind}"


def _by_value(name: str, position: int, literal: Literal) -> tuple[str, ...]:
    """A constant as the table writes it where its value matters, else nothing."""
    value, spec = literal.value, find(name)
    if isinstance(value, str) and isinstance(literal.data_type, StringType):
        # CASE is no function: what it gives is data.
        match "data" if name == "case" else "read" if spec is None else spec.constant_text:
            case "regex" if position == 1:
                return tuple(f"=regex {feature}" for feature in pattern_features(value))
            case "like" if position > 0:
                return ("=like escaped",) if "\\" in value else ("=like",)
            case "time format" if position > 0:
                return tuple(f"=format {run}" for run in format_runs(value))
            case "data":
                return ()
        if name == "regexp_replace" and not re.search(r"[$\\]", value):
            return ()
        return (f"={value!r}",)
    if spec is not None and spec.divides and position == 1 and value == 0:
        return ("=0",)
    return (f"={value!r}",) if spec is not None and spec.constant_number else ()


def format_runs(text: str) -> tuple[str, ...]:
    """The different parts of a date and time format: runs of one letter, quoted text, signs."""
    parts = {m.group() for m in re.finditer(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']|'", text)}
    quoted = {part for part in parts if part.startswith("'")}
    return tuple(sorted(parts - quoted)) + (("'quoted'",) if quoted else ())


_ESCAPES = (
    ("escaped class", r"\\[dDwWsS]"),
    ("word border", r"\\[bB]"),
    ("escaped sign", r"\\[^A-Za-z0-9]"),
    ("other escape", r"\\(?![dDwWsSbB])[A-Za-z0-9]"),
)
_FEATURES = (
    ("look around or flags", r"\(\?(?!:)"),
    ("possessive", r"[+*?}]\+"),
    ("lazy", r"[+*?}]\?"),
    ("set of sets", r"\[[^\]]*(\[|&&)"),
    ("set", r"\["),
    ("group", r"\("),
    ("any sign", r"\."),
    ("start", r"\^"),
    ("end", r"\$"),
    ("repeated", r"[+*?{]"),
    ("either", r"\|"),
    ("beyond ASCII", r"[^\x00-\x7f]"),
)


def pattern_features(pattern: str) -> tuple[str, ...]:
    """What a regular expression makes use of, each by its name; `plain` where nothing."""
    escapes = [name for name, feature in _ESCAPES if re.search(feature, pattern)]
    bare = re.sub(r"\\.", "", pattern, flags=re.DOTALL)
    features = [name for name, feature in _FEATURES if re.search(feature, bare)]
    return (*escapes, *features) or ("plain" if pattern else "empty",)


def option_signature(format: str, name: str, value: str) -> Signature:
    """A reader's option as the table has it; names and flags count without case."""
    flag = value.lower() if value.lower() in ("true", "false") else value
    return Signature(f"{format} option", f"{name.lower()}={flag!r}")
