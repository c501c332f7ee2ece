"""The documentation builds, and what README and its pages show is what happens.

Blocks run from top to bottom, a page at a time, in one directory with a copy of the examples in
which the flights have run: `python` is executed (with pytest where it has tests), each `$` line
of `console` prints what stands below it, commands and options of `stateplan` in `sh` and `bash`
exist, and `yaml` with `sql` is a description. `text` is not looked at.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from stateplan.planner.cli import main
from stateplan.planner.description import load_description

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "pages"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *kinds: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text()) if kind in kinds]


def test_the_documentation_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(
        [*command, "-f", str(ROOT / "docs" / "mkdocs.yml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = (tmp_path / "site" / "reference" / "commands" / "index.html").read_text()
    assert "--checkpoint" in shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_these_options(page: Path) -> None:
    for line in "\n".join(blocks(page, "sh", "bash", "console")).splitlines():
        words = line.removeprefix("$ ").split("#")[0].split(" -- ")[0].split()
        if words[:1] != ["stateplan"]:
            continue
        command: click.Command = main
        words.pop(0)
        while isinstance(command, click.Group):
            found = command.commands.get(words[0])
            assert found is not None, line
            command = found
            words.pop(0)
        known = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
        used = {word.split("=")[0] for word in words if re.fullmatch(r"--?[a-z].*", word)}
        assert used <= known, line


def test_descriptions_are_good(tmp_path: Path) -> None:
    seen = 0
    for page in PAGES:
        for text in blocks(page, "yaml"):
            if "sql" in yaml.safe_load(text):
                (tmp_path / "query.yaml").write_text(text)
                load_description(tmp_path / "query.yaml")
                seen += 1
    assert seen


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the README's first command has run."""
    path = tmp_path_factory.mktemp("docs")
    made = shutil.ignore_patterns("data", "out", "checkpoint", "__pycache__")
    shutil.copytree(ROOT / "examples", path / "examples", ignore=made)
    (path / "jobs").mkdir()
    shutil.copy(path / "examples/flights/departures-per-hour.yaml", path / "jobs")
    shutil.copy(path / "examples/guide/word_count.py", path / "jobs/sessions.py")
    done = in_shell("python examples/flights/run.py", path)
    assert "60,140 rows in examples/flights/out/departures-per-hour" in done, done
    return path


def in_shell(command: str, path: Path) -> str:
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=path,
        env={**os.environ, "PATH": search},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


@pytest.mark.embedded
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_run(page: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory)
    names: dict[str, object] = {"__name__": page.stem}
    for number, text in enumerate(blocks(page, "python")):
        if re.search(r"^def test_", text, re.MULTILINE):
            (directory / f"test_{page.stem}_{number}.py").write_text(text)
            golden = " --update-golden" if "golden_plan" in text else ""
            command = f"python -m pytest -q -p no:cacheprovider test_{page.stem}_{number}.py"
            shown = in_shell(command + golden, directory)
            assert " passed" in shown and "failed" not in shown, shown
        else:
            exec(compile(text, f"{page.name}, block {number}", "exec"), names)
    for text in blocks(page, "console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            shown = in_shell(command, directory)
            assert lines(shown) == lines(expected), command


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
