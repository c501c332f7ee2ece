"""Workers of another Python: what they get from the driver, and what cannot be sent."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest
from test_layers import MODULES, WORKER_CODE, imports, ours
from test_packaging import installed_name

from stateplan.runtime.engines import shipping
from stateplan.runtime.kernels.sketches import distinct_estimate

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests" / "other_workers.py"


def environment(folder: Path, *without: str) -> Path:
    """A virtual environment with all that this one has but stateplan; its Python."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for entry in Path(sysconfig.get_path("platlib")).iterdir():
        name = entry.name.lstrip("_")
        if not name.startswith(("stateplan", "editable", *without)) and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def other_minor() -> str | None:
    """A Python on this machine of another minor version that PySpark runs on."""
    minor = sys.version_info.minor
    names = [f"python3.{other}" for other in range(10, 15) if other != minor]
    found = [path for name in names if (path := shutil.which(name))]
    known = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(path) for name in names for path in sorted(known.glob(f"*/bin/{name}"))]
    for path in found:
        done = subprocess.run([path, "-c", "import ctypes"], capture_output=True)
        if done.returncode == 0:
            return path
    return None


def run(where: str, *pythons: str) -> list[dict[str, Any]]:
    command = [sys.executable, str(PROGRAM), where, *pythons]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def is_right(answer: dict[str, Any]) -> bool:
    assert "rows" in answer, answer
    return answer["rows"] == answer["expected"] and len(answer["rows"]) == answer["keys"] == 3


def test_executors_without_stateplan_get_it(tmp_path: Path) -> None:
    one_executor = "local-cluster[1,2,1024]"
    other = environment(tmp_path / "other")
    bare = environment(tmp_path / "bare", "pyarrow", "numpy")
    pythons = [other, "/no/such/python", bare, *filter(None, [other_minor()])]
    there, nothing, packages, *mismatch = run(one_executor, *map(str, pythons))
    assert is_right(there)
    assert packages["condition"] == "STATEPLAN_WORKER_PACKAGES"
    assert f"{bare} (3." in packages["message"]
    assert "no pyarrow and no numpy" in packages["message"]
    assert "pip install 'pyarrow>=" in packages["hint"]
    assert nothing["condition"] == "STATEPLAN_NO_WORKERS"
    assert "PYSPARK_PYTHON" in nothing["hint"]
    for answer in mismatch:
        assert answer["condition"] == "PYTHON_VERSION_MISMATCH"
        assert f"driver: 3.{sys.version_info.minor}" in answer["message"]
        assert "PYSPARK_PYTHON" in answer["hint"]


def test_a_connect_servers_workers_without_stateplan_get_it(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), "serve", str(environment(tmp_path / "other"))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            (answer,) = run(server.stdout.readline().strip())
            assert is_right(answer)
            server.communicate(timeout=60)  # its input ends: so does it
            assert server.returncode == 0
        finally:
            server.kill()


# --------------------------------------------------------------------------------- what is shipped


BESIDES = ("zstandard", "pyspark", "pandas")
"""Files of lines are read in this process; a Python task has PySpark, one of pandas has that."""


def worker_modules() -> list[str]:
    folders = tuple(f"{folder}/" for folder in WORKER_CODE)
    return [module for module in MODULES if module.startswith(folders)]


def test_all_that_tasks_import_is_there() -> None:
    """By the text of the modules: what a function imports when it is called counts too."""
    shipped = set(shipping.contents())
    pending = worker_modules()
    seen: set[str] = set()
    while pending:
        module = pending.pop()
        seen.add(module)
        for imported in imports(module, lazy=True):
            if not ours(imported):
                outside = imported.split(".")[0]
                assert outside in {*sys.stdlib_module_names, *shipping.NEEDED, *BESIDES}, module
                continue
            path = Path(imported)
            places = (path.with_suffix(".py"), path / "__init__.py", path.parent / "__init__.py")
            found = next(str(place) for place in places if str(place) in MODULES)
            assert installed_name(Path(found)) in shipped, f"{module} imports {imported}"
            if found not in seen:
                pending.append(found)


def test_tasks_can_import_their_code_from_the_zip_file() -> None:
    names = (installed_name(Path(module)) for module in worker_modules())
    modules = [name[:-3].removesuffix("/__init__").replace("/", ".") for name in names]
    program = f"""
import sys
sys.path[:0] = [{str(shipping.archive())!r}, {sysconfig.get_path("platlib")!r}]
from importlib import import_module
for name in {modules}:
    assert {shipping.archive().name!r} in import_module(name).__file__
from stateplan.runtime.kernels.sketches import distinct_estimate
print(distinct_estimate.__loader__.get_source(distinct_estimate.__name__)[:4])
print(sorted(distinct_estimate._tables()))
"""
    # Without `site` the files that make this project's own folders importable are not read.
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ['"""H', str(sorted(distinct_estimate._tables()))]


def test_the_same_code_makes_the_same_file() -> None:
    first = shipping.archive()
    again = shipping.archive.__wrapped__()
    assert first != again
    assert (first.name, first.read_bytes()) == (again.name, again.read_bytes())


def test_workers_need_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["spark"]
    declared = dict(re.findall(r"(\w+)>=(\d+)", " ".join(extra)))
    assert {name: int(declared[name]) for name in shipping.NEEDED} == shipping.NEEDED


def test_an_old_package_is_named() -> None:
    workers = shipping.Workers(
        python="/usr/bin/python3 (3.11.2)",
        versions={"pyarrow": "26.0.0", "numpy": "1.26.4"},
        digest=None,
    )
    with pytest.raises(shipping.RuntimeFailure) as caught:
        shipping._check(workers)
    assert "has numpy 1.26.4:" in caught.value.message


def test_a_session_of_this_python_is_not_asked(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "_ask", lambda spark: pytest.fail("a job ran"))
    assert shipping.is_this_python(spark)
    shipping.ship(spark)


def test_an_environment_is_not_the_one_that_it_was_made_of(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    venv.create(tmp_path, symlinks=True)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(tmp_path / "bin" / "python"))
    assert not shipping.is_this_python(spark)


def test_a_worker_that_is_asked_again_says_the_same() -> None:
    # Drivers that share an application ask one worker several times, between tasks of theirs.
    asked = """
import json, stateplan.planner.model.registry as registry
from stateplan.runtime.engines import shipping
report = shipping._reporter(tuple(map(shipping._place, shipping.contents())), ("numpy",))
digests = [json.loads(report(0))["digest"] for _ in range(2)]
assert digests == [shipping.digest()] * 2, digests
assert registry.find("abs") is not None
"""
    subprocess.run([sys.executable, "-c", asked], check=True)
