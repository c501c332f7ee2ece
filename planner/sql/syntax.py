"""Where a text leaves Spark's grammar, and the message for it.

Spark's parser names the first token with which no query can go on. Earley's method finds exactly
that token; it runs only over a text that the SQL front end has already refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ..model.errors import AnalysisError
from .brackets import is_undecided, unclosed
from .context import misfit_marked
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

_END, _QUOTE = "end of input", "'"
_BEGINS_EXPRESSION = frozenset({"$NAME", "$NUMBER", "$STRING", "CASE"})
_INFIX_WORDS = frozenset(
    {"AND", "OR", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IN", "IS", "DIV", "NOT"}
)
_CLOSERS = frozenset({"')'", "']'", "'('", _END})
_REQUIRED = frozenset({"')'", "']'", "AND", "INTERVAL", "OF", "DELAY"})
# What may go on an expression that is already whole.
_CONTINUATIONS = frozenset(
    {"'*'", "'/'", "'%'", "DIV", "'+'", "'-'", "'||'", "'<'", "'>'", "'&'", "'^'", "'|'", "'='",
     "'=='", "'<=>'", "'<>'", "'!='", "'<='", "'>='", "'['", "'.'", "'::'", "COLLATE",
     "AND", "OR", "NOT", "'!'", "BETWEEN", "IN", "RLIKE", "REGEXP", "LIKE", "ILIKE", "IS", "OVER",
     "WITHIN", "FILTER", "IGNORE", "RESPECT", "'->'", "'=>'", "$STRING"}
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
        if any(n == start and d == len(a) and not b for n, a, d, b in states[index]):
            wanted |= {_END}
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
    if not tokens:
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
    reread = _alias_columns(tokens, index, wanted, start)
    if reread is None:
        reread = _read_as_name(tokens, index, start)
    if reread != index:
        index = reread
        shorter = first_misfit([*tokens[:index], Token("", 0, frozenset())], start)
        wanted = shorter[1] if shorter else wanted
    if index == 0 and tokens and tokens[0].text.upper() in _OTHER_STATEMENTS:
        return AnalysisError(
            "STATEPLAN_UNSUPPORTED_SQL",
            f"The statement {tokens[0].text.upper()} is not supported: only queries are.",
            hint="Write a query: SELECT ... FROM STREAM ...",
        )
    at_end = index == len(tokens)
    if at_end and index > 1 and _is_left_over(tokens, start):
        word = tokens[-1].text
        return AnalysisError(
            "PARSE_SYNTAX_ERROR",
            f"[PARSE_SYNTAX_ERROR] Syntax error at or near '{word}': extra input '{word}'. "
            f"SQLSTATE: 42601\n== SQL ==\n{text}",
            hint=_hint(wanted),
        )
    place = len(text) if at_end else tokens[index].start
    near = "end of input" if at_end else f"'{tokens[index].text}'"
    repair = _repair(tokens, index, wanted, start)
    return AnalysisError(
        "PARSE_SYNTAX_ERROR",
        f"[PARSE_SYNTAX_ERROR] Syntax error at or near {near}{repair}. "
        f"SQLSTATE: 42601 {misfit_marked(text, place)}",
        hint=_hint(wanted),
    )


def _is_left_over(tokens: list[Token], start: str) -> bool:
    """Whether the last word begins a clause behind a query that is complete without it.

    `GROUP BY user HAVING`: no name can follow, so Spark's parser ends before the word.
    """
    if not tokens[-1].terminals & {"HAVING", "ORDER", "LIMIT"}:
        return False
    return first_misfit(tokens[:-1], start) is None


def _repair(tokens: list[Token], index: int, wanted: frozenset[str], start: str) -> str:
    """Spark's remark where leaving out or adding one token would mend the text.

    Spark remarks on it where its parser had already decided what must come: behind a finished
    expression, not where an expression should begin.
    """
    if wanted >= _BEGINS_EXPRESSION or is_undecided(_words(tokens), index):
        return ""
    closing = wanted - _CONTINUATIONS
    if "AND" in wanted and "OR" not in wanted:
        closing |= {"AND"}  # that of BETWEEN
    if wanted <= {"';'", _END}:
        return f": extra input '{tokens[index].text}'"
    near = _END if index == len(tokens) else f"'{tokens[index].text}'"
    following = tokens[index + 1].terminals if index + 1 < len(tokens) else frozenset({_END})
    between = "AND" in following and "AND" in closing
    if index < len(tokens) and (between or following & closing & _CLOSERS):
        return f": extra input {near}"
    subquery = "')'" in closing and _in_subquery(tokens, index)
    if not subquery and (_in_list(tokens, index, wanted) or {"WHEN", "END"} <= wanted):
        return f": extra input {near}"
    required = closing - {"','", "'('"} if "')'" in closing else closing
    if subquery:
        required = frozenset({"')'"})
    if len(required) == 1 and required <= _REQUIRED:
        missing = next(iter(required))
        added = Token("", 0, frozenset({missing}))
        again = first_misfit([*tokens[:index], added, *tokens[index : index + 1]], start)
        if again is None or again[0] > index + 1:
            return f": missing '{missing.strip(_QUOTE)}'"
    return ""


def _words(tokens: list[Token]) -> list[str]:
    return [token.text.upper() for token in tokens]


def _in_subquery(tokens: list[Token], index: int) -> bool:
    """Whether the nearest open bracket before the misfit is that of a subquery."""
    depth = 0
    for place in range(index - 1, -1, -1):
        text = tokens[place].text
        depth += (text in (")", "]")) - (text in ("(", "["))
        if depth < 0:
            return bool(tokens[place + 1].terminals & {"SELECT", "WITH", "FROM"})
    return False


def _in_list(tokens: list[Token], index: int, wanted: frozenset[str]) -> bool:
    """Whether the misfit stands in a bracketed list that has had a comma already."""
    if not {"','", "')'"} <= wanted:
        return False
    depth = 0
    for token in reversed(tokens[:index]):
        depth += (token.text in (")", "]")) - (token.text in ("(", "["))
        if depth < 0:
            return False
        if depth == 0 and token.text == ",":
            return True
    return False


def _alias_columns(
    tokens: list[Token], index: int, wanted: frozenset[str], start: str
) -> int | None:
    """The bracket behind a relation's alias, if the misfit is that it lists no names.

    The list may be left out: Spark's parser then ends before the bracket. `t (1)`.
    """
    hyphen = {"'-'"} if "')'" in wanted else set()
    if not wanted <= {"$NAME", "$STRICT", "','", "')'", "FOR", *hyphen}:
        return None
    depth = 0
    for place in range(index - 1, 0, -1):
        depth += (tokens[place].text == ")") - (tokens[place].text == "(")
        if depth < 0:
            before = tokens[:place]
            opened = sum((t.text == "(") - (t.text == ")") for t in before)
            closing = [Token(")", 0, frozenset({"')'"}))] * opened
            whole = first_misfit([*before, *closing], start) is None
            return place if whole and "$STRICT" in before[-1].terminals else None
    return None


def _read_as_name(tokens: list[Token], index: int, start: str) -> int:
    """Where Spark sees the fault if a keyword before the misfit could have been a name.

    `WHERE a AND` ends too early; but `AND` might be a name, so Spark takes the expression to end
    before it and stumbles over `AND` itself. Likewise `CASE` whose END is missing is a column.
    """
    blamed = unclosed(_words(tokens), index)
    if blamed is not None:
        return blamed
    case = _open_case(tokens, index)
    if case is not None and case + 1 < index:
        first_alias = case + 1 if _in_select_list(tokens, case) else case
        return first_alias + 1
    if index and tokens[index - 1].terminals & _INFIX_WORDS and index > 1:
        before = tokens[index - 2].terminals
        return index if before & {"NOT", "IS"} else index - 1
    by = index > 1 and "BY" in tokens[index - 1].terminals
    if not by or not tokens[index - 2].terminals & {"GROUP", "ORDER"}:
        return index
    if _in_window(tokens, index):
        return index
    # Behind a relation GROUP might be its alias, elsewhere the query ends before it.
    alias = Token("", 0, frozenset({"$NAME", "$STRICT"}))
    return index - 1 if first_misfit([*tokens[: index - 2], alias], start) is None else index - 2


def _in_window(tokens: list[Token], index: int) -> bool:
    """Whether the nearest open bracket before the token is that of OVER."""
    depth = 0
    for place in range(index - 1, 0, -1):
        text = tokens[place].text
        depth += (text == ")") - (text == "(")
        if depth < 0:
            return "OVER" in tokens[place - 1].terminals
    return False


def _open_case(tokens: list[Token], index: int) -> int | None:
    """The outermost `CASE WHEN` before the token that has no END yet."""
    opened: list[int] = []
    for place, token in enumerate(tokens[:index]):
        if "CASE" in token.terminals:
            opened.append(place)
        elif "END" in token.terminals and opened:
            opened.pop()
    searched = [p for p in opened if p + 1 < len(tokens) and "WHEN" in tokens[p + 1].terminals]
    return searched[0] if searched else None


def _in_select_list(tokens: list[Token], index: int) -> bool:
    """Whether a name without AS could follow: the nearest clause word before is SELECT."""
    for token in reversed(tokens[:index]):
        if token.terminals & {"SELECT", "WHERE", "HAVING", "ON", "BY"}:
            return "SELECT" in token.terminals
    return False


_UNTOLD = ("$NAME", "$STRICT", "$NUMBER", "$PLAIN", "$HINT")
_A_UNIT = "a unit such as SECONDS, MINUTES, HOURS or DAYS"


def _hint(wanted: frozenset[str]) -> str:
    keywords = sorted({_A_UNIT if "UNIT" in w else w for w in wanted if w not in _UNTOLD})
    if not keywords or len(keywords) > 12:
        return "Mend the query at that place."
    return f"Expected here: {', '.join(keywords)}."
