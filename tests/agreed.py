"""What was found equal to a live Spark's: a digest each, so that Spark is asked for news alone.

A test gives what it asks (the query, its data, the settings) and what comes of it here. Where the
file has this very answer to this very question, Spark of this version gave it, too; anything else
is compared with Spark itself. `python tests/derive_agreed.py` writes the file again.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

FILE = Path(__file__).parent / "agreed.txt"
RECORD = "STATEPLAN_RECORD_AGREED"
"""An environment variable: a file that what is found equal is added to; nothing is known then."""


def digest(*parts: object) -> str:
    """Of parts whose text says all about them."""
    text = "\0".join(map(str, parts))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@cache
def _known() -> dict[str, str]:
    if RECORD in os.environ:
        return {}
    lines = FILE.read_text(encoding="ascii").splitlines()
    return dict(line.split(" ", 1) for line in lines)


_spark = cache(lambda: version("pyspark"))


def _key(question: tuple[object, ...]) -> str:
    return digest(_spark(), *question)


def is_agreed(question: tuple[object, ...], answer: str) -> bool:
    """Whether Spark gave this answer, a digest, to this question when it was asked."""
    return _known().get(_key(question)) == answer


def agree(question: tuple[object, ...], answer: str) -> None:
    """Spark was asked now, and gave this."""
    if path := os.environ.get(RECORD):
        with open(path, "a", encoding="ascii") as file:
            file.write(f"{_key(question)} {answer}\n")
