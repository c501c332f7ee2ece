"""Pages: self-contained, each operator with its facts, small; in a browser where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from evolutions import lay_checkpoint

import stateplan
from stateplan.physical.explain.tree import mermaid_text, plan_graph
from stateplan.planner.cli import main
from stateplan.planner.model.errors import DescriptionError
from stateplan.planner.pages.plan_page import places, stages
from stateplan.planner.pages.run_page import run_page
from stateplan.planner.pages.shell import write_page
from stateplan.planner.query import Query

EVENTS = "user STRING, ts TIMESTAMP, n INT"
STREAM = "STREAM {0} WATERMARK ts DELAY OF INTERVAL 10 MINUTES"
JOIN = f"""SELECT window(a.ts, '1 hour') AS hour, count(*) AS `<b>` FROM {STREAM.format("a")}
JOIN {STREAM.format("b")} ON a.user = b.user AND b.ts > a.ts GROUP BY 1"""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")


class Page(HTMLParser):
    """A page's ids, links, texts and elements; elements must close as they open."""

    VOID = ("meta", "br", "rect", "path", "line", "polyline", "circle")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "data-op"):
                self.links.append(str(value).removeprefix("#"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def joined() -> Query:
    return stateplan.sql(JOIN, {"a": EVENTS, "b": EVENTS})


def test_a_plan_has_a_page_of_its_own() -> None:
    query = joined()
    text = query.html("hours")
    page = Page(text)
    assert page.open == []
    nodes = plan_graph(query.execution.executed_plan).nodes
    assert len(page.ids) == len(set(page.ids)) == len(nodes)
    assert set(page.links) == set(page.ids)  # nothing from elsewhere
    assert not re.search(r"https?://|@import|url\(", text)
    for part in ("hours, append mode", "200 partitions by user", "Advice (1)"):
        assert part in text
    assert "<b>`" not in text and "&lt;b&gt;" in text


def test_every_operator_stands_above_its_inputs_and_none_on_another() -> None:
    graph = plan_graph(joined().execution.executed_plan)
    found = places(graph)
    assert len(set(found)) == len(found)
    assert all(found[child][1] > found[parent][1] for child, parent in graph.edges)


def test_stages_end_at_exchanges() -> None:
    graph = plan_graph(joined().execution.executed_plan)
    stage = stages(graph)
    for child, parent in graph.edges:
        exchange = graph.nodes[child].node_name == "Exchange"
        assert (stage[child] != stage[parent]) == exchange
    assert set(stage) == {1, 2, 3, 4} and stage[0] == 4


def test_forty_operators_make_a_small_page() -> None:
    union = " UNION ALL ".join(
        f"SELECT user, n + {i} AS n FROM {STREAM.format('a')} WHERE n > {i}" for i in range(10)
    )
    query = stateplan.sql(
        f"SELECT user, sum(n) FROM ({union}) GROUP BY user", {"a": EVENTS}, "update"
    )
    assert len(plan_graph(query.execution.executed_plan).nodes) >= 40
    assert len(query.html()) < 100_000


def test_a_notebook_shows_the_page_apart_from_its_own() -> None:
    shown = joined()._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;') and shown.count("<") == 2


def test_mermaid_takes_names_as_text() -> None:
    text = mermaid_text(joined().execution.executed_plan)
    assert "hour, #lt;b#gt;" in text


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """An old query, a new one, and the old one's checkpoint."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    text = f"""sources: {{events: {{schema: "{EVENTS}"}}}}
sql: SELECT user, sum(n) AS total FROM STREAM events WHERE n > 1 GROUP BY user
output_mode: update"""
    old.write_text(text)
    new.write_text(text.replace("sum(n)", "max(n)").replace("n > 1", "n > 2"))
    return old, new, lay_checkpoint(tmp_path / "checkpoint", stateplan.load(old))


def call(tmp_path: Path, *arguments: object) -> str:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, [*map(str, arguments), "--html", str(page)])
    assert result.exit_code in (0, 1), result.output
    text = page.read_text(encoding="utf-8")
    assert Page(text).open == []
    return text


def test_commands_write_pages(tmp_path: Path, files: tuple[Path, Path, Path]) -> None:
    old, new, checkpoint = files
    assert "old, update mode" in call(tmp_path, "explain", old)
    checked = call(tmp_path, "check", new, "--checkpoint", checkpoint, "--was", old, "--advice")
    assert 'class="node refused state"' in checked or 'class="node differs state"' in checked
    assert "Cost: memory" in checked
    differing = call(tmp_path, "diff", old, new)
    assert differing.count('class="node changed"') == 2  # the filter, on both sides
    invalid = tmp_path / "invalid.yaml"
    invalid.write_text(new.read_text().replace("update", "append"))
    refused = call(tmp_path, "check", invalid, "--checkpoint", checkpoint)
    assert "STREAMING_OUTPUT_MODE" in refused and "<svg" not in refused


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="cannot be written"):
        write_page(tmp_path / "missing" / "page.html", "")


def test_a_runs_page_shows_every_peak() -> None:
    batches = [
        {
            "batchId": number,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "batchDuration": 9000 if number == 777 else 100,
            "numInputRows": 5,
            "stateOperators": [],
            "eventTime": {"watermark": f"{1970 + (number > 0) * 56}-01-01T00:00:00.000Z"},
        }
        for number in range(2000)
    ]
    text = run_page("A run", batches)
    assert Page(text).open == []
    assert "<b>Batch time</b> 0.10 s <small>most 9.00 s, batches 0 to 1999" in text
    assert "State rows" not in text.split("<table>")[0]  # the query has none
    assert "from 2026-01-01 00:00:00, batches 1 to 1999" in text
    assert len(text) < 60_000
    assert Page(run_page("A run", [])).open == []
    for size, shown in ((0, "0 B"), (999, "999 B"), (61_440, "61.4 kB"), (5e9, "5,000.0 MB")):
        state = {"numRowsTotal": 1, "memoryUsedBytes": size, "numRowsDroppedByWatermark": 0}
        text = run_page("A run", [{**batches[0], "stateOperators": [state]}])
        assert f"<b>State size</b> {shown} " in text


_KEYS = """<script>
const node = document.querySelector("a.node");
node.focus();
for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"])
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
document.title = document.querySelector("a.node[aria-current=true]").dataset.op + " "
  + document.querySelectorAll(".op.shown").length;
</script>"""


@pytest.mark.skipif(not BROWSER, reason="no browser is installed")
def test_keys_lead_through_the_plan_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(joined().html() + _KEYS, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    command = [BROWSER, *options, "--enable-logging=stderr", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "<title>p0-op1 1</title>" in done.stdout
    assert "Uncaught" not in done.stderr
