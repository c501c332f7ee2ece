"""Golden plans of a user's tests: a readable file beside each test module.

`test_jobs.golden.yaml` has an entry for each plan that `test_jobs.py` asks for, by the test's name:
the output mode, the settings, the columns that come out, what is kept (`state`), the plan, and
`packed`, the plan as the checkpoints of our runtime hold it (JSON, compressed), from which
differences are computed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from stateplan.physical.explain.normalise import normalise
from stateplan.physical.explain.stateful import stateful_text
from stateplan.physical.explain.tree import tree_text
from stateplan.planner.described_sources import described_sources
from stateplan.planner.evolution.check import Asked, planned
from stateplan.planner.evolution.diff import diff_plans, diff_text
from stateplan.planner.evolution.documents import document_of, side_from
from stateplan.planner.evolution.inputs import load_asked
from stateplan.planner.model.text.literal_text import time_zone_scope
from stateplan.planner.query import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from stateplan.planner.evolution.side import Side

SUFFIX = ".golden.yaml"
Entry = dict[str, Any]
_COMPARED = ("mode", "settings", "columns", "state", "plan")
_UPDATE = "pytest --update-golden"
_WIDEST = 1000  # columns in a list of columns
_PACKED = 96  # characters in a line


class GoldenPlanChanged(AssertionError):
    """A plan differs from the golden plan; the message shows how."""


class GoldenFile:
    """The golden plans of one test module.

    Args:
        path: the file; it need not be there.
        update: write what differs instead of failing.
    """

    def __init__(self, path: Path, *, update: bool) -> None:
        self.path = path
        self.update = update
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self.entries: dict[str, Entry] = yaml.safe_load(text) or {}

    def check(self, name: str, asked: Asked) -> None:
        """Compare a query's plan with the entry of this name, or write it.

        Raises:
            GoldenPlanChanged: there is no such entry, or another plan in it.
            StateplanError: the query cannot be planned.
        """
        __tracebackhide__ = True
        side = planned(asked, {})
        found, golden = _entry(side), self.entries.get(name)
        if golden is not None and all(golden.get(key) == found[key] for key in _COMPARED):
            return
        if self.update:
            self.entries[name] = found
            self.write()
            return
        if golden is None:
            raise GoldenPlanChanged(
                f"{self.path.name} has no golden plan '{name}'; {_UPDATE} writes it."
            )
        raise GoldenPlanChanged(
            f"The plan '{name}' is not the one in {self.path.name}:\n\n"
            f"{_difference(golden, found, side)}\n\n{_UPDATE} takes the new one."
        )

    def remove_orphans(self, names: Iterable[str]) -> None:
        """Take out entries that no test asks for.

        Raises:
            GoldenPlanChanged: there are some, and nothing may be written.
        """
        orphans = sorted(names)
        if orphans and not self.update:
            raise GoldenPlanChanged(
                f"No test asks for these golden plans of {self.path.name} any more:"
                f" {', '.join(orphans)}. {_UPDATE} takes them out."
            )
        for name in orphans:
            del self.entries[name]
        if orphans:
            self.write()

    def write(self) -> None:
        """Write the file; without entries there is none."""
        if not self.entries:
            self.path.unlink(missing_ok=True)
            return
        head = f"# Golden plans of {self.path.name.removesuffix(SUFFIX)}.py. {_UPDATE} writes them."
        blocks = (_block(name, self.entries[name]) for name in sorted(self.entries))
        self.path.write_text("\n".join([head, *blocks]) + "\n", encoding="utf-8")


class GoldenPlans:
    """What the fixture `golden_plan` gives: call it with a query."""

    def __init__(self, file: GoldenFile, test: str) -> None:
        self._file = file
        self._test = test
        self._asked: set[str] = set()

    def __call__(
        self,
        query: Asked | str | Path | Callable[..., DataFrame],
        sources: Mapping[str, Any] | None = None,
        *,
        output_mode: str = "append",
        conf: Mapping[str, object] | None = None,
        name: str = "",
    ) -> None:
        """Check that a query's plan is the golden one.

        Args:
            query: a query; SQL text; a function of DataFrames named as the sources are; or the
                path of a file that explains.
            sources, output_mode, conf: for text and functions, as for `stateplan.sql`.
            name: distinguishes the plans of one test.

        Raises:
            GoldenPlanChanged: it is another one, or there is none yet.
            StateplanError: the query cannot be planned.
        """
        __tracebackhide__ = True
        key = f"{self._test}/{name}" if name else self._test
        self._asked.add(key)
        self._file.check(key, _asked(query, sources, output_mode, conf or {}))

    def check_orphans(self) -> None:
        """Fail if the test asked for fewer plans than the file has of it."""
        __tracebackhide__ = True
        own = {key for key in self._file.entries if test_of(key) == self._test}
        self._file.remove_orphans(own - self._asked)


def test_of(key: str) -> str:
    """The test that an entry belongs to."""
    head, bracket, parameters = key.partition("[")
    if bracket:
        inner, close, _ = parameters.rpartition("]")
        return f"{head}[{inner}{close}"
    return head.partition("/")[0]


def _asked(
    query: Asked | str | Path | Callable[..., DataFrame],
    sources: Mapping[str, Any] | None,
    output_mode: str,
    conf: Mapping[str, object],
) -> Asked:
    from stateplan.planner.model.settings.conf import Conf

    if isinstance(query, Path):
        return load_asked(query)
    if isinstance(query, str) or callable(query):
        described = described_sources(sources)
        return Query(query, sources=described, output_mode=output_mode, conf=Conf.of(conf))
    return query


def _entry(side: Side) -> Entry:
    with time_zone_scope(side.conf.time_zone):
        plan = normalise(tree_text(side.plan, _WIDEST))
        state = normalise(stateful_text(side.plan, places=False)).partition("\n")[2]
    entry = {
        "mode": side.mode,
        "settings": dict(side.asked.settings),
        "columns": ", ".join(f"{c.name} {c.data_type.sql}" for c in side.plan.output),
        "state": state,
        "plan": plan,
    }
    document = document_of(side)
    if document is not None:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        packed = base64.b85encode(zlib.compress(text.encode(), 9)).decode()
        entry["packed"] = packed
    return entry


def _difference(golden: Entry, found: Entry, now: Side) -> str:
    """What differs, by meaning and its effect on state; where that is the same, line by line."""
    was = None
    if "packed" in golden:
        text = zlib.decompress(base64.b85decode("".join(golden["packed"].split())))
        was = side_from(json.loads(text), {})
    if was is not None:
        diff = diff_plans(was, now)
        if diff.differences:
            return diff_text(diff)
    old, new = (_block("", {k: e[k] for k in _COMPARED}).split("\n")[1:] for e in (golden, found))
    changed = list(unified_diff(old, new, lineterm="", n=1))[2:]  # without the names of files
    same = "The queries mean the same; their text differs:\n" if was is not None else ""
    return same + "\n".join(changed)


def _block(name: str, entry: Entry) -> str:
    """An entry as YAML."""
    lines = [f"{json.dumps(name)}:"]
    for key, value in entry.items():
        if key == "packed":
            rows = (value[i : i + _PACKED] for i in range(0, len(value), _PACKED))
            lines += ["  packed: >-", *(f"    {row}" for row in rows)]
        elif isinstance(value, str) and "\n" in value and value.replace("\n", "").isprintable():
            lines += [
                f"  {key}: |-",
                *(f"    {line}" if line else "" for line in value.split("\n")),
            ]
        else:
            lines.append(f"  {key}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines)
