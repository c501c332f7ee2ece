"""Queries and descriptions with something wrong in them: each ends in a plan or a StateplanError.

    python tests/mutated_queries.py 1000 [--seed N]

prints those that end in anything else, each with the place of the exception, and how often.
"""

from __future__ import annotations

import argparse
import re
import traceback
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml
from golden_cases import goldens

from stateplan import StateplanError
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

TOKEN = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|.", re.DOTALL)
FOREIGN = (
    *"()[]{}<>,.;:'\"`@#$%^&*-+=/\\|~?!_",
    *(
        "",
        " ",
        "\n",
        "\t",
        "\0",
        "\x7f",
        "\u00a0",
        "é",
        "√",
        "日本",
        "\U0001f600",
        "\u202e",
        "ß",
        "²",
        "٣",
    ),
    *("0", "-1", "1e", "1e999", "99999999999999999999", ".5", "1.", "0x", "1.2.3", "1L", "2BD"),
    *("''", "'2025-01-01'", "X'1'", "r'", "$$", "/*", "*/", "--", "::", "->", "=>", "||", "|>"),
    *("SELECT", "FROM", "WHERE", "NULL", "(SELECT *)", "(SELECT 1)", "count(*)", "*", "a.*", "BY"),
    *("CASE", "END", "INTERVAL", "OVER", "DISTINCT", "ALL", "AS", "IN", "NOT", "BETWEEN", "STREAM"),
    *("DATE", "TIMESTAMP '", "STRUCT<", "ARRAY<INT", "MAP<", "DECIMAL(99)", "LATERAL", "UNNEST"),
    *("window(", "session_window(", "(*)", "PIVOT", "UNPIVOT", "VALUES", "WITH", "VIEW", "USING"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, "", "x", "é\0", float("inf"), 10**30, [], {}, [[]], {"": None}),
    *("append", "SELECT 1", {"schema": "a INT"}, {"schema": "a"}, ["a"], {1: 2}),
)


@cache
def written() -> tuple[dict[str, Any], ...]:
    """The golden queries in SQL."""
    return tuple(dict(c.description) for c in goldens() if "sql" in c.description)


def mutated_text(text: str, rng: Random) -> str:
    """The text with one to four tokens dropped, doubled, swapped, or foreign."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.randint(1, 4)):
        if not tokens:
            break
        place, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(6):
            case 0:
                del tokens[place]
            case 1:
                tokens.insert(other, tokens[place])
            case 2:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = rng.choice(FOREIGN)
            case 4:
                tokens.insert(place, rng.choice(FOREIGN))
            case 5:
                del tokens[place : place + rng.randint(1, 6)]
    return "".join(tokens)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a description that holds something: its container and key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(items):
        yield value, key
        if isinstance(part, dict | list):
            yield from _places(part)


def mutated(description: dict[str, Any], rng: Random) -> dict[str, Any]:
    """The description with another text of its query, or another value somewhere."""
    changed = deepcopy(description)
    if rng.random() < 0.8:
        changed["sql"] = mutated_text(changed["sql"], rng)
        return changed
    for _ in range(rng.randint(1, 2)):
        container, key = rng.choice(list(_places(changed)))
        if isinstance(container[key], str) and rng.random() < 0.5:
            container[key] = mutated_text(container[key], rng)
        elif isinstance(container, dict) and rng.random() < 0.3:
            container[rng.choice(FOREIGN)] = container.pop(key)
        else:
            container[key] = deepcopy(rng.choice(VALUES))
    return changed


def case(seed: int) -> dict[str, Any]:
    """A mutated description: of each seed its own."""
    rng = Random(seed)
    return mutated(rng.choice(written()), rng)


def outcome(description: Any) -> str | None:
    """The exception that is none of ours, with its place; None where there is none."""
    try:
        Query.of(parse_description(description)).explain()
    except StateplanError:
        return None
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    wrong = 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        description = case(seed)
        found = outcome(description)
        if found is not None:
            wrong += 1
            print(f"{seed}: {found[:300]}\n{yaml.safe_dump(description, allow_unicode=True)}")
    print(f"{arguments.cases} mutated queries, {wrong} end in another exception")


if __name__ == "__main__":
    main()
