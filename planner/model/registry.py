"""The function registry: what each function or operator name means.

One `FunctionSpec` per canonical name, made in `functions/`, one module per family. The front ends
give names and arguments; analysis asks `FunctionSpec.resolve`; the printers ask for the texts; the
strategies ask for an aggregate's buffers; lowering asks for its partial, merge and final forms.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from .frozen import dataclass
from .schemas.types import ArrayType, DataType
from .tree import replace

if TYPE_CHECKING:
    from .expressions.core import Call, Expression
    from .schemas.types import DataType
    from .settings.conf import Conf


class NotFolded(Exception):
    """The value is not known here, or computing it fails, as Spark's would at run time."""


Kind = Literal["scalar", "aggregate", "generator", "window"]
Show = Callable[["Expression"], str]


@dataclass(frozen=True)
class Buffer:
    """One column of an aggregate's buffer, named as Spark names it in the state schema.

    Attributes:
        empty: what it holds over no rows, as a literal's plain value.
    """

    name: str
    data_type: DataType
    nullable: bool = True
    empty: object = None


@dataclass(frozen=True)
class Merge:
    """How some buffer columns of two partial results become one.

    Attributes:
        operation: a name of the runtime's merge kernels: `sum`, `min`, `max`, `first`, `moments`,
            `concat`, ... The kernel works on whole columns of pairs (earlier, later).
        buffers: the positions of the buffer columns that it reads and writes.
        constants: what it needs besides, plain values.
    """

    operation: str
    buffers: tuple[int, ...]
    constants: tuple[object, ...] = ()


@dataclass(frozen=True)
class Finish:
    """A kernel that makes one column of all buffers, where no plain expression can.

    Attributes:
        kernel: its name (`runtime/kernels/aggregates/merge.py: finish_column`).
        constants: what it needs besides the buffers, plain values.
    """

    kernel: str
    constants: tuple[object, ...]


@dataclass(frozen=True)
class Start:
    """A kernel that makes the only buffer of a batch's values, where no plain expression can.

    Attributes:
        kernel: its name (`runtime/kernels/aggregates/merge.py: start_column`).
        constants: what it needs besides the values, plain values.
        element: the type of the values, which come in one array per key.
    """

    kernel: str
    constants: tuple[object, ...]
    element: DataType


Over = Callable[["Call"], "Expression"]
"""An aggregate function over the rows that the FILTER lets through."""


def _first_column(columns: Sequence[Expression]) -> Expression:
    return columns[0]


@dataclass(frozen=True)
class AggregateForms:
    """How an aggregate is computed in steps. Expressions are built only where they are asked for.

    Attributes:
        buffers: the buffer columns that we keep; none if it cannot be merged here.
        merges: how they merge.
        partial: the buffers over many rows; see `functions/aggregate_forms.py`.
        row: the buffers over one row, a scalar expression each.
        final: the result over what the kernel emits, by default its first column; see
            `final_over`.
        plan: the buffers as they stand in Spark's own plan and state schema where they differ from
            what we keep.
        finish: what turns the buffers into one column of the result's type first; the kernel emits
            that column instead of the buffers.
        start: what makes the only buffer; `partial` and `row` then give arrays of values.
    """

    buffers: tuple[Buffer, ...] = ()
    merges: tuple[Merge, ...] = ()
    partial: Callable[[Over], tuple[Expression, ...]] = lambda over: ()
    row: Callable[[], tuple[Expression, ...]] = tuple
    final: Callable[[Sequence[Expression]], Expression] = _first_column
    plan: tuple[Buffer, ...] | None = None
    finish: Finish | None = None
    start: Start | None = None

    @property
    def travelling(self) -> tuple[Buffer, ...]:
        """What `partial` and `row` give: the buffers, or what the only one starts from."""
        if self.start is None:
            return self.buffers
        (buffer,) = self.buffers
        return (replace(buffer, data_type=ArrayType(self.start.element, False), empty=()),)

    @property
    def mergeable(self) -> bool:
        """Whether we can compute it in steps; if not, only `plan` says something."""
        return bool(self.buffers)

    def final_over(self, columns: Sequence[Expression]) -> Expression:
        """The result over the columns that the kernel emits: the buffers, or what `finish` makes.

        Overflow and ANSI rules are included.
        """
        return self.final(columns)

    @property
    def plan_buffers(self) -> tuple[Buffer, ...]:
        """The buffer columns as Spark's plan and state schema name them."""
        return self.buffers if self.plan is None else self.plan


Parameters = list[tuple["DataType", bool]]
"""The types of a lambda's parameters, and whether each may be null."""


@dataclass(frozen=True)
class HigherOrder:
    """Which arguments of a function are lambdas, and what these get.

    Attributes:
        counts: how many arguments it takes, lambdas included.
        of_maps: the arguments that the lambdas walk through are maps, not arrays.
        walked: how many these are, from the first on.
        first: the position of the first lambda.
        parameters: what the lambda at a position gets, by the arguments before the first lambda.
        with_place: a lambda of two names gets the element's place, too.
    """

    parameters: Callable[[int, Sequence[Expression]], Parameters]
    counts: tuple[int, ...] = (2,)
    of_maps: bool = False
    walked: int = 1
    first: int = 1
    with_place: bool = False


def null_if_any(call: Call) -> bool:
    """Null where any argument is."""
    return any(argument.nullable for argument in call.arguments)


@dataclass(frozen=True)
class FunctionSpec:
    """One function, under its canonical (Catalyst's pretty) name.

    Attributes:
        name: the registry key and the default name in every text.
        kind: scalar, aggregate, generator (explode) or window (row_number).
        data_type: the result type of a resolved call.
        nullable: whether a resolved call may be null.
        check: from a call with analyzed arguments to the call with the implicit casts of Spark's
            type coercion; raises AnalysisError (WRONG_NUM_ARGS, DATATYPE_MISMATCH.*) in Spark's
            words. It may give another expression where the analyzer itself rewrites.
        text: the form in plans (Catalyst's toString); default `name(a, b)`.
        pretty: the form in generated column names and error messages (Catalyst's toPrettySQL).
        sql: the form in Spark SQL text for the runtime; default `name(a, b)`.
        sql_suffix: what SQL puts behind an aggregate and its FILTER (RESPECT NULLS).
        replacement: what the optimizer puts in its place (Spark's RuntimeReplaceable), if anything.
        evaluate: its value over literals' plain values, for constant folding; None: not folded.
        deterministic: False for rand, uuid, ...
        of_file: says which file a row is of. Alone of what is not deterministic it does not begin
            anew with each partition.
        random_seed: Spark's ExpressionWithRandomSeed: values are drawn at random for each row.
        constant: False where constant arguments make no constant (raise_error).
        of_types: a constant whatever the arguments are: only their types count (typeof).
        conditional: Spark's ConditionalExpression: of its arguments all but the first are computed
            for some rows only; `evaluate` gets a function for each, which gives its value.
        null_intolerant: any null argument makes the result null (for inferred IsNotNull filters).
        null_for_null: the same, but only constant folding finds it.
        codegen: False where the JVM's code generation falls back and breaks a stage.
        aliases: other SQL names, which no text shows.
        same_as: the name of the function that this is another name of. Calls under both are the
            same to Spark's semanticEquals; the texts show the name that was written.
        forms: for aggregates, how it is computed; None where it cannot be merged here.
        over_no_rows: an aggregate's value over no rows, as a literal's plain value.
        object_hash: the aggregate is planned as ObjectHashAggregate.
        imperative: the aggregate has no generated code (HashAggregate without a stage mark).
        order_sensitive: the result depends on the order of rows (first, collect_list).
        null_treatment: it takes IGNORE NULLS and RESPECT NULLS.
        result_name: the name of an aggregate's result in plans where that is not its text.
        higher_order: where it takes lambdas.
        named_parameters: the parameters' names with their defaults (None: it must be given), where
            the function takes arguments by name.
        parsed_operands: the least and the greatest number of operands of which SQL's parser builds
            the expression itself, without a look at the functions.
        nulls_in_arguments: SQL's grammar takes IGNORE NULLS among its arguments, too.
        literal: SQL may leave out its parentheses (current_date).
        predicate: Spark's Predicate, an operator whose class says that it is a boolean.
        commutative: the order of the arguments makes no difference to the value.
        associative: nor does the way in which calls of it are nested.
        mirror: the comparison that says the same of the arguments in reverse order.
        negation: the comparison that is true where this one is false.
        ansi_free: ANSI mode makes no difference to the value.
        ansi_error: the condition of the error that ANSI mode raises over ordinary bad data.
        tolerant: the function to use instead of one that raises such an error.
        tagging: Spark's TaggingExpression: the argument as it is, with something known of it.
        constructor: makes a struct, a map or an array of its arguments.
        extracts: takes a part out of an array or a map (Spark's ExtractValue and ElementAt).
        costly: a filter of it does not go below the Project that computes its argument.
        pushed_into_branches: a call goes into the branches of an IF that is its argument, beside
            at most a constant (Spark's PushFoldableIntoBranches).
        short_circuits: the arguments after the first are computed for some rows only.
        source_filter: the name of the filter in which Spark hands the condition to data sources.
        current_time: gives the time of the query, on streams that of the batch.
        reads_clock: when the value depends on the session's time zone: where an instant is
            among the arguments or the result, never, always, or for intervals of days and more.
        collection_generator: Spark's CollectionGenerator: makes no row of an empty collection.
        rank_like: the columns that the window is ordered by become its arguments.
        limits_groups: a filter that bounds it limits the rows of each window partition.
        duplicate_agnostic: an aggregate whose result is the same if rows come twice.
        order_irrelevant: whether an aggregate's result is the same in any order of the rows:
            never, where the argument is no floating-point number (`exact`), always.
        state: what an aggregate's buffer holds; aggregates of the same word share it.
        state_object: the kind of object that Spark serialises into the buffer; None: none.
        by_width: whether the value, or what the buffer holds, depends on how wide a number is: of
            an INT it is another one than of the equal BIGINT.
        used_at_the_end: positions of arguments that the buffer does not depend on.
        weight: the position of an aggregate's last argument where that says how often a row counts,
            by default once.
        of_null: what a call gives of null, where that is not null in every session (size).
        in_doubles: an aggregate that makes doubles of whole numbers before it computes with them.
        any_case: positions of constant texts in which upper and lower case mean the same.
        treats_alike: what an engine makes of one argument says what it makes of all.
        constant_text: what a constant text among the arguments is: something that the function
            reads in its own way, data like any other, or one of these patterns and formats.
        constant_number: a constant number among the arguments decides what is computed.
        options_hold: what a call's options are: values that decide what is computed, names, what
            the result's type says, that and then values, or a method of the JVM's.
        written: whether a query may call it by its name; else it stands for what is written
            otherwise, or the optimizer makes it.
    """

    name: str
    data_type: Callable[[Call], DataType]
    kind: Kind = "scalar"
    nullable: Callable[[Call], bool] = null_if_any
    check: Callable[[Call, Conf], Expression] | None = None
    text: Callable[[Call, Show], str] | None = None
    pretty: Callable[[Call, Show], str] | None = None
    sql: Callable[[Call, Show], str] | None = None
    sql_suffix: Callable[[Call], str] | None = None
    replacement: Callable[[Call], Expression] | None = None
    evaluate: Callable[..., object] | None = None
    deterministic: bool = True
    of_file: bool = False
    random_seed: bool = False
    constant: bool = True
    of_types: bool = False
    conditional: bool = False
    null_intolerant: bool = False
    null_for_null: bool = False
    codegen: bool = True
    aliases: tuple[str, ...] = ()
    same_as: str | None = None
    forms: Callable[[Call], AggregateForms] | None = None
    over_no_rows: object = None
    object_hash: bool = False
    imperative: bool = False
    order_sensitive: bool = False
    null_treatment: bool = False
    result_name: Callable[[Call, Show], str] | None = None
    higher_order: HigherOrder | None = None
    named_parameters: tuple[tuple[str, Expression | None], ...] = ()
    parsed_operands: tuple[int, int] | None = None
    nulls_in_arguments: bool = False
    literal: bool = False
    predicate: bool = False
    commutative: bool = False
    associative: bool = False
    mirror: str | None = None
    negation: str | None = None
    ansi_free: bool = False
    ansi_error: str | None = None
    tolerant: str | None = None
    tagging: bool = False
    constructor: bool = False
    extracts: bool = False
    costly: bool = False
    pushed_into_branches: bool = False
    short_circuits: bool = False
    source_filter: str | None = None
    current_time: bool = False
    reads_clock: Literal["of instants", "never", "always", "of days"] = "of instants"
    collection_generator: bool = False
    rank_like: bool = False
    limits_groups: bool = False
    duplicate_agnostic: bool = False
    order_irrelevant: Literal["never", "exact", "always"] = "never"
    state: str | None = None
    state_object: str | None = None
    by_width: bool = False
    used_at_the_end: tuple[int, ...] = ()
    weight: int | None = None
    of_null: Callable[[Call], object] | None = None
    in_doubles: bool = False
    any_case: tuple[int, ...] = ()
    treats_alike: bool = False
    constant_text: Literal["read", "data", "regex", "like", "time format"] = "read"
    constant_number: bool = False
    options_hold: Literal["values", "names", "type", "type and values", "method"] = "values"
    written: bool = True

    @property
    def one_name(self) -> str:
        """The name that stands for all names of the function."""
        return self.same_as or self.name

    @property
    def divides(self) -> bool:
        """Whether ANSI mode raises an error where the last argument is 0."""
        return self.ansi_error in ("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO")


def one_function(spec: FunctionSpec, *others: FunctionSpec) -> tuple[FunctionSpec, ...]:
    """A function, and what it is under its other names."""
    return (spec, *(replace(other, same_as=spec.name) for other in others))


_BY_NAME: dict[str, FunctionSpec] = {}
_LOADED = False


def register(*specs: FunctionSpec) -> None:
    """Add functions under their names and aliases; a name may be taken only once."""
    for spec in specs:
        for name in (spec.name, *spec.aliases):
            if name in _BY_NAME:
                raise ValueError(f"function {name} is registered twice")
            _BY_NAME[name] = spec


def _load() -> None:
    global _LOADED
    if not _LOADED:
        _LOADED = True
        importlib.import_module(".functions", __package__)


def find(name: str) -> FunctionSpec | None:
    """The function of that lower-case name or alias, if there is one."""
    if not _LOADED:
        _load()
    return _BY_NAME.get(name)


def lookup(name: str) -> FunctionSpec:
    """The function of that canonical name.

    Raises:
        KeyError: nothing is registered under it.
    """
    if not _LOADED:
        _load()
    return _BY_NAME[name]


def names() -> list[str]:
    """All names and aliases, sorted."""
    _load()
    return sorted(_BY_NAME)
