"""Values of functions over constants, for constant folding.

Each takes the call and its arguments' plain values (dates as days, times as microseconds, arrays as
tuples, maps as tuples of pairs) and gives Spark's value. A ValueError, LookupError or
ArithmeticError says that the value is not known here.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from datetime import timedelta as span

from ..expressions.core import Call
from ..schemas.types import DateType, StringType, TimestampType
from ..text.literal_text import session_time_zone
from .cast_values import MICROS, local_micros, utc_micros
from .datetime_fields import EPOCH

Function = Callable[..., object]
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FORMAT = "yyyy-MM-dd HH:mm:ss"
_EPOCH = datetime(1970, 1, 1)


def _of(function: Callable[..., float]) -> Function:
    return lambda call, *values: float(function(*values))


def _positive(function: Callable[[float], float], above: float = 0.0) -> Function:
    """Logarithms are null where they have no value."""
    return lambda call, x: None if x <= above else function(x)


def _log(call: Call, base: float, x: float) -> float | None:
    return None if base <= 0 or x <= 0 else math.log(x) / math.log(base)


def _sign(call: Call, x: float) -> float:
    if not isinstance(x, float | int):
        raise ValueError(x)
    return float((x > 0) - (x < 0))


def _rint(call: Call, x: float) -> float:
    return math.copysign(round(x), x) if math.isfinite(x) else x


def _cube_root(call: Call, x: float) -> float:
    nearest = round(math.cbrt(x))
    return float(nearest) if nearest**3 == x else math.cbrt(x)


def _within_one(function: Callable[[float], float]) -> Function:
    return lambda call, x: function(x) if -1 <= x <= 1 else math.nan


def _bit_count(call: Call, n: int) -> int:
    return (n & (1 << 64) - 1).bit_count()


def _factorial(call: Call, n: int) -> int | None:
    return math.factorial(n) if 0 <= n <= 20 else None


# --------------------------------------------------------------------------------------- texts


def _character(call: Call, n: int) -> str:
    return "" if n < 0 else chr(n & 0xFF)


def _soundex(call: Call, text: str) -> str:
    if not text or not text[0].isascii() or not text[0].isalpha():
        return text
    codes = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
    letters = [c for c in text.upper() if c in codes]
    found, last = letters[0], codes[letters[0]]
    for letter in letters[1:]:
        code = codes[letter]
        if code == "7":  # H and W do not part equal codes
            continue
        if code not in ("0", last):
            found += code
        last = code
    return (found + "000")[:4]


def _levenshtein(call: Call, one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            best = min(row[j] + 1, row[j - 1] + 1, before + (a != b))
            before, row[j] = row[j], best
    return row[-1]


def _translated(call: Call, text: str, wanted: str, given: str) -> str:
    table: dict[int, int | None] = {}
    for place, char in enumerate(wanted):
        table.setdefault(ord(char), ord(given[place]) if place < len(given) else None)
    return text.translate(table)


def _joined(call: Call, separator: str | None, *parts: object) -> str | None:
    if separator is None:
        return None
    flat: list[object] = []
    for part in parts:
        flat.extend(part if isinstance(part, tuple) else (part,))
    return separator.join(str(part) for part in flat if part is not None)


def _substring_index(call: Call, text: str, mark: str, count: int) -> str:
    if not mark or count == 0:
        return ""
    parts = text.split(mark)
    return mark.join(parts[:count] if count > 0 else parts[count:])


def _bytes(value: str | bytes) -> int:
    return len(value.encode() if isinstance(value, str) else value)


def _unhex(call: Call, text: str) -> bytes | None:
    if not all(digit in "0123456789abcdefABCDEF" for digit in text):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def _formatted(call: Call, pattern: str, *values: object) -> str:
    """`%s` of texts and whole numbers and `%d`; other directives differ from Java's."""
    pieces = pattern.replace("%%", "").split("%")[1:]
    if any(piece[:1] not in ("s", "d") for piece in pieces):
        raise ValueError(pattern)
    values = values[: len(pieces)]  # Java leaves the others out
    if len(values) < len(pieces) or any(
        isinstance(value, bool) or not isinstance(value, int if piece[0] == "d" else str | int)
        for piece, value in zip(pieces, values, strict=True)
    ):
        raise ValueError(values)
    return pattern % values


# -------------------------------------------------------------------------------------- arrays


def _array_join(call: Call, items: tuple[object, ...], mark: str, null: str | None = None) -> str:
    shown = (null if item is None else str(item) for item in items)
    return mark.join(item for item in shown if item is not None)


def _nan_last(item: object) -> tuple[bool, object]:
    return item != item, item


def _extreme(choose: Callable[..., object]) -> Function:
    def value(call: Call, items: tuple[object, ...]) -> object:
        known = [item for item in items if item is not None]
        return choose(known, key=_nan_last) if known else None

    return value


def _distinct(items: Iterable[object]) -> tuple[object, ...]:
    found: list[object] = []
    for item in items:
        if item not in found:
            found.append(item)
    return tuple(found)


def _overlap(call: Call, one: tuple[object, ...], other: tuple[object, ...]) -> bool | None:
    if any(item is not None and item in other for item in one):
        return True
    return None if one and other and (None in one or None in other) else False


def _inserted(
    call: Call, items: tuple[object, ...], place: int, item: object
) -> tuple[object, ...]:
    if place == -1:
        return (*items, item)
    if not 1 <= place <= len(items) + 1:
        raise ValueError(place)
    return (*items[: place - 1], item, *items[place - 1 :])


def _position(call: Call, items: tuple[object, ...], wanted: object) -> int:
    return items.index(wanted) + 1 if wanted in items else 0


# --------------------------------------------------------------------------------------- times


def _zone(call: Call) -> str:
    return call.time_zone or session_time_zone()


def _local(call: Call, micros: int) -> datetime:
    return _EPOCH + span(microseconds=local_micros(micros, _zone(call)))


def _months_between(call: Call, one: int, other: int, rounded: bool) -> float:
    a, b = _local(call, one), _local(call, other)
    months = (a.year - b.year) * 12 + a.month - b.month
    last = all(t.day == calendar.monthrange(t.year, t.month)[1] for t in (a, b))
    if a.day == b.day or last:
        return float(months)

    def seconds(t: datetime) -> int:
        return t.day * 86_400 + t.hour * 3600 + t.minute * 60 + t.second

    value = months + (seconds(a) - seconds(b)) / (31 * 86_400)
    return math.floor(value * 1e8 + 0.5) / 1e8 if rounded else value


_PATTERNS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def _pattern(text: str) -> str:
    """A pattern of Java's of plain parts in Python's notation."""
    found = ""
    while text:
        size = len(text) - len(text.lstrip(text[0]))
        letters = text[:size]
        if text[0].isalpha():
            found += _PATTERNS[letters]
        elif text[0] in "'[]{}#%":
            raise ValueError(text)
        else:
            found += letters
        text = text[size:]
    return found


def _date_format(call: Call, time: int, pattern: str) -> str:
    moment = _local(call, time)
    if moment.year < 1000:
        raise ValueError(moment)
    return moment.strftime(_pattern(pattern))


def _from_unixtime(call: Call, seconds: int, pattern: str) -> str:
    return _date_format(call, seconds * MICROS, pattern)


def _unix_timestamp(call: Call, time: object, pattern: str) -> int:
    match call.arguments[0].data_type, time:
        case TimestampType(), int():
            return time // MICROS
        case DateType(), int():
            return utc_micros(time * 86_400 * MICROS, _zone(call)) // MICROS
        case StringType(), str():
            moment = datetime.strptime(time, _pattern(pattern)).replace(tzinfo=UTC)
            if moment.strftime(_pattern(pattern)) != time:
                raise ValueError(time)
            return utc_micros(int(moment.timestamp()) * MICROS, _zone(call)) // MICROS
    raise ValueError(time)


def _start(moment: date, unit: str) -> date | None:
    match unit.upper():
        case "YEAR" | "YYYY" | "YY":
            return moment.replace(month=1, day=1)
        case "QUARTER":
            return moment.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH" | "MM" | "MON":
            return moment.replace(day=1)
        case "WEEK":
            return moment - span(days=moment.weekday())
    return None


def _trunc(call: Call, days: int, unit: str) -> int | None:
    start = _start(EPOCH + span(days=days), unit)
    return None if start is None else (start - EPOCH).days


_UNITS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": MICROS, "MINUTE": 60 * MICROS}
_UNITS |= {"HOUR": 3600 * MICROS, "DAY": 86_400 * MICROS, "DD": 86_400 * MICROS}


def _date_trunc(call: Call, unit: str, micros: int) -> int | None:
    local = local_micros(micros, _zone(call))
    size = _UNITS.get(unit.upper(), 0)
    if size:
        return utc_micros(local // size * size, _zone(call))
    start = _start(EPOCH + span(days=local // (86_400 * MICROS)), unit)
    if start is None:
        return None
    return utc_micros((start - EPOCH).days * 86_400 * MICROS, _zone(call))


def _next_day(call: Call, days: int, name: str) -> int:
    wanted = _DAYS.index(name.upper()[:2])
    return days + 1 + (wanted - (days + 1 + 3)) % 7  # 1970-01-01 was a Thursday


VALUES: dict[str, Function] = {
    **{name: _of(getattr(math, name)) for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{name: _of(getattr(math, name)) for name in ("atan", "atan2")},
    **{name: _of(getattr(math, name)) for name in ("degrees", "expm1", "hypot", "radians")},
    "acos": _within_one(math.acos),
    "asin": _within_one(math.asin),
    "cbrt": _cube_root,
    "cot": _of(lambda x: 1 / math.tan(x)),
    "csc": _of(lambda x: 1 / math.sin(x)),
    "sec": _of(lambda x: 1 / math.cos(x)),
    "ln": _positive(math.log),
    "log": _log,
    "log10": _positive(math.log10),
    "log1p": _positive(math.log1p, -1.0),
    "log2": _positive(lambda x: math.log(x) / math.log(2)),
    **dict.fromkeys(("sign", "signum"), _sign),
    "rint": _rint,
    "nanvl": lambda call, x, other: other if math.isnan(x) else x,
    "bit_count": _bit_count,
    "factorial": _factorial,
    "ascii": lambda call, text: ord(text[0]) if text else 0,
    **dict.fromkeys(("char", "chr"), _character),
    "soundex": _soundex,
    "levenshtein": _levenshtein,
    "translate": _translated,
    "concat_ws": _joined,
    "substring_index": _substring_index,
    "bit_length": lambda call, value: 8 * _bytes(value),
    "octet_length": lambda call, value: _bytes(value),
    "unhex": _unhex,
    **dict.fromkeys(("format_string", "printf"), _formatted),
    "array_join": _array_join,
    "array_max": _extreme(max),
    "array_min": _extreme(min),
    "array_except": lambda call, a, b: _distinct(item for item in a if item not in b),
    "array_intersect": lambda call, a, b: _distinct(item for item in a if item in b),
    "arrays_overlap": _overlap,
    "array_position": _position,
    "map_keys": lambda call, pairs: tuple(key for key, _ in pairs),
    "map_values": lambda call, pairs: tuple(value for _, value in pairs),
    "map_from_arrays": lambda call, keys, values: tuple(zip(keys, values, strict=True)),
    "array_insert": _inserted,
    "months_between": _months_between,
    "date_format": _date_format,
    "from_unixtime": _from_unixtime,
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), _unix_timestamp),
    "trunc": _trunc,
    "date_trunc": _date_trunc,
    "next_day": _next_day,
}
