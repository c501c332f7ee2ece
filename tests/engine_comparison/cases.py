"""The expressions that are compared: seeds with other types, constants and columns put in."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal
from pathlib import Path
from typing import cast

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    LambdaFunction,
    LambdaVariable,
    Literal,
)
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.functions.shapes import original
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.query_plan import QueryPlan
from stateplan.planner.model.schemas.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from stateplan.planner.model.text.spark_sql import spark_sql
from stateplan.planner.model.tree import replace
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze
from stateplan.rules.optimization import optimize
from stateplan.runtime.engines.agreement import children_of
from stateplan.runtime.engines.signatures import Signature, signatures

from .columns import DECIMALS, NESTED, NUMBERS, TYPES, column_of, conf_for, type_of
from .values import arrow_type

HERE = Path(__file__).resolve().parent
SEEDS = (HERE.parent / "function_expressions.txt", HERE / "seeds.txt")

# The names that the seeds use for columns, and their types.
SLOTS = {
    "user": "string", "ts": "timestamp", "amount": "double", "qty": "int", "l": "bigint",
    "f": "float", "dec": "decimal(10,2)", "b": "boolean", "d": "date", "arr": "array<int>",
    "m": "map<string,int>", "st": "struct<a:int,b:string>", "s": "smallint", "bin": "binary",
    "items": "array<struct<a:int,b:string>>", "sarr": "array<string>", "ntz": "timestamp_ntz",
    "aarr": "array<array<int>>",
}  # fmt: skip
_WORD = re.compile(r"'(?:[^'\\]|\\.)*'|\b[A-Za-z_]\w*\b(?!\s*\()")
_CONSTANTS: dict[str, tuple[object, ...]] = {
    "tinyint": (0, 1, -1, 3),
    "smallint": (0, 1, -1, 3),
    "int": (0, 1, -1, 2, 3, 7, 100),
    "bigint": (0, 1, -1, 2, 7, 1000),
    "double": (0.0, 1.0, -1.5, 0.1),
    "float": (0.0, 1.0, -1.5),
    "string": ("", "a", "ab", " ", "😀", "é", ","),
    "boolean": (True, False),
    "date": (0, 19_782, -1),
    "timestamp": (0, 1_709_210_096_123_456, -1),
    "timestamp_ntz": (0, 1_709_210_096_123_456),
}
MOST_FORMS = 6
"""How many expressions of one signature are compared."""


@dataclass
class Case:
    """One signature and the expressions that stand for it."""

    signature: Signature
    forms: dict[str, Expression] = field(default_factory=dict)

    def add(self, expression: Expression) -> None:
        if len(self.forms) < MOST_FORMS:
            self.forms.setdefault(sql_of(expression), expression)


def sql_of(expression: Expression) -> str:
    """The project's own SQL; columns by their names."""
    return spark_sql(expression, lambda column: f"`{column.name}`")


class Cases:
    """All cases of one ANSI mode."""

    def __init__(self, *, ansi: bool) -> None:
        self.conf = conf_for(ansi)
        self.found: dict[Signature, Case] = {}

    # ----------------------------------------------------------------------------- from text

    def add_text(self, text: str, types: dict[str, str]) -> bool:
        """Analyze a seed over columns of these types; take every part of what it becomes."""
        schema = StructType(tuple(StructField(n, type_of(t)) for n, t in types.items()))
        source = Source(name="events", schema=schema)
        try:
            with id_scope(itertools.count()):
                query = parse(f"SELECT {text} FROM STREAM events", self.conf)
                plan = optimize(analyze(query, {"events": source}, self.conf), self.conf)
        except StateplanError:
            return False
        for expression in expressions_of(plan):
            self.add_parts(expression)
        return True

    def add_parts(self, expression: Expression) -> None:
        """Every part of a resolved expression, each over columns of its own."""
        aggregate = isinstance(expression, Call) and expression.spec.kind != "scalar"
        if not aggregate and not isinstance(expression, Alias | AggregateExpression):
            self.add_node(expression)
        for child in children_of(expression):
            self.add_parts(child)

    def add_node(self, node: Expression) -> None:
        alone = over_columns(node)
        if alone is None or _is_huge(alone):
            return
        try:
            wanted = signatures(alone)
            sql_of(alone)
        except (TypeError, KeyError, IndexError):
            return
        for signature in wanted:
            self.found.setdefault(signature, Case(signature)).add(alone)

    # -------------------------------------------------------------------- from other calls

    def add_variants(self) -> None:
        """Calls with columns for constants, constants for columns, and other constants."""
        for case in list(self.found.values()):
            for node in list(case.forms.values())[:2]:
                if isinstance(node, Call) and len(node.arguments) <= 4:
                    self._vary(node)

    def _vary(self, node: Call) -> None:
        for position, argument in enumerate(node.arguments):
            for other in _alternatives(argument, position):
                arguments = list(node.arguments)
                arguments[position] = other
                self.add_call(node, arguments)

    def add_call(self, node: Call, arguments: Iterable[Expression]) -> None:
        """The same call over other arguments, checked anew."""
        spec = node.spec
        given = tuple(arguments)
        if spec.check is None or spec.kind != "scalar":
            call: Expression = rebuilt(node, given)
        else:
            try:
                call = resolve(node.name, given, self.conf)
            except (StateplanError, TypeError, ValueError, AttributeError, IndexError, KeyError):
                return
        if isinstance(call, Call) and call.spec.replacement is not None:
            return
        self.add_parts(call)


_SIZES = {
    "lpad": (1,),
    "rpad": (1,),
    "repeat": (1,),
    "space": (0,),
    "array_repeat": (1,),
    "array_insert": (1,),
    "format_number": (1,),
    "sequence": (0, 1, 2),
}
"""Which arguments of a function decide how long its result is."""
_COUNTED = (IntegralType, DateType, TimestampType, TimestampNTZType)


def _is_huge(node: Expression) -> bool:
    """Whether a value of the data would be taken for a size: no engine holds such results."""
    if not isinstance(node, Call):
        return False
    called = original(node) if node.name == "static_invoke" else node
    return any(
        isinstance(argument, AttributeReference) and isinstance(argument.type_, _COUNTED)
        for position, argument in enumerate(called.arguments)
        if position in _SIZES.get(called.name, ())
    )


def rebuilt(node: Call, arguments: tuple[Expression, ...]) -> Call:
    return cast(Call, node.with_new_children(arguments))


def expressions_of(plan: QueryPlan) -> Iterator[Expression]:
    """All expressions in a logical plan."""
    for node in plan.walk():
        yield from node.expressions


def over_columns(node: Expression) -> Expression | None:
    """The node itself with plain columns for whatever its arguments are; None without a column."""
    counts: dict[DataType, int] = {}
    children: list[Expression] = []
    for child in node.children:
        if isinstance(child, Literal | LambdaFunction):
            children.append(_over_base(child))
            continue
        data_type = child.data_type
        try:
            arrow_type(data_type)
        except TypeError:
            # No file holds such a column: what makes it is part of the case.
            inner = over_columns(child)
            if inner is None:
                return None
            children.append(inner)
            continue
        counts[data_type] = counts.get(data_type, 0) + 1
        children.append(column_of(data_type, min(counts[data_type], 4)))
    if isinstance(node, AttributeReference | LambdaVariable | Literal | LambdaFunction):
        return node if isinstance(node, Literal) else None
    return node.with_new_children(children)


def _over_base(expression: Expression) -> Expression:
    """Columns inside a lambda's body become columns of the data."""

    def swap(node: Expression) -> Expression:
        if isinstance(node, AttributeReference) and node.expr_id < 1_000_000:
            return column_of(node.data_type, 1)
        return node

    return expression.transform_up(swap)


def _decimal_constants(kind: DecimalType) -> tuple[object, ...]:
    """Short constants and one of all digits."""
    top = 10**kind.precision - 1
    raw = (0, 1, 3, -7, 10**kind.scale, 15 * 10**kind.scale // 10, top)
    wide = Context(prec=60)
    return tuple(Decimal(value).scaleb(-kind.scale, wide) for value in raw if abs(value) <= top)


def _alternatives(argument: Expression, position: int) -> list[Expression]:
    kind = argument.data_type.simple
    if isinstance(argument.data_type, DecimalType):
        _CONSTANTS.setdefault(kind, _decimal_constants(argument.data_type))
    if isinstance(argument, Literal):
        found: list[Expression] = []
        if kind in _CONSTANTS:
            found.append(column_of(argument.data_type, position + 1))
        for value in _CONSTANTS.get(kind, ()):
            found.append(Literal(value=value, type_=argument.data_type))
        return found
    if isinstance(argument, AttributeReference) and kind in _CONSTANTS:
        values = _CONSTANTS[kind]
        return [Literal(value=value, type_=argument.data_type) for value in values]
    return []


# ------------------------------------------------------------------------------------- seeds


def seeds() -> list[str]:
    lines = [line for path in SEEDS for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def slots(text: str) -> list[str]:
    """The columns that a seed names, each once."""
    found = (m.group() for m in _WORD.finditer(text))
    return list(dict.fromkeys(word for word in found if word in SLOTS))


def add_seed(cases: Cases, text: str) -> None:
    """A seed over its own types, over others for each column, and over pairs of the same."""
    names = slots(text)
    own = {name: SLOTS[name] for name in names}
    cases.add_text(text, own)
    for name in names:
        taken = [other for other in TYPES if cases.add_text(text, {**own, name: other})]
        if any(other.startswith("decimal") for other in taken):
            for other in DECIMALS:
                cases.add_text(text, {**own, name: other})
        for _, group in itertools.groupby(NESTED, lambda nested: nested.split("<")[0]):
            # A function that takes no array takes none of any element.
            all(cases.add_text(text, {**own, name: other}) for other in group)
    if len(names) == 2:
        for one in (*TYPES, *NESTED):
            cases.add_text(text, dict.fromkeys(names, one))
            cases.add_text(text, {names[0]: one, names[1]: inner_type(one)})
        if not any(sign.isalpha() for sign in text.replace(names[0], "").replace(names[1], "")):
            for one, other in itertools.product((*NUMBERS, *DECIMALS), (*NUMBERS, *DECIMALS)):
                cases.add_text(text, {names[0]: one, names[1]: other})


def inner_type(text: str) -> str:
    """What an array holds, a map is asked for, or a struct begins with."""
    match type_of(text):
        case ArrayType(element_type=inner) | MapType(key_type=inner):
            return inner.simple
        case StructType(fields=fields):
            return fields[0].data_type.simple
        case other:
            return other.simple


def all_cases() -> dict[bool, dict[Signature, Case]]:
    """Every signature per ANSI mode; those without ANSI are the same expressions as with it."""
    cases = Cases(ansi=True)
    for text in seeds():
        add_seed(cases, text)
    _add_casts(cases)
    _add_fields(cases)
    cases.add_variants()
    lenient: dict[Signature, Case] = {}
    for case in cases.found.values():
        for form in map(without_ansi, case.forms.values()):
            for signature in signatures(form):
                lenient.setdefault(signature, Case(signature)).add(form)
    return {True: cases.found, False: lenient}


def without_ansi(expression: Expression) -> Expression:
    """The expression as a session without ANSI has it."""

    def relax(node: Expression) -> Expression:
        if isinstance(node, Call) and node.ansi:
            return replace(node, ansi=False)
        if isinstance(node, Cast) and node.mode == "ANSI":
            return replace(node, mode="LEGACY")
        return node

    return expression.transform_up(relax)


def _add_fields(cases: Cases) -> None:
    """A field of each type, of a struct and of structs in an array."""
    for kind in (*TYPES, *DECIMALS, *NESTED):
        cases.add_text("c.f", {"c": f"struct<f:{kind}>"})
        cases.add_text("c.f", {"c": f"array<struct<f:{kind}>>"})


def _add_casts(cases: Cases) -> None:
    every = (*TYPES, *DECIMALS)
    pairs = list(itertools.product(every, every))
    pairs += [(one, "string") for one in NESTED]
    pairs += [
        ("array<int>", "array<string>"),
        ("array<int>", "array<bigint>"),
        ("array<string>", "array<int>"),
        ("map<string,int>", "map<string,bigint>"),
        ("struct<a:int,b:string>", "struct<a:bigint,b:string>"),
        ("struct<a:int,b:string>", "struct<c:int,d:string>"),
    ]
    for one, other in pairs:
        cases.add_text(f"CAST(c AS {other})", {"c": one})
        cases.add_text(f"try_cast(c AS {other})", {"c": one})
