"""The embedded engine in a process of its own: questions come as JSON lines, answers go back so.

Runs in the embedded engine's interpreter, without stateplan: `python sail_worker.py FILE`, with
the Parquet file of the rows. A question holds the session's settings and, per expression, the rows
to leave out and the rows to ask one by one.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
warnings.filterwarnings("ignore")

import pyarrow.parquet as pq  # noqa: E402
from canonical import texts  # noqa: E402
from pysail.spark import SparkConnectServer  # noqa: E402
from pyspark.sql import DataFrame, SparkSession, functions  # noqa: E402
from shapes import frame_of  # noqa: E402

TOGETHER = 24


class Engine:
    def __init__(self, path: str) -> None:
        self.server = SparkConnectServer("127.0.0.1", 0)
        self.server.start(background=True)
        _, port = self.server.listening_address
        self.session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        self.rows = self.session.read.parquet(path)
        self.table = pq.read_table(path)

    def configure(self, settings: dict[str, str]) -> None:
        for key, value in settings.items():
            self.session.conf.set(key, value)

    def column(self, sql: str, rows: DataFrame, shape: str = "rows") -> dict[str, Any]:
        """The type and the values of one expression, or its error."""
        try:
            frame = frame_of(shape, rows, [f"{sql} AS v"])
            shown = frame.schema.fields[1].dataType.simpleString()
            table = frame.toArrow()
            return {
                "type": shown,
                "rows": dict(zip(texts(table["id"]), texts(table["v"]), strict=False)),
            }
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:2000]}

    def many(self, sqls: list[str], shape: str = "rows") -> dict[str, Any]:
        """Expressions in one query; one by one where that fails."""
        if len(sqls) > 1:
            try:
                named = [f"{sql} AS v{i}" for i, sql in enumerate(sqls)]
                frame = frame_of(shape, self.rows, named)
                kinds = [field.dataType.simpleString() for field in frame.schema.fields[1:]]
                table = frame.toArrow()
                ids = texts(table["id"])
                return {
                    sql: {"type": kind, "rows": dict(zip(ids, texts(table[f"v{i}"]), strict=False))}
                    for i, (sql, kind) in enumerate(zip(sqls, kinds, strict=False))
                }
            except Exception:
                half = len(sqls) // 2
                return {**self.many(sqls[:half], shape), **self.many(sqls[half:], shape)}
        return {sql: self.column(sql, self.rows, shape) for sql in sqls}

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        self.configure(question["settings"])
        if "program" in question:
            return self.program(question["program"], question["place"])
        if question.get("shape", "rows") != "rows":
            return self.many(question["sqls"], question["shape"])
        failing: dict[str, list[int]] = question["failing"]
        plain = [sql for sql in question["sqls"] if not failing.get(sql)]
        found: dict[str, Any] = {}
        for start in range(0, len(plain), TOGETHER):
            found.update(self.many(plain[start : start + TOGETHER]))
        for sql in question["sqls"]:
            rows = failing.get(sql)
            if rows:
                kept = self.rows.filter(f"id NOT IN ({', '.join(map(str, rows))})")
                found[sql] = self.column(sql, kept)
                found[sql]["errors"] = {}
                for row in question["single"][sql]:
                    one = self.column(sql, self.rows.filter(f"id = {row}"))
                    found[sql]["errors"][row] = one.get("error")
            elif "error" in found[sql]:
                empty = self.column(sql, self.rows.filter("id < 0"))
                found[sql]["planned"] = "error" not in empty
        return found

    def program(self, text: str, place: str) -> dict[str, Any]:
        """A whole query in Python that leaves a DataFrame in `result`: its type and rows."""
        try:
            names: dict[str, Any] = {"spark": self.session, "rows": self.rows, "place": place}
            exec(text, {**names, "table": self.table, "F": functions}, names)
            table = names["result"].toArrow()
            kind = names["result"].schema.simpleString()
            columns = [texts(table.column(i)) for i in range(table.num_columns)]
            return {"type": kind, "list": [" | ".join(row) for row in zip(*columns, strict=True)]}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:2000]}


def main() -> None:
    engine = Engine(sys.argv[1])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(engine.answer(json.loads(line))), flush=True)
    os._exit(0)  # The server's threads would keep the process.


if __name__ == "__main__":
    main()
