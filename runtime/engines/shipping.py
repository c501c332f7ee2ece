"""Gives Spark's workers the code that their tasks run, where they do not have it.

A user's session may have workers with a Python of their own (PYSPARK_PYTHON, a cluster's image, an
archive). They need the kernels, the state store and what these stand on, the model that plans and
tasks share: `CODE`, a part of this package that travels as one zip file. pyarrow, numpy and Python
itself do not travel.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import marshal
import os
import shutil
import site
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.metadata import distributions
from importlib.resources import files
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import RuntimeFailure
from ..failures import innermost
from .spark_session import context_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CODE: Mapping[str, tuple[str, ...]] = {
    "stateplan": ("__init__.py",),
    "stateplan.planner": ("__init__.py",),
    "stateplan.planner.model": (),
    "stateplan.runtime": ("__init__.py",),
    "stateplan.runtime.kernels": (),
    "stateplan.runtime.state": (),
}
"""The files that a task needs, by package; no names: all that lies in the package and below."""
NEEDED: Mapping[str, int] = {"pyarrow": 24, "numpy": 2}
"""What a worker must have, and the least major version: as the extra `spark` asks for."""
_OWN_PYTHON = "spark.sql.execution.pyspark.python"  # a session's setting for its workers
_UNCHECKED_HASH = (1).to_bytes(4, "little") + bytes(8)  # PEP 552: take it as it is
_DATE = (1980, 1, 1, 0, 0, 0)  # a zip file's beginning of time: the same code, the same bytes


@dataclass(frozen=True, kw_only=True)
class Workers:
    """What a session's workers are.

    Attributes:
        python: their Python: its path and version.
        versions: of the packages in NEEDED; None: it is not there.
        digest: of their CODE; None: they have none, or not all of it.
    """

    python: str
    versions: Mapping[str, str | None]
    digest: str | None


_known: dict[tuple[str, str], Workers] = {}
"""By Spark application and command: the workers that it starts do not change."""
_shipped: set[str] = set()
"""The Spark applications, of classic sessions, that have the code: it is there for each session."""


def ship(spark: SparkSession) -> None:
    """See to it that the tasks of a session can run kernels.

    A session whose workers are this very Python costs nothing. Any other is asked once what its
    workers are, by a job of one task.

    Args:
        spark: a session, classic or Connect; on Connect the code comes to this session and to the
            clones made of it later, on classic to all sessions of the application.

    Raises:
        RuntimeFailure: the workers cannot run kernels: another minor version of Python, packages
            that are missing or too old, no Python at all.
    """
    if is_this_python(spark):
        return
    context = _context(spark)
    application = str(spark.conf.get("spark.app.id"))
    key = (application, _python(spark))
    if key not in _known:
        _known[key] = _ask(spark)
    workers = _known[key]
    _check(workers)
    if workers.digest == digest():
        return
    if context is None:
        spark.addArtifacts(str(archive()), pyfile=True)
        _leave_path(str(archive()))
    elif application not in _shipped:
        _add_to(context)
        _shipped.add(application)


def is_this_python(spark: SparkSession) -> bool:
    """Whether a session's workers run on this machine, by this Python and what it has installed."""
    context: Any = context_of(spark)
    if context is None or not (context.master == "local" or context.master.startswith("local[")):
        return False
    command = shutil.which(spark.conf.get(_OWN_PYTHON, None) or context.pythonExec)
    return (
        command is not None and _is_the_same(Path(command), Path(sys.executable)) and _installed()
    )


def _context(spark: SparkSession) -> Any:
    """A classic session's SparkContext; Spark Connect has none."""
    return getattr(spark, "sparkContext", None)


def _python(spark: SparkSession) -> str:
    """The command that starts a session's workers; empty: the server of Spark Connect knows."""
    command = spark.conf.get(_OWN_PYTHON, None)
    return str(command or getattr(_context(spark), "pythonExec", ""))


def _is_the_same(one: Path, other: Path) -> bool:
    # Virtual environments are told apart by their folders: all link to one interpreter.
    return one.absolute().parent == other.absolute().parent and one.resolve() == other.resolve()


def _installed() -> bool:
    """Whether every process of this Python has stateplan, whatever this one's `sys.path` is."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return any(True for _ in distributions(name="stateplan", path=folders))


# --------------------------------------------------------------------------------- what workers are


def _ask(spark: SparkSession) -> Workers:
    """Run one task that says what its worker is.

    Raises:
        RuntimeFailure: no Python ran the task.
    """
    from pyspark.sql import functions as F

    names = tuple(map(_place, contents()))
    report = F.udf(_reporter(names, tuple(NEEDED)), "string", useArrow=False)
    try:
        rows = spark.range(0, 1, 1, 1).select(report("id")).collect()
    except Exception as error:
        condition, message = innermost(error)
        raise RuntimeFailure(
            condition or "STATEPLAN_NO_WORKERS",
            f"The session's workers cannot run Python code: {message}",
            hint=f"Start the session with workers of Python {_minor()}: set PYSPARK_PYTHON, or "
            f"{_OWN_PYTHON} on Spark Connect.",
        ) from error
    return Workers(**json.loads(rows[0][0]))


def _place(name: str) -> tuple[str, str]:
    """The package of CODE that a file lies in, and its path there.

    A worker imports no package below: some register things, and may be imported once.
    """
    within = (package for package in CODE if name.startswith(f"{package.replace('.', '/')}/"))
    package = max(within, key=len)
    return package, name[len(package) + 1 :]


def _reporter(
    names: tuple[tuple[str, str], ...], packages: tuple[str, ...]
) -> Callable[[object], str]:
    """What a worker runs to say what it is; it is sent whole, as this module is not there."""

    def report(_: object) -> str:
        import hashlib
        import importlib
        import importlib.resources
        import json
        import sys

        before = set(sys.modules)
        versions: dict[str, str | None] = {}
        digest: str | None = None
        for package in packages:
            try:
                versions[package] = importlib.import_module(package).__version__
            except Exception:  # it is not there, or broken
                versions[package] = None
        found = hashlib.sha256()
        try:
            for package, name in names:
                folder = importlib.resources.files(package)
                found.update(folder.joinpath(name).read_bytes())
            digest = found.hexdigest()
        except Exception:  # there is no such package or file, or it cannot be imported
            pass
        # The worker goes on to other tasks: what is shipped must not find an older version there.
        for module in set(sys.modules) - before:
            if module.partition(".")[0] == "stateplan":
                del sys.modules[module]
        python = f"{sys.executable} ({sys.version.split()[0]})"
        return json.dumps({"python": python, "versions": versions, "digest": digest})

    return report


def _check(workers: Workers) -> None:
    """Check that workers have what cannot be shipped.

    Raises:
        RuntimeFailure: they do not.
    """
    unfit = [
        f"no {package}" if version is None else f"{package} {version}"
        for package, version in workers.versions.items()
        if version is None or int(version.partition(".")[0]) < NEEDED[package]
    ]
    if unfit:
        needed = " ".join(f"'{package}>={least}'" for package, least in NEEDED.items())
        raise RuntimeFailure(
            "STATEPLAN_WORKER_PACKAGES",
            f"The Python of the session's workers, {workers.python}, has {' and '.join(unfit)}: "
            "stateful operators run there.",
            hint=f"Install them there (pip install {needed}), or start the session with workers "
            f"that have them: set PYSPARK_PYTHON, or {_OWN_PYTHON} on Spark Connect.",
        )


def _minor() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


# ---------------------------------------------------------------------------------- what is shipped


@functools.cache
def contents() -> Mapping[str, bytes]:
    """The files of CODE by their path in the zip file, in order."""
    found = dict(_found())
    return {name: found[name] for name in sorted(found)}


def _found() -> Iterator[tuple[str, bytes]]:
    for package, names in CODE.items():
        folder = files(package)
        place = package.replace(".", "/")
        if names:
            yield from ((f"{place}/{name}", folder.joinpath(name).read_bytes()) for name in names)
        else:
            yield from _all_in(folder, place)


def _all_in(folder: Any, place: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file():
            yield f"{place}/{entry.name}", entry.read_bytes()
        elif entry.name != "__pycache__":
            yield from _all_in(entry, f"{place}/{entry.name}")


@functools.cache
def digest() -> str:
    """Tells this code from any other version of it."""
    found = sha256()
    for content in contents().values():
        found.update(content)
    return found.hexdigest()


@functools.cache
def archive() -> Path:
    """The zip file that is shipped; it goes when the process ends.

    With the modules as this Python has compiled them: to compile them takes a worker a while.
    """
    folder = tempfile.mkdtemp(prefix="stateplan-code-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Spark refuses another file under a name that it knows.
    path = Path(folder) / f"stateplan-{digest()[:16]}.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents().items():
            file.writestr(zipfile.ZipInfo(name, _DATE), content)
            if name.endswith(".py"):
                file.writestr(zipfile.ZipInfo(f"{name}c", _DATE), _compiled(name))
    return path


def _compiled(name: str) -> bytes:
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    # Below pytest a module's own loader may be one that rewrites it.
    code = SourceFileLoader(module, spec.origin).get_code(module)
    return MAGIC_NUMBER + _UNCHECKED_HASH + marshal.dumps(code)


def _add_to(context: Any) -> None:
    """Add the zip file to an application; this process goes on with the whole package."""
    from pyspark import SparkFiles

    context.addPyFile(str(archive()))
    _leave_path(os.path.join(SparkFiles.getRootDirectory(), archive().name))


def _leave_path(added: str) -> None:
    """PySpark puts it on this process's path, too, where child processes would find it first."""
    if added in sys.path:
        sys.path.remove(added)
        importlib.invalidate_caches()
