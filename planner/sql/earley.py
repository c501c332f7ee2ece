"""Where a text leaves Spark's grammar.

Spark's parser names the first token with which no query can go on. Earley's method finds exactly
that token; it runs only over a text that the SQL front end has already refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .grammar import JOIN_AND_SET_WORDS, Rules, rules

_TOKEN = re.compile(
    r"""(?P<space>\s+|--(?:\\\n|[^\n])*|/\*(?!\+)(?:[^*]|\*(?!/))*\*/)
    |(?P<hint>/\*\+(?:[^*]|\*(?!/))*\*/)
    |(?P<string>[rR]?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?:BD|[LSYDF])?(?![\w]))
    |(?P<word>\w+)
    |(?P<sign><=>|->|=>|\|\||::|<=|>=|<>|!=|==|.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_UNITS = frozenset(
    {"NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK",
     "MONTH", "YEAR"}
)  # fmt: skip
_RANGE_UNITS = frozenset(["SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"])
END = "end of input"


@dataclass(frozen=True)
class Token:
    """A token and the terminals of the grammar that it can be."""

    text: str
    start: int
    terminals: frozenset[str]


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, without blanks and comments."""
    return [
        Token(match.group(), match.start(), _terminals(match))
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    ]


def _terminals(match: re.Match[str]) -> frozenset[str]:
    text = match.group()
    match match.lastgroup:
        case "hint":
            return frozenset({"$HINT"})
        case "string":
            return frozenset({"$STRING"})
        case "quoted":
            return frozenset({"$NAME", "$STRICT"})
        case "number":
            if text.isdigit():
                return frozenset({"$NUMBER", "$PLAIN", "$INTEGER"})
            plain = text[-1] == "." or (text[-1].isdigit() and "e" not in text.lower())
            return frozenset({"$NUMBER", "$PLAIN"} if plain else {"$NUMBER"})
        case "word":
            word = text.upper()
            found = {word, "$NAME"}
            if word not in JOIN_AND_SET_WORDS:
                found.add("$STRICT")
            if word in _UNITS or word.removesuffix("S") in _UNITS:
                found.add("$UNIT")
            if word in _RANGE_UNITS:
                found.add("$RANGE_UNIT")
            return frozenset(found)
    if text in "<>" and match.string[match.start() - 1 : match.start()] == text:
        return frozenset({f"'{text}'", f"'{text}next'"})  # the rest of a shift
    return frozenset({f"'{text}'"})


# ------------------------------------------------------------------------------- Earley's method

_Item = tuple[str, tuple[str, ...], int, int]  # rule, alternative, dot, where it began


@cache
def _nullable() -> frozenset[str]:
    """The rules that can be empty."""
    found: set[str] = set()
    while True:
        more = {
            name
            for name, alternatives in rules().items()
            if name not in found and any(set(a) <= found for a in alternatives)
        }
        if not more:
            return frozenset(found)
        found |= more


def first_misfit(
    tokens: list[Token], start: str, *, named_keys: bool = False
) -> tuple[int, frozenset[str]] | None:
    """The first token with which no text of the rule can go on.

    Args:
        named_keys: keys of GROUP BY may have names.

    Returns:
        its index (the number of tokens if the text ends too early) and the terminals that could
        stand there; None if the whole text fits.
    """
    grammar = rules(named_keys=named_keys)
    states: list[set[_Item]] = [{(start, a, 0, 0) for a in grammar[start]}]
    for index in range(len(tokens) + 1):
        _complete(states, index, grammar)
        waiting = [item for item in states[index] if item[2] < len(item[1])]
        wanted = frozenset(a[dot] for _, a, dot, _ in waiting if a[dot] not in grammar)
        if index == len(tokens):
            whole = any(
                name == start and dot == len(a) and began == 0
                for name, a, dot, began in states[index]
            )
            return None if whole else (index, wanted)
        if any(n == start and d == len(a) and not b for n, a, d, b in states[index]):
            wanted |= {END}
        fits = tokens[index].terminals
        moved = {(n, a, dot + 1, b) for n, a, dot, b in waiting if a[dot] in fits}
        if not moved:
            return index, wanted
        states.append(moved)
    raise AssertionError("unreachable")


def _complete(states: list[set[_Item]], index: int, grammar: Rules) -> None:
    """Predict and complete until nothing is added."""
    state = states[index]
    pending = list(state)
    nullable = _nullable()

    def add(item: _Item) -> None:
        if item not in state:
            state.add(item)
            pending.append(item)

    while pending:
        name, alternative, dot, began = pending.pop()
        if dot == len(alternative):
            for other, other_alternative, other_dot, other_began in list(states[began]):
                if other_dot < len(other_alternative) and other_alternative[other_dot] == name:
                    add((other, other_alternative, other_dot + 1, other_began))
            continue
        symbol = alternative[dot]
        if symbol in grammar:
            for option in grammar[symbol]:
                add((symbol, option, 0, index))
            if symbol in nullable:
                add((name, alternative, dot + 1, began))
