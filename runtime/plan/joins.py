"""Joins of two streams of the executed plan.

    StreamingSymmetricHashJoin      Select (columns)
    :- Exchange                     +- Kernel
    :  +- left                         +- Exchange
    +- Exchange                           +- Union
       +- right                              :- Select [false, keys, columns of the left side]
                                             :  +- left
                                             +- Select [true, keys, columns of the right side]
                                                +- right

Both sides travel as one stream of rows. The sides share its columns where these have one type; a
row has nulls in the columns of the other side. A key that is a column of its side travels once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.join_state import event_time
from ...physical.plan import SparkPlan
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    Literal,
    lit,
)
from ...planner.model.frozen import dataclass
from ...planner.model.schemas.types import BOOLEAN, StructType, as_nullable
from ...planner.model.text.text import pretty
from ...planner.model.tree import replace
from ..kernels.expressions.programs.compile import compile_program, unsupported
from .aggregation import hashed, window_size
from .carried import Carried, carrier, plain, window
from .facts import BatchFacts
from .nodes import Exchange, Kernel, RuntimeNode, Select, Union
from .specs import JoinSideSpec, JoinSpec, TimeOf
from .translate import translate


@translate.register(StreamingSymmetricHashJoinExec)
def _(node: StreamingSymmetricHashJoinExec, facts: BatchFacts) -> RuntimeNode:
    joined = joined_stream(node)
    keys, slots, sides = joined.keys, joined.slots, joined.sides
    condition, above = _condition(node, sides)
    leaves = [limit is not None for limit in node.state_watermarks(0)]  # with any watermark
    spec = JoinSpec(
        join_type=node.join_type,
        keys=tuple(map(_seen, _parts(keys))),
        left=_side_spec(node, sides[0], keys, leaves=leaves[0]),
        right=_side_spec(node, sides[1], keys, leaves=leaves[1]),
        padded=node.padded_sides,
        condition=condition,
    )
    attributes = tuple(slots.columns)
    inputs = tuple(
        Select(child=translate(side.plan, facts), columns=side.row(attributes, lit(i == 1)))
        for i, side in enumerate(sides)
    )
    placing = hashed(keys)
    rows = Exchange(child=Union(inputs=inputs, attributes=attributes), to="keys", keys=placing)
    given = sides[:1] if node.join_type == "LeftSemi" else sides
    padded = ["right" in node.padded_sides, "left" in node.padded_sides]
    columns = [(c, null) for s, null in zip(given, padded, strict=False) for c in s.columns]
    kernel = Kernel(
        inputs=(rows,),
        operator=node,
        spec=spec,
        taken=tuple(map(plain, attributes)),
        emitted=tuple(column for column, _ in columns),
        hashed=placing,
    )
    made = Select(child=kernel, columns=tuple(_restored(c, padded=null) for c, null in columns))
    if above is None:
        return made
    return Select(child=made, conditions=(above,), columns=node.output)


@dataclass(frozen=True)
class JoinedStream:
    """How both sides of a join travel, and what is kept of them.

    Attributes:
        keys: how the keys travel, behind the side's tag.
        slots: the columns.
        sides: left and right.
    """

    keys: list[Carried]
    slots: _Slots
    sides: tuple[_Side, _Side]


def joined_stream(node: StreamingSymmetricHashJoinExec) -> JoinedStream:
    """The one stream of both sides."""
    keys = _keys(node)
    slots = _Slots([AttributeReference(name="right", type_=BOOLEAN), *_parts(keys)])
    left = _Side(node.left, node.left_keys, keys, slots, node.parts.left_only)
    right = _Side(node.right, node.right_keys, keys, slots, node.parts.right_only)
    return JoinedStream(keys, slots, (left, right))


class _Slots:
    """The columns of the joined stream; the sides share those behind the keys."""

    def __init__(self, first: Sequence[AttributeReference]) -> None:
        self.columns = [_seen(column) for column in first]
        self._shared = len(self.columns)

    def place(self, column: AttributeReference, taken: set[int]) -> int:
        """Where a column of a side travels whose other columns have `taken` some places."""
        kind = _seen(column).data_type
        for i, slot in enumerate(self.columns[self._shared :], self._shared):
            if i not in taken and slot.data_type == kind:
                return i
        self.columns.append(AttributeReference(name=f"c{len(self.columns)}", type_=kind))
        return len(self.columns) - 1


class _Side:
    """One side: its columns, and how they travel.

    Attributes:
        plan: gives its rows.
        columns: its columns.
        places: where the parts of its columns travel, in order.
        fits: where it says whether it fulfils the conditions on it alone.
    """

    def __init__(
        self,
        plan: SparkPlan,
        own: Sequence[Expression],
        keys: Sequence[Carried],
        slots: _Slots,
        fits: Expression | None,
    ) -> None:
        self.plan = plan
        self._keys = range(1, 1 + len(_parts(keys)))
        self._values: dict[int, Expression] = {}  # by place
        self.columns: list[Carried] = []
        self.places: list[int] = []
        of_key: dict[int, tuple[Carried, int]] = {}
        place = 1
        for key, value in zip(keys, map(_as_it_is, own), strict=True):
            if isinstance(value, AttributeReference):
                of_key.setdefault(value.expr_id, (key, place))
            for part in key.split(value):
                self._values[place] = part
                place += 1
        self.fits = None
        if fits is not None:
            self.fits = slots.place(AttributeReference(name="fits", type_=BOOLEAN), set())
            self._values[self.fits] = fits
        for column in plan.output:
            shared = of_key.get(column.expr_id)
            if shared is None:
                self._add(_carried(column, plan), slots)
            else:
                # It travels as the key, under parts of its own.
                key, first = shared
                parts = tuple(replace(p, expr_id=_fresh(p)) for p in key.parts)
                self.columns.append(Carried(column=column, parts=parts, size=key.size))
                self.places += range(first, first + len(parts))

    @property
    def kept(self) -> int:
        """How many columns the state has of it behind the keys."""
        return sum(place not in self._keys for place in self.places)

    @property
    def sources(self) -> list[tuple[Carried, list[str]]]:
        """Where the state has the parts of each column: `k0` among the keys, `v1` behind them."""
        kept = [place for place in self.places if place not in self._keys]
        names = (
            f"k{place - 1}" if place in self._keys else f"v{kept.index(place)}"
            for place in self.places
        )
        return [(column, [next(names) for _ in column.parts]) for column in self.columns]

    def _add(self, column: Carried, slots: _Slots) -> None:
        for value in column.split(column.column):
            place = slots.place(_attribute(value), set(self._values))
            self._values[place] = value
            self.places.append(place)
        self.columns.append(column)

    def row(self, slots: Sequence[AttributeReference], tag: Expression) -> tuple[Expression, ...]:
        """Its rows as they travel."""
        values: list[Expression] = [Alias(child=tag, name=slots[0].name)]
        for i, slot in enumerate(slots[1:], 1):
            value: Expression = self._values.get(i, Literal(value=None, type_=slot.data_type))
            child = value.child if isinstance(value, Alias) else value
            if as_nullable(child.data_type) != slot.data_type:
                child = Cast(child=child, type_=slot.data_type)  # an interval of fewer fields
            values.append(Alias(child=child, name=slot.name))
        return tuple(values)


def _as_it_is(key: Expression) -> Expression:
    """A key without the step that makes all zeros and all NaNs one: to a kernel they are equal."""
    match key:
        case Call(name="knownfloatingpointnormalized", arguments=(Call() as step,)):
            if step.name in ("normalizenanandzero", "transform", "transform_values"):
                return step.arguments[0]
            if step.name == "if" and isinstance(step.arguments[0], Call):
                return step.arguments[0].arguments[0]  # of a struct that is null
    return key


def _keys(node: StreamingSymmetricHashJoinExec) -> list[Carried]:
    """How the keys travel: as windows in parts where both sides have such windows."""
    return [
        _key(one, other, node) for one, other in zip(node.left_keys, node.right_keys, strict=True)
    ]


def _key(one: Expression, other: Expression, node: StreamingSymmetricHashJoinExec) -> Carried:
    column = AttributeReference(name="key", type_=as_nullable(one.data_type))
    if isinstance(one, AttributeReference) and isinstance(other, AttributeReference):
        found = [_carried(one, node.left), _carried(other, node.right)]
        if all(each.is_window for each in found):
            size, second = (each.size for each in found)
            column = replace(column, type_=one.data_type)
            return window(column, size if size == second else None)
    return plain(column)


def _carried(column: AttributeReference, plan: SparkPlan) -> Carried:
    """How a column travels."""
    if column.metadata.window is None or not isinstance(column.data_type, StructType):
        return _own(plain(column))
    size = window_size(column, plan)
    if column.nullable and size is None:
        return _own(plain(column))
    return window(column, size)


def _own(column: Carried) -> Carried:
    """A column whose parts are not the column itself: a side may be joined with itself."""
    parts = tuple(replace(part, expr_id=_fresh(part)) for part in column.parts)
    return Carried(column=column.column, parts=parts)


def _fresh(part: AttributeReference) -> int:
    return AttributeReference(name=part.name, type_=part.data_type).expr_id


def _attribute(value: Expression) -> AttributeReference:
    assert isinstance(value, Alias | AttributeReference)
    return value.to_attribute() if isinstance(value, Alias) else value


def _parts(columns: Sequence[Carried]) -> list[AttributeReference]:
    return [part for column in columns for part in column.parts]


def _seen(part: AttributeReference) -> AttributeReference:
    """A part as kernels see it."""
    return replace(part, type_=as_nullable(carrier(part.data_type)), is_nullable=True)


# -------------------------------------------------------------------------------- the kernel's part


def _side_spec(
    node: StreamingSymmetricHashJoinExec,
    side: _Side,
    keys: Sequence[Carried],
    *,
    leaves: bool,
) -> JoinSideSpec:
    time = event_time(side.plan.output)
    own = None if time is None else _time_of(side.columns, side.places, time)
    kept = own
    if node.event_time_key is not None:
        places = range(1, 1 + len(_parts(keys)))
        kept = _time_of(keys, places, keys[node.event_time_key].column)
    return JoinSideSpec(
        columns=tuple(map(_seen, _parts(side.columns))),
        places=tuple(side.places),
        fits=side.fits,
        time=own,
        kept_time=kept if leaves else None,
    )


def _time_of(columns: Sequence[Carried], places: Sequence[int], time: AttributeReference) -> TimeOf:
    first = 0
    for column in columns:
        if column.column.expr_id == time.expr_id:
            last = first + len(column.parts) - 1  # of the bounds of a window the end
            return TimeOf(place=places[last], later=column.size or 0)
        first += len(column.parts)
    raise AssertionError(f"{time.name} is no column")


def _condition(
    node: StreamingSymmetricHashJoinExec, sides: Sequence[_Side]
) -> tuple[Expression | None, Expression | None]:
    """The condition of a match over the columns of both sides as they are kept, and one above.

    What our own code cannot compute is computed by the engine, over all rows of equal keys: in an
    inner join nothing else depends on it.

    Raises:
        RuntimeFailure: something does.
    """
    both = node.parts.both
    if both is None:
        return None, None
    columns = {c.column.expr_id: _inner(c) for side in sides for c in side.columns}
    parts = [_seen(part) for side in sides for part in _parts(side.columns)]

    def over_parts(part: Expression) -> Expression:
        return columns.get(part.expr_id, part) if isinstance(part, AttributeReference) else part

    condition = both.transform_up(over_parts)
    reason = unsupported(condition, parts)
    program = compile_program((condition,), parts)
    refuses = node.join_type == "Inner" and program is not None and program.refuses_values
    if reason is None and not refuses:
        return condition, None
    if node.join_type == "Inner":
        return None, both
    raise RuntimeFailure(
        "STATEPLAN_CANNOT_RUN",
        f"The condition {pretty(both)} of a {node.join_type} join of two streams can be planned, "
        f"but not run: {reason} is not computed here.",
        hint="Compute what it needs in columns of either stream, below the join.",
    )


def _inner(column: Carried) -> Expression:
    """What a column is, over its parts."""
    value = column.restored
    return value.child if isinstance(value, Alias) else value


def _restored(column: Carried, *, padded: bool) -> Expression:
    """A column of the output; of a window that stands in a padded row there is nothing."""
    if not padded or not column.is_window:
        return column.restored
    missing = Call(name="isnull", arguments=(column.parts[0],))
    null = Literal(value=None, type_=column.column.data_type)
    value = Call(name="if", arguments=(missing, null, _inner(column)))
    return Alias(
        child=value,
        name=column.column.name,
        expr_id=column.column.expr_id,
        explicit_metadata=column.column.metadata,
    )
