"""Where a text leaves Spark's grammar, and the message for it.

Spark's parser names the first token with which no query can go on. Earley's method finds exactly
that token; it runs only over a text that the SQL front end has already refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ..model.errors import AnalysisError
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
_OTHER_STATEMENTS = frozenset(
    {"ADD", "ALTER", "ANALYZE", "BEGIN", "CACHE", "CALL", "CLEAR", "COMMENT", "CREATE", "DECLARE",
     "DELETE", "DESC", "DESCRIBE", "DROP", "EXECUTE", "EXPLAIN", "INSERT", "LOAD", "MERGE", "MSCK",
     "REFRESH", "RESET", "SET", "SHOW", "TRUNCATE", "UNCACHE", "UPDATE", "USE"}
)  # fmt: skip


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
            return frozenset({"HINT"})
        case "string":
            return frozenset({"STRING"})
        case "quoted":
            return frozenset({"NAME", "STRICT"})
        case "number":
            return frozenset({"NUMBER", "INTEGER"} if text.isdigit() else {"NUMBER"})
        case "word":
            word = text.upper()
            found = {word, "NAME"}
            if word not in JOIN_AND_SET_WORDS:
                found.add("STRICT")
            if word in _UNITS or word.removesuffix("S") in _UNITS:
                found.add("UNIT")
            if word in _RANGE_UNITS:
                found.add("RANGE_UNIT")
            return frozenset(found)
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


def first_misfit(tokens: list[Token], start: str) -> tuple[int, frozenset[str]] | None:
    """The first token with which no text of the rule can go on.

    Returns:
        its index (the number of tokens if the text ends too early) and the terminals that could
        stand there; None if the whole text fits.
    """
    grammar = rules()
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


# -------------------------------------------------------------------------------------- messages


def syntax_error(text: str, start: str = "statement") -> AnalysisError | None:
    """The error for a text that is no query, in Spark's words; None if the text is one."""
    tokens = tokenize(text)
    if not tokens and start == "statement":
        return AnalysisError(
            "PARSE_EMPTY_STATEMENT",
            "[PARSE_EMPTY_STATEMENT] Syntax error, unexpected empty statement. SQLSTATE: 42617 "
            f"(line 1, pos 0)\n\n== SQL ==\n{text}\n^^^",
            hint="Write a query: SELECT ... FROM STREAM ...",
        )
    found = first_misfit(tokens, start)
    if found is None:
        return None
    index, wanted = found
    if index == 0 and tokens and tokens[0].text.upper() in _OTHER_STATEMENTS:
        return AnalysisError(
            "STATEPLAN_UNSUPPORTED_SQL",
            f"The statement {tokens[0].text.upper()} is not supported: only queries are.",
            hint="Write a query: SELECT ... FROM STREAM ...",
        )
    at_end = index == len(tokens)
    place = len(text) if at_end else tokens[index].start
    near = "end of input" if at_end else f"'{tokens[index].text}'"
    line = text.count("\n", 0, place) + 1
    position = place - (text.rfind("\n", 0, place) + 1)
    lines = text.split("\n")
    above, below = "\n".join(lines[:line]), "\n".join(lines[line:])
    shown = f"{above}\n{'-' * position}^^^" + (f"\n{below}" if below else "")
    return AnalysisError(
        "PARSE_SYNTAX_ERROR",
        f"[PARSE_SYNTAX_ERROR] Syntax error at or near {near}{_repair(tokens, found)}. "
        f"SQLSTATE: 42601 (line {line}, pos {position})\n\n== SQL ==\n{shown}",
        hint=_hint(wanted),
    )


def _repair(tokens: list[Token], found: tuple[int, frozenset[str]]) -> str:
    """Spark's remark where leaving out or adding one token would mend the text."""
    return ""


def _hint(wanted: frozenset[str]) -> str:
    keywords = sorted(w for w in wanted if w not in ("NAME", "STRICT", "NUMBER", "HINT"))
    if not keywords or len(keywords) > 12:
        return "Mend the query at that place."
    return f"Expected here: {', '.join(keywords)}."
