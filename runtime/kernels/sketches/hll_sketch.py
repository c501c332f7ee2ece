"""HyperLogLog sketches of DataSketches, byte by byte as Spark has them: hll_sketch_agg.

A sketch is a list of up to seven coupons, then a hash table of coupons, then a register a slot. A
coupon is a value's hash: 26 bits of an address, and above them the number of leading zeros of the
rest, plus one. A sketch that has seen its values one after the other also keeps an estimate of its
own (`hip`), which a union of two sketches with registers gives up. All of it depends on the order
of values and unions, so the state holds the sketch as Spark serialises it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Registers = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]
Coupons = npt.NDArray[np.uint32]

ADDRESS = (1 << 26) - 1
"""The bits of a coupon that say where it belongs."""
_LIST, _SET, _HLL = 0, 1, 2
_LIST_SIZE = 8
_FIRST_TABLE = 5  # the base-2 logarithm of the first hash table's size
_EMPTY, _OUT_OF_ORDER = 4, 16
_HLL_8 = 8
# How many coupons there are, and of how many values: they are drawn from 2^26 addresses. These are
# the figures of DataSketches (CouponMapping), which Spark uses.
_COUNTS = (0.0, 1.0, 20.0, 400.0, 8000.0, 160000.0, 300000.0, 600000.0)
_VALUES = (
    *(0.0, 1.0, 20.0000009437402611, 400.0003963713384110, 8000.1589294602090376),
    *(160063.6067763759638183, 300223.7071597663452849, 600895.5933856170158833),
)


@dataclass
class Sketch:
    """A sketch of 2^`bits` slots.

    Attributes:
        mode: a list, a hash table, or registers.
        table: the coupons of a list or a hash table, 0 where there is none.
        count: how many they are.
        registers: the highest value of each slot.
        hip: the estimate so far.
        sums: the sums of 2^-value over all slots, of the values below 32 and of the others.
        least, at_least: the least register, as of the last union, and how many slots have it.
        ordered: whether the estimate counts.
    """

    bits: int
    mode: int = _LIST
    table: list[int] = field(default_factory=lambda: [0] * _LIST_SIZE)
    count: int = 0
    registers: Registers = field(default_factory=lambda: np.zeros(0, np.uint8))
    hip: float = 0.0
    sums: tuple[float, float] = (0.0, 0.0)
    least: int = 0
    at_least: int = 0
    ordered: bool = True

    def add(self, coupons: Sequence[int]) -> None:
        """Take in coupons, one after the other."""
        for position, coupon in enumerate(coupons):
            if self.mode == _HLL:
                self._raise(np.array(coupons[position:], np.uint32))
                return
            if self.mode == _LIST:
                self._add_to_list(coupon)
            else:
                self._add_to_table(coupon)

    @property
    def has_registers(self) -> bool:
        """Whether it is past its lists of coupons."""
        return self.mode == _HLL

    @property
    def is_empty(self) -> bool:
        """Whether it has seen no value."""
        return self.mode == _LIST and not self.count

    def coupons(self) -> list[int]:
        """The coupons of a list or a hash table, as they lie there."""
        return [coupon for coupon in self.table if coupon]

    def _add_to_list(self, coupon: int) -> None:
        if coupon in self.table:
            return
        self.table[self.count] = coupon
        self.count += 1
        if self.count < _LIST_SIZE:
            return
        coupons = self.coupons()
        if self.bits < 8:
            self._to_registers(coupons)
            return
        self.mode, self.count, self.table = _SET, 0, [0] * (1 << _FIRST_TABLE)
        for one in coupons:
            self._add_to_table(one)

    def _add_to_table(self, coupon: int) -> None:
        if not _put(self.table, coupon):
            return
        self.count += 1
        size = len(self.table)
        if 4 * self.count <= 3 * size:
            return
        coupons = self.coupons()
        if size == 1 << (self.bits - 3):
            self._to_registers(coupons)
            return
        self.table = [0] * (2 * size)
        for one in coupons:
            _put(self.table, one)

    def _to_registers(self, coupons: Sequence[int]) -> None:
        slots = 1 << self.bits
        self.mode, self.registers = _HLL, np.zeros(slots, np.uint8)
        self.sums, self.least, self.at_least = (float(slots), 0.0), 0, slots
        estimate = max(_values_of(float(self.count)), float(self.count))
        self.table = []
        self._raise(np.array(coupons, np.uint32))
        self.hip = estimate

    def _raise(self, coupons: Coupons) -> None:
        """Raise registers by coupons, one after the other."""
        slots = (coupons & np.uint32(len(self.registers) - 1)).astype(np.int64)
        values = (coupons >> np.uint32(26)).astype(np.int64)
        changing = np.flatnonzero(values > self.registers[slots])
        slots, values = slots[changing], values[changing]
        order = np.argsort(slots, kind="stable")
        slots, values = slots[order], values[order]
        heads = np.append(True, slots[1:] != slots[:-1])[: len(slots)]
        # Numbers that grow with the slot: a running maximum never reaches over to the next one.
        highest = np.maximum.accumulate(slots * 64 + values)
        before = np.where(
            heads, self.registers[slots], np.append(0, highest[:-1])[: len(slots)] % 64
        )
        changed = values > before
        np.maximum.at(self.registers, slots, values.astype(np.uint8))
        when = np.argsort(order[changed])
        old, new = before[changed][when], values[changed][when]
        if not len(new):
            return
        low = _powers(new, new < 32) - _powers(old, old < 32)
        high = _powers(new, new >= 32) - _powers(old, old >= 32)
        lows = np.cumsum(np.append(self.sums[0], low))
        highs = np.cumsum(np.append(self.sums[1], high))
        steps = len(self.registers) / (lows[:-1] + highs[:-1])
        self.hip = float(np.cumsum(np.append(self.hip, steps))[-1])
        self.sums = float(lows[-1]), float(highs[-1])
        self.at_least -= int((old == 0).sum())

    def _unite_registers(self, other: Sketch) -> None:
        self.registers = np.maximum(self.registers, other.registers)
        used = self.registers[self.registers > 0].astype(np.int64)
        slots = float(len(self.registers))
        low = slots + float((_powers(used, used < 32) - (used < 32)).sum())
        high = float((_powers(used, used >= 32) - (used >= 32)).sum())
        self.sums, self.hip, self.ordered = (low, high), 0.0, False
        self.least = int(self.registers.min())
        self.at_least = int((self.registers == self.least).sum())

    def united(self, other: Sketch) -> Sketch:
        """The union with a sketch of as many slots; this one may become it."""
        if other.is_empty:
            return self
        if self.is_empty:
            return other
        if other.mode != _HLL:
            self.add(other.coupons())
            return self
        if self.mode != _HLL:
            other.add(self.coupons())
            return other
        self._unite_registers(other)
        return self

    def serialised(self) -> bytes:
        """The bytes of the sketch in the form that can be changed in place."""
        if self.mode == _HLL:
            flags = 0 if self.ordered else _OUT_OF_ORDER
            head = bytes((10, 1, 7, self.bits, 0, flags, self.least, _HLL | _HLL_8))
            numbers = struct.pack("<dddii", self.hip, *self.sums, self.at_least, 0)
            return head + numbers + self.registers.tobytes()
        table = np.array(self.table, "<u4").tobytes()
        size = len(self.table).bit_length() - 1
        if self.mode == _SET:
            head = bytes((3, 1, 7, self.bits, size, 0, 0, _SET | _HLL_8))
            return head + struct.pack("<i", self.count) + table
        flags = 0 if self.count else _EMPTY
        return bytes((2, 1, 7, self.bits, size, flags, self.count, _LIST | _HLL_8)) + table

    @classmethod
    def of(cls, content: bytes) -> Sketch:
        """The sketch that was serialised so."""
        bits, mode = content[3], content[7] & 3
        if mode == _HLL:
            hip, low, high, at_least, _ = struct.unpack_from("<dddii", content, 8)
            return cls(
                bits=bits,
                mode=mode,
                table=[],
                registers=np.frombuffer(content, np.uint8, 1 << bits, 40).copy(),
                hip=hip,
                sums=(low, high),
                least=content[6],
                at_least=at_least,
                ordered=not content[5] & _OUT_OF_ORDER,
            )
        start, count = (12, struct.unpack_from("<i", content, 8)[0]) if mode else (8, content[6])
        table = np.frombuffer(content, "<u4", 1 << content[4], start).tolist()
        return cls(bits=bits, mode=mode, table=table, count=count)


def is_sketch(content: bytes) -> bool:
    """Whether it is a sketch as `Sketch.serialised` has it, with a byte a register."""
    if len(content) < 40 or content[1:3] != bytes((1, 7)) or not 4 <= content[3] <= 21:
        return False
    mode, size = content[7] & 3, 1 << min(content[4], 18) + 2
    expected = {_LIST: 8 + size, _SET: 12 + size, _HLL: 40 + (1 << content[3])}.get(mode)
    return len(content) == expected and content[7] & ~3 == _HLL_8


def _put(table: list[int], coupon: int) -> bool:
    """Put a coupon into a hash table with room; False if it is there already."""
    mask = len(table) - 1
    place = coupon & mask
    step = ((coupon & ADDRESS) >> mask.bit_length()) | 1
    while table[place]:
        if table[place] == coupon:
            return False
        place = (place + step) & mask
    table[place] = coupon
    return True


def _powers(
    values: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    return np.where(chosen, np.exp2(-values.astype(np.float64)), 0.0)


def _values_of(count: float) -> float:
    """Of how many values so many coupons are: the cubic through the four nearest of the table."""
    place = max(i for i, known in enumerate(_COUNTS) if known <= count)
    first = min(max(place - 1, 0), len(_COUNTS) - 4)
    xs, ys = _COUNTS[first : first + 4], _VALUES[first : first + 4]
    total = 0.0
    for i in range(4):
        numerator = denominator = 1.0
        for j in range(4):
            if j != i:
                numerator *= count - xs[j]
                denominator *= xs[i] - xs[j]
        total += ys[i] * numerator / denominator
    return total
