"""Writes tests/agreed.txt: all tests that use it are run with a live Spark.

python tests/derive_agreed.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from agreed import FILE, RECORD

TESTS = FILE.parent
_ASKING = ("agreed", "arrow_comparison")
"""Modules that ask: a test that imports one of them is run."""


def main() -> None:
    """Run the tests that ask, and keep what they found equal."""
    asking = [
        str(path)
        for path in sorted(TESTS.glob("test_*.py"))
        if any(f"from {module} import" in path.read_text() for module in _ASKING)
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "agreed.txt"
        environment = {**os.environ, RECORD: str(found)}
        command = [sys.executable, "-m", "pytest", "-q", *asking]
        ended = subprocess.run(command, env=environment, cwd=TESTS.parent, check=False)
        if ended.returncode:
            raise SystemExit("Not written: a test failed.")
        lines = sorted(set(found.read_text(encoding="ascii").splitlines()))
    FILE.write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
