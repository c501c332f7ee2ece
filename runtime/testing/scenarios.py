"""`stateplan test`: run scenario files, compare, report for people and for machines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree

from ...planner.description import load_scenario
from ...planner.model.errors import DescriptionError
from ..comparison import as_text
from ..engines.opening import open_session
from .checked import CheckedScenario, check_scenario
from .update import write_expectation

SUFFIXES = (".yaml", ".yml", ".json")
Result = tuple[Path, str, CheckedScenario]
"""A scenario's file and name, and what came of it."""
_OUTCOMES = ("passed", "failed", "updated", "without expectation", "not chosen", "not run")
_WORD = re.compile(r"\s*(\(|\)|[^\s()]+)")


def scenario_files(paths: Sequence[str | Path]) -> Iterator[Path]:
    """The files named, and those in the directories named, in order.

    Raises:
        DescriptionError: a path does not exist.
    """
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.iterdir() if p.suffix in SUFFIXES)
        elif path.exists():
            yield path
        else:
            raise DescriptionError(
                "STATEPLAN_FILE_NOT_FOUND",
                f"There is no scenario file or directory '{path}'.",
                hint="Name scenario files (YAML or JSON) or directories of them.",
            )


def chosen_by(expression: str) -> Callable[[str], bool]:
    """The condition on a name that an expression is: parts of names, and, or, not, brackets.

    Raises:
        DescriptionError: it is no such expression.
    """
    words = _WORD.findall(expression)

    def holds(name: str) -> bool:
        known = [
            word if word in ("(", ")", "and", "or", "not") else str(word.lower() in name.lower())
            for word in words
        ]
        return bool(eval(" ".join(known), {"__builtins__": {}}))  # of these words alone

    try:
        holds("")
    except (SyntaxError, TypeError):
        raise DescriptionError(
            "STATEPLAN_BAD_EXPRESSION",
            f"'{expression}' chooses no scenarios.",
            hint="Write parts of names with and, or, not and brackets: 'window and not session'.",
        ) from None
    return holds


def run_paths(
    paths: Sequence[str | Path],
    *,
    master: str | None = None,
    engine: str = "auto",
    chosen: str | None = None,
    first_failure: bool = False,
    update: bool = False,
    json_out: str | Path | None = None,
    junit_out: str | Path | None = None,
    out: TextIO | None = None,
) -> int:
    """Run scenario files and directories; returns 0 if all that expect something got it, else 1.

    Args:
        paths: files and directories.
        master, engine: see `open_session`.
        chosen: only those whose name this expression is true of.
        first_failure: stop at the first that fails.
        update: write what differs into the files as what they expect from now on.
        json_out: a file that gets what was emitted.
        junit_out: a file that gets the results as JUnit XML.
        out: standard output, or another.

    Raises:
        StateplanError: a file is unusable, or Spark cannot start.
    """
    wanted = chosen_by(chosen) if chosen is not None else lambda name: True
    loaded = [(path, load_scenario(path)) for path in scenario_files(paths)]
    named = [(path, one.id or path.stem, one) for path, one in loaded]
    scenarios = [one for one in named if wanted(f"{one[0].name} {one[1]}")]
    spark, choice = open_session(engine, "test", master=master)
    print(f"engine: {choice.engine}. {choice.reason}", file=out)
    results: list[Result] = []
    counts = Counter[str](passed=0, failed=0)
    for path, name, scenario in scenarios:
        result = check_scenario(spark, scenario)
        results.append((path, name, result))
        outcome = _reported(path, name, scenario.title or "", result, update, out)
        counts[outcome] += 1
        if outcome == "failed" and first_failure:
            break
    if json_out is not None:
        _write_json(Path(json_out), results)
    if junit_out is not None:
        _write_junit(Path(junit_out), results)
    counts["not chosen"] = len(named) - len(scenarios)
    counts["not run"] = len(scenarios) - len(results)
    shown = [name for name in _OUTCOMES if counts[name] or name in ("passed", "failed")]
    print(", ".join(f"{counts[name]} {name}" for name in shown), file=out)
    return 1 if counts["failed"] else 0


def _reported(
    path: Path, name: str, title: str, result: CheckedScenario, update: bool, out: TextIO | None
) -> str:
    """What came of a scenario, of `_OUTCOMES`, once it is printed; `update` writes what differs."""
    ran = f"{len(result.emitted.get('batches') or [])} batches, {result.seconds:.1f} s"
    if update and (result.found or not result.expects):
        write_expectation(path, result.emitted)
        print(f"wrote {name}: {ran}", file=out)
        return "updated"
    if not result.expects:
        print(f"ran   {name}: {ran}, nothing expected; --update writes it", file=out)
        _print_emitted(result.emitted, out)
        return "without expectation"
    if not result.found:
        print(f"ok    {name}: {ran}", file=out)
        return "passed"
    print(f"FAIL  {name}: {title} ({ran})", file=out)
    for line in result.report:
        print(f"      {line}", file=out)
    return "failed"


def _write_json(path: Path, results: Sequence[Result]) -> None:
    emitted = [{"id": name, **result.emitted} for _, name, result in results]
    text = json.dumps(emitted, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_junit(path: Path, results: Sequence[Result]) -> None:
    failed = sum(bool(result.found) for _, _, result in results)
    unchecked = sum(not result.expects for _, _, result in results)
    suite = ElementTree.Element(
        "testsuite",
        name="stateplan",
        tests=str(len(results)),
        failures=str(failed),
        errors="0",
        skipped=str(unchecked),
        time=f"{sum(result.seconds for _, _, result in results):.3f}",
    )
    for file, name, result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=str(file), name=name, time=f"{result.seconds:.3f}"
        )
        if result.found:
            failure = ElementTree.SubElement(case, "failure", message=result.found[0])
            failure.text = "\n".join(result.report)
        elif not result.expects:
            ElementTree.SubElement(case, "skipped", message="nothing expected")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _print_emitted(emitted: Mapping[str, Any], out: TextIO | None) -> None:
    for batch in emitted.get("batches") or []:
        print(f"      batch {batch['id']} (step {batch['step']})", file=out)
        for row in batch["rows"]:
            print(f"        {as_text(row)}", file=out)
    if "error" in emitted:
        print(f"      error: {as_text(emitted['error'])}", file=out)
