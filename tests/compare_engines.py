"""Measure what the embedded engine computes exactly as a live Spark does, and write the table.

    python tests/compare_engines.py --embedded-python .venv-embedded/bin/python
    python tests/compare_engines.py --seed 1 --table other.json ..., then --merge other.json
    python tests/compare_engines.py --summary

Every function, operator and cast that the planner knows is evaluated over typed boundary and random
values in both engines, through the SQL that the project prints, under ANSI mode on and off, in UTC
and in a time zone with daylight saving; readers and relational steps as well. The verdicts go to
`runtime/engines/agreement.json`. Needs the extra `spark`, Java, and an interpreter with the
embedded engine.
"""

from __future__ import annotations

import argparse
import pickle
import re
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
from engine_comparison.aggregates import aggregate_cases
from engine_comparison.cases import Case, all_cases
from engine_comparison.columns import DECIMALS, MOVED, NESTED, TYPES, column_of, type_of
from engine_comparison.comparison import Comparison
from engine_comparison.engines import Embedded, LiveSpark
from engine_comparison.own_code import computed_here
from engine_comparison.programs import all_programs
from engine_comparison.table import MODES, agrees, has, load, merge, put, put_reasons, save, summary
from engine_comparison.values import MANY_ROWS, ROWS, column
from engine_comparison.verdicts import entry

from stateplan.planner.model.expressions.core import AttributeReference, Expression
from stateplan.planner.model.schemas.types import DoubleType
from stateplan.runtime.engines.agreement import TABLE
from stateplan.runtime.engines.signatures import Signature

AT_ONCE = 100
PROGRAMS_AT_ONCE = 20


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--embedded-python", type=Path, help="the embedded engine's interpreter")
    parser.add_argument("--seed", type=int, default=0, help="of the random values")
    parser.add_argument("--only", default="", help="a regular expression that signatures match")
    parser.add_argument("--forms", type=int, default=6, help="expressions a signature, at most")
    parts = ("all", "expressions", "aggregates", "programs")
    parser.add_argument("--part", choices=parts, default="all", help="only this part")
    parser.add_argument("--mode", choices=("ansi", "legacy"), help="only with or without ANSI")
    parser.add_argument("--missing", action="store_true", help="only what the table does not have")
    parser.add_argument("--cases", type=Path, help="a file that keeps the generated cases")
    parser.add_argument("--table", type=Path, default=TABLE, help="the file that is written")
    parser.add_argument("--answers", type=Path, help="a file that keeps what Spark said")
    parser.add_argument("--merge", type=Path, help="take over what the table of another seed found")
    parser.add_argument("--summary", action="store_true", help="print the table's shares and stop")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    return parser.parse_args()


def table_of(expressions: list[Expression], seed: int, count: int = ROWS) -> pa.Table:
    """Rows for every column in the expressions."""
    found: dict[str, AttributeReference] = {}
    for expression in expressions:
        for node in expression.walk():
            if isinstance(node, AttributeReference):
                found[node.name] = node
    columns = {"id": pa.array(range(count), pa.int64())}
    for name, attribute in sorted(found.items()):
        columns[name] = column(attribute.type_, int(name.rsplit("_", 1)[1]), seed, count)
    return pa.table(columns)


def of_doubles(case: Case | None) -> bool:
    """Whether doubles are computed from doubles alone."""
    return case is not None and any(
        all(isinstance(part.data_type, DoubleType) for part in (form, *form.children))
        for form in case.forms.values()
    )


def cases_of(chosen: argparse.Namespace) -> dict[bool, dict[Signature, Case]]:
    if chosen.part == "programs":
        return {True: {}, False: {}}
    if chosen.cases and chosen.cases.exists():
        kept: dict[bool, dict[Signature, Case]] = pickle.loads(chosen.cases.read_bytes())
        return kept
    found = all_cases()
    if chosen.cases:
        chosen.cases.write_bytes(pickle.dumps(found))
    return found


def main() -> None:
    chosen = arguments()
    if chosen.summary:
        every = (*all_cases()[True].values(), *aggregate_cases()[True].values())
        print(summary(load(chosen.table), computed_here(every)))
        return
    if chosen.merge is not None:
        content = load(chosen.table)
        print(f"{merge(content, load(chosen.merge))} entries changed")
        save(content, chosen.table)
        return
    if chosen.embedded_python is None:
        sys.exit("--embedded-python says where the embedded engine is")
    begin = time.monotonic()
    cases = cases_of(chosen)
    print(f"{time.monotonic() - begin:.0f} s: {sum(map(len, cases.values()))} cases", flush=True)
    modes = (chosen.mode,) if chosen.mode else MODES
    if chosen.mode:
        cases = {chosen.mode == "ansi": cases[chosen.mode == "ansi"]}
    for case in (case for group in cases.values() for case in group.values()):
        case.forms = dict(list(case.forms.items())[: chosen.forms])
    expressions = [e for group in cases.values() for c in group.values() for e in c.forms.values()]
    types = (*TYPES, *DECIMALS, *NESTED, *MOVED)
    expressions += [column_of(type_of(t), n) for t in types for n in (1, 2)]
    rows = table_of(expressions, chosen.seed)
    doubles = [column_of(type_of("double"), n) for n in (1, 2)]
    many_rows = table_of(doubles, chosen.seed, MANY_ROWS)
    content = load(chosen.table)
    with tempfile.TemporaryDirectory() as place:
        sail = Embedded(chosen.embedded_python, rows, Path(place))
        comparison = Comparison(partial(LiveSpark, rows), sail, chosen.answers)
        (Path(place) / "many").mkdir()
        many_sail = Embedded(chosen.embedded_python, many_rows, Path(place) / "many")
        many = Comparison(partial(LiveSpark, many_rows), many_sail)
        wanted = [
            signature
            for signature in sorted(
                {signature for group in cases.values() for signature in group},
                key=lambda signature: ("lambda" in signature.arguments, signature),
            )
            if chosen.part in ("all", "expressions")
            and re.search(chosen.only, str(signature))
            and not (chosen.missing and has(content, signature, modes))
        ]
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            plain, rewritten = comparison.measure(some, cases, partial(agrees, content))
            again = [one for one in some if of_doubles(cases.get(True, {}).get(one))]
            more_plain, more_rewritten = many.measure(again, cases, partial(agrees, content))
            plain |= more_plain
            rewritten |= more_rewritten
            for signature in some:
                put(content, "expressions", signature, entry(plain.get(signature, {})), modes)
                put(content, "rewritten", signature, entry(rewritten.get(signature, {})), modes)
            save(content, chosen.table)
            comparison.keep()
            print(
                f"{time.monotonic() - begin:.0f} s: {start + len(some)} of {len(wanted)}",
                flush=True,
            )
            if time.monotonic() - begin > chosen.seconds:
                break
        if chosen.part in ("all", "aggregates"):
            aggregates = {a: c for a, c in aggregate_cases().items() if a in cases}
            found = comparison.measure_aggregates(aggregates, chosen.only)
            for signature, verdicts in found.items():
                put(content, "expressions", signature, entry(verdicts), modes)
        if chosen.part in ("all", "programs"):
            programs = [p for p in all_programs() if re.search(chosen.only, str(p.signature))]
            for start in range(0, len(programs), PROGRAMS_AT_ONCE):
                some_programs = programs[start : start + PROGRAMS_AT_ONCE]
                ansi = [mode == "ansi" for mode in modes]
                measured = comparison.measure_programs(some_programs, place, ansi)
                for section, found in measured.items():
                    for signature, verdicts in found.items():
                        put(content, section, signature, entry(verdicts), modes)
                comparison.keep()
                save(content, chosen.table)
                print(f"{start + len(some_programs)} of {len(programs)} programs", flush=True)
        comparison.keep()
        put_reasons(content)
        save(content, chosen.table)
        sail.stop()
        many_sail.stop()
    print(summary(content))


if __name__ == "__main__":
    main()
