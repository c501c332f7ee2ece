"""A process of the benchmark: reads a job a line from standard input, answers with a line of JSON.

    python -m benchmarks.child < jobs.jsonl

The answer is the run, or `{"error": ...}`. What libraries print goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from .job import Job
from .systems import run


def main() -> None:
    """Answer jobs until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = asdict(run(Job.of(json.loads(line))))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
