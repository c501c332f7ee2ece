"""Queries with a state of the user's own, with slots: what `random_evolutions.py` changes.

Their functions are written as expressions, as the cases of EVOLUTIONS.md hold one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Slots = dict[str, str]
Side = dict[str, Any]

_STATE = "spark.sql.streaming.stateStore"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# A time out by the clock, or a time to live, asks for a batch without data again and again.
_NO_MORE = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
_MARKS = (
    ".withWatermark('ts', '10 seconds')",
    ".withWatermark('ts', '10 seconds')",
    ".withWatermark('ts', '50 seconds')",
    ".withWatermark('at', '10 seconds')",
)
_ROWS: dict[str, Sequence[str]] = {
    "watermark": _MARKS,
    "filter": ("", "", ".where('v > 2')", ".where(F.col('k') != 'o')"),
    "computed": (
        "",
        "",
        ".withColumn('v', F.col('v') + 1)",
        ".select('g', 'k', 'v', 'w', 'ts', 'at')",
    ),
    "key": ("'k'", "'k'", "'g'", "F.upper('k')", "'k', 'g'"),
    "input": ("v", "v", "w"),
    "above": ("", "", "", ".where('n > 9')", ".select('k')", ".withColumn('n', F.col('n') * 2)"),
}
# The columns of a state, how it is made of the old one (`o`, or None) and `v`, the number in it.
_COLUMNS = {
    "n LONG": ("((o or (0,))[0] + v,)", 0),
    "n INT": ("((o or (0,))[0] + v,)", 0),
    "total LONG": ("((o or (0,))[0] + v,)", 0),
    "n DOUBLE": ("(float((o or (0,))[0]) + v,)", 0),
    "n STRING": ("(str(int((o or ('0',))[0]) + v),)", 0),
    "n LONG, m STRING": ("((o or (0,))[0] + v, 'x')", 0),
    "m STRING, n LONG": ("('x', (o or ('', 0))[1] + v)", 1),
}
_TIMEOUTS = {
    "EventTimeTimeout": "state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 20000)",
    "ProcessingTimeTimeout": "state.setTimeoutDuration(3600000)",
}


def _rows(s: Slots) -> str:
    return f"events{s['watermark']}{s['filter']}{s['computed']}.groupBy({s['key']})"


def _grouped(s: Slots) -> Side:
    new, place = _COLUMNS[s["state"]]
    steps = [f"state.update({new})"]
    if s["expires"] and s["timeout"] in _TIMEOUTS:
        steps.append(_TIMEOUTS[s["timeout"]])
    number = f"int(state.get[{place}])"
    row = {"plain": number, "doubled": f"2 * {number}", "renamed": number}[s["body"]]
    rows = f"iter([pd.DataFrame({{'k': [str(key[0])], 'n': [{row}]}})])"
    total = f"int(sum(f.{s['input']}.fillna(0).sum() for f in frames))"
    function = (
        f"lambda key, frames, state: (lambda pd, v, o: [{', '.join(steps)}, {rows}][-1])"
        f"(__import__('pandas'), {total}, state.getOption)"
    )
    if s["body"] == "renamed":
        function = function.replace("for f in", "for one in").replace("(f.", "(one.")
    call = f"applyInPandasWithState({function}, 'k STRING, n LONG', '{s['state']}'"
    python = f"{_rows(s)}.{call}, '{s['mode']}', '{s['timeout']}'){s['above']}"
    mode = s["mode"]
    if s["aggregate"] and mode == "append":
        python, mode = f"{python}.groupBy('k').count()", "complete"
    conf = _NO_MORE if s["timeout"] == "ProcessingTimeTimeout" else {}
    return _side(python, mode, conf)


def _side(python: str, mode: str, conf: dict[str, str]) -> Side:
    key = None if mode == "append" else ["k"]
    return {"python": python, "output_mode": mode, "key": key, "conf": dict(conf)}


# A variable: how it is got from the handle, read and changed.
_VALUE = ("(self.t.get() or (0,))[0]", "self.t.update((before + v,))")
_VARIABLES = {
    "getValueState('total', 'n INT'{ttl})": _VALUE,
    "getValueState('total', 'n LONG'{ttl})": _VALUE,
    "getValueState('total', 'm INT'{ttl})": _VALUE,
    "getValueState('sum', 'n INT'{ttl})": _VALUE,
    "getValueState('total', 'n STRING'{ttl})": (
        "int((self.t.get() or ('0',))[0])",
        "self.t.update((str(before + v),))",
    ),
    "getValueState('total', 'n INT, m STRING'{ttl})": (
        _VALUE[0],
        "self.t.update((before + v, 'x'))",
    ),
    "getListState('total', 'n INT'{ttl})": (
        "sum(one[0] for one in self.t.get())",
        "self.t.appendValue((v,))",
    ),
    "getMapState('total', 'k STRING', 'n INT'{ttl})": (
        "(self.t.getValue(('a',)) or (0,))[0]",
        "self.t.updateValue(('a',), (before + v,))",
    ),
    "getMapState('total', 'k INT', 'n INT'{ttl})": (
        "(self.t.getValue((1,)) or (0,))[0]",
        "self.t.updateValue((1,), (before + v,))",
    ),
}
_TTL = {"": "", "1 hour": ", 3600000", "2 hours": ", 7200000"}


def _processed(s: Slots) -> Side:
    read, change = _VARIABLES[s["variable"]]
    timed = s["time mode"] == "ProcessingTime"
    got = s["variable"].format(ttl=_TTL[s["ttl"]] if timed else "")
    declared = [f"setattr(self, 't', handle.{got})"]
    if s["other"]:
        declared.append(f"handle.{s['other']}")
    row = "after" if s["body"] == "plain" else "2 * after"
    total = f"int(sum(f.{s['input']}.fillna(0).sum() for f in rows))"
    emitted = f"iter([pd.DataFrame({{'k': [str(key[0])], 'n': [{row}]}})])"
    handler = (
        f"lambda self, key, rows, timers: (lambda pd, v, before: [{change}, "
        f"(lambda after: {emitted})({read})][-1])(__import__('pandas'), {total}, {read})"
    )
    base = "__import__('pyspark.sql.streaming', fromlist=['x']).StatefulProcessor"
    methods = (
        f"'init': lambda self, handle: [{', '.join(declared)}] and None, "
        f"'handleInputRows': {handler}, 'close': lambda self: None"
    )
    processor = f"type('Totals', ({base},), {{{methods}}})()"
    call = f"transformWithStateInPandas({processor}, 'k STRING, n LONG'"
    python = f"{_rows(s)}.{call}, '{s['mode']}', '{s['time mode']}'){s['above']}"
    conf = {f"{_STATE}.providerClass": _ROCKS, f"{_STATE}.encodingFormat": s["encoding"]}
    return _side(python, s["mode"], conf | (_NO_MORE if timed else {}))


STATE_SHAPES: dict[str, tuple[Callable[[Slots], Side], dict[str, Sequence[str]]]] = {
    "grouped": (
        _grouped,
        {
            **_ROWS,
            "state": tuple(_COLUMNS),
            "timeout": ("NoTimeout", "NoTimeout", *_TIMEOUTS),
            "expires": ("", "yes"),
            "body": ("plain", "plain", "doubled", "renamed"),
            "mode": ("update", "append"),
            "aggregate": ("", "", "", "yes"),
        },
    ),
    "processed": (
        _processed,
        {
            **_ROWS,
            "variable": tuple(_VARIABLES),
            "other": (
                *("", "", "getValueState('seen', 'b BOOLEAN')", "getListState('seen', 'b INT')"),
                "deleteIfExists('seen')",
            ),
            "ttl": tuple(_TTL),
            "time mode": ("None", "None", "ProcessingTime", "EventTime"),
            "body": ("plain", "plain", "doubled"),
            "mode": ("update", "update", "append"),
            "encoding": ("unsaferow", "avro"),
        },
    ),
}
"""Shapes by topic, each with the values that its slots take."""
