"""Random regular expressions: what our Arrow code finds by those that it takes, beside Spark.

    python tests/random_patterns.py 2000 --seed 3

The same seed makes the same patterns and texts.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from functools import partial
from pathlib import Path

import pyarrow as pa
from arrow_comparison import Data, chunked, difference

from stateplan.planner.model.expressions.core import AttributeReference, Call, lit
from stateplan.planner.model.schemas.types import STRING
from stateplan.runtime.kernels.expressions.programs.compile import unsupported

TEXT = AttributeReference(name="s", type_=STRING, expr_id=6_600)
_ATOMS = (
    *("a", "b", "x", "é", "🙂", ".", r"\d", r"\w", r"\s", r"\W", r"\S", r"\.", r"\-", "[ab_]"),
    *("[^a]", r"\p{Punct}", r"\P{Alpha}", r"[\p{Upper}é]"),
)
_REPEATED = ("", "", "", "*", "+", "?", "{2}", "*?", "+?")
_LETTERS = (*"abx_ -.1éÄB9\n", "🙂")


def pattern(chance: random.Random) -> str:
    """A pattern of Java's, not all of which are taken."""
    start, end = chance.choice(("", "", "^")), chance.choice(("", "", "$"))
    return f"{start}{_either(chance, 0)}{end}"


def _either(chance: random.Random, depth: int) -> str:
    return "|".join(_sequence(chance, depth) for _ in range(chance.choice((1, 1, 1, 2))))


def _sequence(chance: random.Random, depth: int) -> str:
    parts = []
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        kind = chance.random()
        if kind < 0.18:
            parts.append(chance.choice((r"\b", r"\b", r"\B")))
        elif kind < 0.34 and depth < 2:
            inside = _sequence(chance, 2) if chance.random() < 0.5 else chance.choice(_ATOMS)
            parts.append(f"({chance.choice(('?=', '?!', '?<=', '?<!'))}{inside})")
        else:
            part = chance.choice(_ATOMS)
            if kind < 0.5 and depth < 2:
                part = f"({chance.choice(('', '?:', '?<n>'))}{_either(chance, depth + 1)})"
            parts.append(part + chance.choice(_REPEATED))
    return "".join(parts)


def texts(chance: random.Random) -> pa.Table:
    """Short texts of letters, signs and blanks."""
    found = [None, "", "a", "a b", "foo bar", "a🙂b"]
    found += ["".join(chance.choices(_LETTERS, k=chance.randrange(1, 12))) for _ in range(60)]
    return pa.table({TEXT.name: pa.array(found, pa.string())})


def calls(count: int, seed: int) -> list[Call]:
    """What is asked with so many patterns, as far as our code takes it."""
    chance = random.Random(seed)
    found = []
    for one in (lit(pattern(chance)) for _ in range(count)):
        found += [
            Call(name="rlike", arguments=(TEXT, one)),
            Call(name="regexp_extract", arguments=(TEXT, one, lit(0))),
            Call(name="regexp_extract_all", arguments=(TEXT, one, lit(0))),
            Call(name="regexp_replace", arguments=(TEXT, one, lit("<$0>"), lit(1))),
        ]
    return [call for call in found if unsupported(call, (TEXT,)) is None]


def main() -> None:
    """Print what differs; fail if something does."""
    from stateplan.runtime.engines.spark_session import start_session

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("count", type=int, help="how many patterns")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    data = Data(partial(texts, random.Random(given.seed)), (TEXT,))
    asked = calls(given.count, given.seed)
    session = start_session("local[2]", "random-patterns", {"spark.ui.enabled": "false"})
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for chunk in chunked(asked, 40):
            found += difference(session, chunk, Path(folder), ansi=True, data=data)
    print("\n".join([*found, f"{len(asked) - len(found)} of {len(asked)} give what Spark gives"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
