"""Write what a live Spark answers to Nexmark's queries as batches over a small stream.

python tests/derive_nexmark.py
"""

from __future__ import annotations

import json
import tempfile
from hashlib import sha256
from pathlib import Path

from nexmark_cases import ANSWERS, NAMES, batch_rows, make_events, shown

from stateplan.runtime.engines.spark_session import start_session


def main() -> None:
    """Ask Spark for all of them."""
    answers = {}
    spark = start_session("local[2]")
    with tempfile.TemporaryDirectory() as folder:
        make_events(Path(folder))
        for name in NAMES:
            rows = shown(name, batch_rows(spark, name, Path(folder)))
            digest = sha256("\n".join(rows).encode()).hexdigest()
            answers[name] = {"rows": len(rows), "sha256": digest, "first": rows[:2]}
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
