"""Notebooks as Python: Jupyter's .ipynb, and the source files of Databricks and Fabric."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ...model.errors import DescriptionError
from ...model.frozen import dataclass

SQL = "_stateplan_sql"
RUN = "_stateplan_run"
Note = Callable[[str, int, str], None]

_CELL_NAME = re.compile(r"(.+\.ipynb)\[\d+\]")
_MAGIC = "# MAGIC"
_CELL_END = "# COMMAND ----------"
_SOURCES = ("# Databricks notebook source", "# Fabric notebook source")
# Fabric marks where a cell begins: code, text, or what is known of the cell above.
_CELL_MARK = re.compile(r"# (COMMAND -{10}|(PARAMETERS )?CELL \*+|MARKDOWN \*+|METADATA \*+)\s*")
_PYTHON_CELLS = ("python", "pyspark", "spark", "time", "timeit", "capture", "local", "prun")
_TEXTS = ("md", "md-sandbox", "markdown", "html", "latex")
_MAGIC_LINE = re.compile(r"(?P<indent>\s*)(?:\w[\w, ]*=\s*)?(?P<sign>%%?|!|\?)(?P<rest>.*)")
# Jupyter takes these for magics without a sign.
_BARE_MAGIC = re.compile(
    r"(?P<indent>\s*)(?P<sign>)(?P<rest>(pip|conda|ls|cd|mkdir|rm|cp|mv|cat) .*)"
)


@dataclass(frozen=True)
class Cell:
    """Python code and the name that its lines have in messages."""

    file: str
    source: str


def is_notebook(path: str) -> bool:
    """Whether a file is one by its name or, for a notebook's source file, by what it holds."""
    if path.endswith(".ipynb"):
        return True
    text = _text(path)
    return text.startswith(_SOURCES) or f"\n{_CELL_END}" in text


def read_cells(path: str, note: Note | None = None) -> list[Cell]:
    """A file's Python code, line by line where it stands in the file.

    Args:
        path: the file: a script, a notebook, or a notebook's source.
        note: is called for each line that is skipped: the file, the line and what it was.

    Raises:
        DescriptionError: it is no notebook, though its name says so.
    """
    report = note or (lambda file, line, what: None)
    if path.endswith(".ipynb"):
        return [_cell(f"{path}[{n}]", text, report) for n, text in enumerate(_jupyter(path), 1)]
    text = _text(path)
    if not is_notebook(path) and _is_python(text):
        return [Cell(path, text)]
    return list(_source_cells(path, text.split("\n"), report))


def is_cell(file: str) -> bool:
    """Whether a name is that of a cell in messages, and no file's."""
    return _CELL_NAME.fullmatch(file) is not None


def trees_of(file: str) -> list[ast.Module]:
    """The code of a file, or of one cell by its name in messages, where it is Python.

    Raises:
        DescriptionError: it is no notebook, though its name says so.
    """
    named = _CELL_NAME.fullmatch(file)
    path = named[1] if named else file
    trees = []
    for cell in read_cells(path) if Path(path).is_file() else ():
        if not named or cell.file == file:
            with suppress(SyntaxError):
                trees.append(ast.parse(cell.source))
    return trees


def sql_of(cell: Cell) -> Iterator[str]:
    """The SQL texts of a cell."""
    for line in cell.source.splitlines():
        text = line.strip()
        if text.startswith(f"{SQL}(") and text.endswith(")"):
            yield str(ast.literal_eval(text[len(SQL) + 1 : -1]))


def names_of_cell(cell: Cell) -> set[str]:
    """The names that a cell would make; none where it is not Python."""
    try:
        return bound_names(ast.parse(cell.source))
    except SyntaxError:
        return set()


def bound_names(code: ast.AST) -> set[str]:
    """The names that code would make: what it assigns, defines and imports."""
    nodes = list(ast.walk(code))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    defined = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return stored | defined | {n.asname or n.name for n in nodes if isinstance(n, ast.alias)}


def _text(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _jupyter(path: str) -> Iterator[str]:
    try:
        content = json.loads(_text(path))
        sheets = content.get("worksheets") or [content]
        for cell in (cell for sheet in sheets for cell in sheet["cells"]):
            source = cell.get("source", cell.get("input", ""))
            if cell["cell_type"] == "code":
                yield source if isinstance(source, str) else "".join(source)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DescriptionError.of("STATEPLAN_BAD_NOTEBOOK", path=path) from None


def _source_cells(path: str, lines: list[str], note: Note) -> Iterator[Cell]:
    """The cells of a source file, each with empty lines for those above it."""
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and not _CELL_MARK.fullmatch(lines[end]):
            end += 1
        code = _converted(path, [_unmarked(line) for line in lines[start:end]], start, note)
        yield Cell(path, "\n" * start + "\n".join(code))
        start = end + 1


def _unmarked(line: str) -> str:
    """A line of a cell without the mark of a cell that is not mere Python."""
    return line[len(_MAGIC) :].removeprefix(" ") if line.startswith(_MAGIC) else line


def _cell(name: str, text: str, note: Note) -> Cell:
    return Cell(name, "\n".join(_converted(name, text.split("\n"), 0, note)))


def _converted(file: str, lines: list[str], start: int, note: Note) -> list[str]:
    """A cell as Python lines, as many as there were."""
    first = next((i for i, line in enumerate(lines) if _is_code(line)), None)
    if first is None:
        return ["" for _ in lines]
    found = re.match(r"\s*(%%?)([\w-]+)(.*)", lines[first])
    if found is None or (found[1] == "%" and found[2] not in ("sql", *_TEXTS, *_OTHERS)):
        return _lines(file, lines, start, note)
    kind, rest = found[2], found[3]
    above = [""] * first
    if kind in _PYTHON_CELLS:
        inner = lines[first + 1 :]
        return [*above, "", *_lines(file, inner, start + first + 1, note)]
    if kind in ("sql", "sparksql"):
        below = [line for line in lines[first + 1 :] if not line.startswith("# DBTITLE")]
        text = "\n".join((re.sub(r"^\s*(-\w+\s+\w+\s*)+", "", rest), *below))
        return [*above, f"{SQL}({text!r})", *[""] * (len(lines) - first - 1)]
    if kind == "run":
        return [*above, f"{RUN}({rest.strip()!r})", *[""] * (len(lines) - first - 1)]
    if kind not in _TEXTS:
        note(file, start + first + 1, f"%{kind} is skipped")
    return ["" for _ in lines]


_OTHERS = ("run", "sh", "bash", "scala", "r", "fs", "python", "script", "sparksql")


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _lines(file: str, lines: list[str], start: int, note: Note) -> list[str]:
    """Python with magic lines among it: those are skipped, but for what names code or settings."""
    if _is_python("\n".join(lines)):
        return lines
    result: list[str] = []
    continued = False
    for number, line in enumerate(lines, start + 1):
        found = _MAGIC_LINE.fullmatch(line) or _BARE_MAGIC.fullmatch(line)
        if continued or (found and not _inside(result)):
            indent = found["indent"] if found else ""
            result.append("" if continued else indent + _replacement(file, number, found, note))
            continued = line.rstrip().endswith("\\")
        else:
            result.append(line)
    return result


def _replacement(file: str, number: int, found: re.Match[str] | None, note: Note) -> str:
    rest = found["rest"].strip() if found else ""
    word, _, argument = rest.partition(" ")
    if found and found["sign"].startswith("%"):
        if word == "sql":
            return f"{SQL}({argument!r})"
        if word == "run":
            return f"{RUN}({argument.strip()!r})"
        name, equals, value = argument.partition("=")
        if word in ("env", "set_env") and equals:
            return f"__import__('os').environ[{name.strip()!r}] = {value.strip()!r}"
    note(file, number, f"{found['sign'] if found else ''}{rest.split(' ')[0]} is skipped")
    return "pass"


def _inside(lines: list[str]) -> bool:
    """Whether the lines so far end within brackets or a text: the next goes on with it."""
    text = "\n".join(lines)
    try:
        ast.parse(text + "\n")
    except SyntaxError as error:
        message = str(error.msg)
        return "was never closed" in message or "unterminated triple" in message
    return False


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
