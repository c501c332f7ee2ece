"""Changes of a user's function with state, and of the variables that a processor declares."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evolutions import checked, lay_checkpoint, queries

from stateplan.planner.described_sources import described_sources
from stateplan.planner.evolution.check import check_against
from stateplan.planner.evolution.reading import read_checkpoint
from stateplan.planner.evolution.refusals import fields_of
from stateplan.planner.evolution.side import side_of
from stateplan.planner.evolution.stored import StoredCheckpoint, StoredSchema
from stateplan.planner.query import Query

_PROCESSOR = """
from pyspark.sql.streaming import StatefulProcessor

class Counting(StatefulProcessor):
    step = {step}

    def __init__(self, most):
        self.most = most

    def init(self, handle):
        self.kept = handle.getValueState("n", "n INT")

    def handleInputRows(self, key, rows, timerValues):
        yield from ()
"""


_DECLARES = 'self.kept = handle.getValueState("n", "n INT")'


def _with_processor(
    step: int,
    most: int,
    before: str = "",
    mode: str = "update",
    time_mode: str = "None",
    init: str = _DECLARES,
) -> Query:
    names: dict[str, Any] = {"__name__": "__main__"}
    code = _PROCESSOR.format(step=step).replace(_DECLARES, init)
    exec(before + code, names)

    def counted(events: Any) -> Any:
        processor = names["Counting"](most)
        groups = events.groupBy("k")
        return groups.transformWithStateInPandas(processor, "k STRING", mode, time_mode)

    sources = described_sources({"events": {"schema": "k STRING"}})
    return Query(counted, sources=sources, output_mode=mode)


def test_a_processor_is_compared_by_its_code(tmp_path: Path) -> None:
    """A class of the user's own travels in the pickle, with a number that each process draws."""
    first = _with_processor(1, 5)
    stored = read_checkpoint(lay_checkpoint(tmp_path, first))
    moved = _with_processor(1, 5, before="# some lines below\n\n")
    assert check_against(moved, stored, first).verdict == "same"
    for other in (_with_processor(2, 5), _with_processor(1, 6)):
        report = check_against(other, stored, first)
        assert (report.verdict, [f.what for f in report.findings]) == ("differs", ["function"])


def test_a_docstring_is_no_change_unless_code_reads_it(tmp_path: Path) -> None:
    first = _with_processor(1, 5)
    stored = read_checkpoint(lay_checkpoint(tmp_path, first))
    documented = _with_processor(1, 5, init=f'"""Declares it."""\n        {_DECLARES}')
    assert check_against(documented, stored, first).verdict == "same"
    other = _with_processor(1, 5, init=f'print("Declares it.")\n        {_DECLARES}')
    assert check_against(other, stored, first).verdict == "differs"
    reads = "print(self.init.__doc__)"
    was, now = (
        _with_processor(1, 5, init=f'"""{text}"""\n        {_DECLARES}\n        {reads}')
        for text in ("Declares it.", "Declares that.")
    )
    assert check_against(now, stored, was).verdict == "differs"


def test_modes_of_a_processor_stay(tmp_path: Path) -> None:
    """Spark keeps them in the checkpoint; of one of our own, the query that wrote it has them."""
    was = _with_processor(1, 5)
    folder = lay_checkpoint(tmp_path, was)
    changes = (("outputMode", {"mode": "append"}), ("timeMode", {"time_mode": "ProcessingTime"}))
    for name, change in changes:
        report = check_against(_with_processor(1, 5, **change), read_checkpoint(folder), was)
        assert report.condition == "STATE_STORE_INVALID_CONFIG_AFTER_RESTART"
        assert [(f.what, f.operator) for f in report.findings] == [(name, 0)]
    kept = {"timeMode": "NoTime", "outputMode": "Append"}
    described = {
        "operatorInfo": {"operatorId": 0, "operatorName": "transformWithStateInPandasExec"}
    }
    path = Path(folder) / "state/0/_metadata/v2/0"
    path.parent.mkdir()
    content = {**described, "operatorPropertiesJson": json.dumps(kept)}
    path.write_text(f"v2\n{json.dumps(content)}")
    report = check_against(was, read_checkpoint(folder), None)
    assert [(f.what, f.was, f.now) for f in report.findings] == [("outputMode", "Append", "Update")]


def _grouped(delay: int, timeout: str, function: str = "lambda k, frames, state: frames") -> str:
    call = f"applyInPandasWithState({function}, 'k STRING', 'n INT', 'update', '{timeout}')"
    return f"events.withWatermark('ts', '{delay} seconds').groupBy('k').{call}"


@pytest.mark.parametrize(
    ("timeout", "function", "verdict"),
    [
        ("NoTimeout", "lambda k, frames, state: frames", "same"),
        ("NoTimeout", "lambda k, frames, state: [state.getCurrentWatermarkMs()]", "differs"),
        ("EventTimeTimeout", "lambda k, frames, state: frames", "differs"),
    ],
)
def test_functions_hear_a_watermark_in_event_time(
    timeout: str, function: str, verdict: str, tmp_path: Path
) -> None:
    """Spark drops late rows of such a function only where its timeouts are in event time."""
    sides = (_grouped(delay, timeout, function) for delay in (10, 50))
    was, now = queries(*sides)
    report = checked(was, now, tmp_path)
    assert report.verdict == verdict
    assert {f.what for f in report.findings} == ({"watermark"} if verdict == "differs" else set())


def test_a_functions_own_variables_may_have_other_names(tmp_path: Path) -> None:
    texts = ("[one for one in frames]", "[two for two in frames]", "[len(one) for one in frames]")
    same, *others = (_grouped(10, "NoTimeout", f"lambda k, frames, state: {t}") for t in texts)
    for now, verdict in zip(others, ("same", "differs"), strict=True):
        assert checked(*queries(same, now), tmp_path / verdict).verdict == verdict


def test_timers_in_event_time_come_with_batches_without_data(tmp_path: Path) -> None:
    """Without such batches the watermark of the data's next batch judges what is late."""
    timed = _grouped(10, "EventTimeTimeout")
    setting = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
    was, now = queries(timed, timed, conf=setting)
    assert [f.what for f in checked(was, now, tmp_path).findings] == ["no-data batches"]


_TYPES = "from pyspark.sql import types as T\nfrom pyspark.sql.types import *\nMINUTE = 60_000\n"
_STRUCT = "StructType([StructField('n', IntegerType()), StructField('d', DecimalType(9, 2))])"
_KEY = "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
_VALUE = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
_KIND = "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE"
_AVRO = "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION"


@pytest.mark.parametrize(
    ("was", "now", "plain", "avro"),
    [  # as a live Spark answers
        ("getValueState('n', 'n INT')", "getListState('n', 'n INT')", _KIND, _KIND),
        ("getListState('n', 'n INT')", "getValueState('n', 'n INT')", _KIND, _KIND),
        ("getValueState('n', 'n INT')", "getMapState('n', 'k INT', 'n INT')", _KEY, _KEY),
        ("getMapState('n', 'k INT', 'n INT')", "getMapState('n', 'k STRING', 'n INT')", _KEY, _KEY),
        ("getValueState('n', 'n INT')", "getValueState('n', 'n LONG')", _VALUE, None),
        ("getValueState('n', 'n LONG')", "getValueState('n', 'n INT')", _VALUE, _AVRO),
        ("getValueState('n', 'n INT')", "getValueState('n', 'n INT, m STRING')", _VALUE, None),
        ("getValueState('n', 'n INT, m STRING')", "getValueState('n', 'm STRING')", _VALUE, None),
        ("getValueState('n', 'n INT')", "getValueState('n', 'n STRING')", _VALUE, _AVRO),
        ("getValueState('n', 'n INT')", "getValueState('n', 'n INT', 5 * MINUTE)", _VALUE, None),
        ("getValueState('n', 'n INT')", "getValueState('n', 'm INT')", None, None),
        ("getValueState('n', 'n INT')", "getValueState('m', 'n LONG')", None, None),
        (
            f"getValueState('n', {_STRUCT})",
            "getValueState('n', 'n INT, d DECIMAL(9,2)')",
            None,
            None,
        ),
        (f"getValueState('n', {_STRUCT})", f"getValueState('n', schema={_STRUCT})", None, None),
        (
            "getValueState('n', T.StructType().add('n', T.ArrayType(T.LongType())))",
            "getValueState('n', 'n ARRAY<INT>')",
            _VALUE,
            _AVRO,
        ),
    ],
)
def test_a_processors_variables_are_compared_as_spark_does(
    was: str, now: str, plain: str | None, avro: str | None, tmp_path: Path
) -> None:
    """Without the old query, and without running `init`."""
    more: dict[str, Any] = {"before": _TYPES, "time_mode": "ProcessingTime"}
    old, new = (
        _with_processor(1, 7, init=f"self.handle = handle; self.v = handle.{d}", **more)
        for d in (was, now)
    )
    for encoding, condition in (("unsaferow", plain), ("avro", avro)):
        stored = _as_spark_stores(read_checkpoint(lay_checkpoint(tmp_path / encoding, old)), old)
        conf = {"spark.sql.streaming.stateStore.encodingFormat": encoding}
        report = check_against(new, replace(stored, conf={**stored.conf, **conf}))
        assert report.condition == condition, encoding
        assert (report.verdict == "refused") == (condition is not None)


def _as_spark_stores(stored: StoredCheckpoint, query: Query) -> StoredCheckpoint:
    """A checkpoint with the column families of a processor."""
    (operator,) = side_of(query.execution, {}).operators
    stores = {
        store.name: StoredSchema(tuple(fields_of(store.key)), tuple(fields_of(store.value)))
        for store in operator.stores[1:]
    }
    kinds = [{"stateName": n, "stateVariableType": k} for n, k in operator.variables.items()]
    properties = {**operator.fixed, "stateVariables": kinds}
    own = replace(stored.operators[0], stores=stores, properties=properties)
    return replace(stored, operators={0: own})


@pytest.mark.parametrize(
    "init",
    [
        "self.declare(handle)",
        "self.handle = handle; self.declare()",
        "self.v = [handle.getValueState(n, 'n INT') for n in 'ab']",
        "h = handle; self.v = [h.getValueState(n, 'n INT') for n in 'ab']",
        "get = handle.getValueState; self.v = [get(n, 'n INT') for n in 'ab']",
        "self.h = handle; self.v = [self.h.getValueState(n, 'n INT') for n in 'ab']",
        "both = [handle]; self.v = both[0].getValueState('n', 'n INT')",
        "self.v = handle.getValueState('n' if self.most else 'm', 'n INT')",
        "self.v = getattr(handle, 'getValueState')('n', 'n INT')",
    ],
)
def test_what_a_processor_declares_may_not_be_known(init: str) -> None:
    query = _with_processor(1, 7, init=f"{init}\n\n    def declare(self, *handles):\n        pass")
    (operator,) = side_of(query.execution, {}).operators
    assert (operator.variables, [s.name for s in operator.stores]) == ({}, ["default"])
