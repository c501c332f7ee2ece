"""What is installed is what is in the repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("planner", "rules", "physical", "runtime")


def tracked() -> list[Path]:
    """The modules of the package: tracked by git, or all where this is no checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "--", *FLOORS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode == 0 and listing.stdout:
        names = [Path(line) for line in listing.stdout.splitlines()]
    else:
        names = [p.relative_to(ROOT) for floor in FLOORS for p in (ROOT / floor).rglob("*.py")]
    return [name for name in names if name.suffix == ".py"]


def installed_name(path: Path) -> str:
    """Where a module of the repository lies in the wheel."""
    return str(Path("stateplan") / path).replace("stateplan/planner/_stateplan/", "stateplan/")


def test_every_folder_is_declared() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {installed_name(path.parent / "x").rpartition("/")[0] for path in tracked()}
    assert sorted(tool["packages"]) == sorted(folder.replace("/", ".") for folder in folders)


def test_the_wheel_holds_every_module(tmp_path: Path) -> None:
    copy = tmp_path / "copy"  # a build in place would leave its folders, or take up old ones
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, copy / floor, ignore=shutil.ignore_patterns("__pycache__"))
    command = ["pip", "wheel", str(copy), "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([sys.executable, "-m", *command, "-w", str(tmp_path)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.endswith(".py")}
    assert held == {installed_name(path) for path in tracked()}


def test_importing_the_package_loads_no_pyspark() -> None:
    heavy = "{'pyspark', 'pyarrow', 'numpy', 'networkx', 'sqlglot', 'rich'}"
    modules = "stateplan, stateplan.testing, stateplan.pytest_plugin"
    code = f"import sys, {modules}; print(sorted(set(sys.modules) & {heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_stands_in_one_place(tmp_path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    command = [sys.executable, "-m", "stateplan.planner.cli", "--version"]
    # Elsewhere than here, where an older build may have left its metadata.
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert shown.split()[-1] == version
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()
