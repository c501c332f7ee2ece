"""Which calls of a user's code must not answer False or None, or the code gives up."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

from stateplan.planner.connect.script.endings import ends_without
from stateplan.planner.connect.script.notebook import read_cells, trees_of
from stateplan.planner.connect.script.uncalled import beyond_spark, uncalled

CODE = """\
import re, sys
def main(spark):
    if not asks("a"): raise ValueError  # needed
    if asks("b"):
        print("there")
    else:
        sys.exit(1)  # needed above
    here = asks("c")  # needed
    print(here)
    if here is None:
        raise SystemExit
    lost = [one for one in ("d",) if not asks(one)]  # needed
    if lost:
        exit(1)
    re_found = asks("e").group  # needed
    assert asks("f"), "no f"  # needed
    print(asks("x")[0])  # needed
    part = asks("y")  # needed
    print(part.group, part["b"])
    whole = asks("z")
    print(whole.group, whole)
    if not asks("g"):
        return  # needed above
    spark.readStream
def other():
    if not asks("h"):
        print("made")
    if asks("i"):
        return None
    if not asks("j"):
        return None
    if asks("k") is not None:
        raise ValueError
    return asks("l")
"""


def test_code_that_ends_where_something_is_not_there_needs_it(tmp_path: Path) -> None:
    file = tmp_path / "job.py"
    file.write_text(CODE, encoding="utf-8")
    needed: list[str] = []

    class There:
        group = None

        def __getitem__(self, key: object) -> None:
            """None."""

    def asks(name: str) -> object:
        if ends_without(sys._getframe(1)):
            needed.append(name)
        return There()

    spark = type("Spark", (), {"readStream": None})
    names = {"asks": asks}
    exec(compile(CODE, str(file), "exec"), names)
    for function in (lambda: names["main"](spark), names["other"]):  # type: ignore[operator]
        with suppress(ValueError):
            function()
    assert needed == ["a", "b", "c", "d", "e", "f", "x", "y", "g"]


def test_what_only_databricks_has_in_pipelines(tmp_path: Path) -> None:
    head = "from pyspark import pipelines as p\n@p.table(name='a')\ndef a(): ...\n"
    for code, beyond in (
        ("p.create_streaming_table('b', comment='c')\n", False),
        ("p.create_streaming_table('b', expect_all={})\n", True),
        ("@p.foreach_batch_sink\ndef b(): ...\n", True),
    ):
        (tmp_path / "a.py").write_text(head + code, encoding="utf-8")
        assert beyond_spark(tmp_path / "a.py") is beyond


NOTEBOOK = """\
# Databricks notebook source
a = 1
# COMMAND ----------
this is no Python
# COMMAND ----------
for one in settings.streams:
    spark.readStream.load(one).writeStream.start()
"""


FILLED = """\
names = []
for one in settings.tables:
    names.append(one.name)
# COMMAND ----------
for one in settings.others:
    print(one)
for name in names:
    spark.readStream.table(name).writeStream.start()
"""


def test_the_cells_of_a_notebook_s_source_are_read_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "note.py"
    file.write_text(NOTEBOOK, encoding="utf-8")
    assert len(read_cells(str(file))) == 3 and len(trees_of(str(file))) == 2
    assert uncalled(str(file)).loops == {6}
    assert re.match(r"\n{5}for one", read_cells(str(file))[2].source)
    file.write_text(FILLED, encoding="utf-8")
    assert uncalled(str(file)).loops == {2, 7}
