"""What Spark says to a text that is no query: the place it blames, and how it would mend it."""

from __future__ import annotations

from ..model.errors import AnalysisError
from .brackets import called_like_column, clause, is_undecided, last_clause, opening, unclosed
from .context import syntax_failure
from .earley import END, Token, first_misfit, tokenize

_OTHER_STATEMENTS = frozenset(
    {"ADD", "ALTER", "ANALYZE", "BEGIN", "CACHE", "CALL", "CLEAR", "COMMENT", "CREATE", "DECLARE",
     "DELETE", "DESC", "DESCRIBE", "DROP", "EXECUTE", "EXPLAIN", "INSERT", "LOAD", "MERGE", "MSCK",
     "REFRESH", "RESET", "SET", "SHOW", "TRUNCATE", "UNCACHE", "UPDATE", "USE"}
)  # fmt: skip

_QUOTE = "'"
_BEGINS_EXPRESSION = frozenset({"$NAME", "$NUMBER", "$STRING", "CASE"})
_INFIX_WORDS = frozenset(
    {"AND", "OR", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IN", "IS", "DIV", "NOT"}
)
_CLOSERS = frozenset({"')'", "']'", "'('", END})
_REQUIRED = frozenset({"')'", "']'", "AND", "INTERVAL", "OF", "DELAY"})
# What may go on an expression that is already whole.
_CONTINUATIONS = frozenset(
    {"'*'", "'/'", "'%'", "DIV", "'+'", "'-'", "'||'", "'<'", "'>'", "'&'", "'^'", "'|'", "'='",
     "'=='", "'<=>'", "'<>'", "'!='", "'<='", "'>='", "'['", "'.'", "'::'", "COLLATE",
     "AND", "OR", "NOT", "'!'", "BETWEEN", "IN", "RLIKE", "REGEXP", "LIKE", "ILIKE", "IS", "OVER",
     "WITHIN", "FILTER", "IGNORE", "RESPECT", "'->'", "'=>'", "$STRING"}
)  # fmt: skip


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
    if start == "statement":
        if (error := _named_key(tokens, text)) is not None:
            return error
        named = first_misfit(tokens, start, named_keys=True)
        if named is not None and named[0] > found[0] and not _begins_clause(tokens[found[0]]):
            found = named
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
    place = len(text) if at_end else tokens[index].start
    at_bracket = reread != found[0] and not at_end and tokens[index].text == "("
    near = "end of input" if at_end else f"'{tokens[index].text}'"
    repair = _repair(tokens, index, wanted, start)
    if repair == ": missing ')'" and (at_end or at_bracket or _is_condition(tokens, index)):
        repair = ""  # Spark's parser had not decided yet what it was reading
    return syntax_failure(near + repair, text, place, _hint(wanted))


def _is_condition(tokens: list[Token], index: int) -> bool:
    """Whether the misfit stands in a bracket within WHERE, HAVING or ON."""
    words = _words(tokens)
    place = opening(words, index)
    return place is not None and clause(words, place) in ("WHERE", "HAVING", "ON")


def _begins_clause(token: Token) -> bool:
    return token.text.upper() in ("FROM", "GROUP", "JOIN", "ON", "SELECT", "WHERE")


def _named_key(tokens: list[Token], text: str) -> AnalysisError | None:
    """What Spark says to a name behind a key of GROUP BY: its grammar has it, its reader not.

    `GROUP BY user HAVING`, `GROUP BY user AS u`: without a place.
    """
    if first_misfit(tokens, "statement", named_keys=True) is not None:
        return None
    words = _words(tokens)
    for place in range(words.index("GROUP") + 3, len(tokens)):
        named = place + 1 if tokens[place].text.upper() == "AS" else place
        without = [*tokens[:place], *tokens[named + 1 :]]
        if (
            "$NAME" in tokens[place].terminals
            and first_misfit(without, "statement", named_keys=True) is None
            and first_misfit([*tokens[:place], *_closing(tokens[:place])], "statement") is None
        ):
            word = tokens[named].text
            return AnalysisError(
                "PARSE_SYNTAX_ERROR",
                f"[PARSE_SYNTAX_ERROR] Syntax error at or near '{word}': extra input '{word}'. "
                f"SQLSTATE: 42601\n== SQL ==\n{text}",
                hint="A key of GROUP BY takes no name: leave it out.",
            )
    return None


def _closing(tokens: list[Token]) -> list[Token]:
    """The brackets that close those which the tokens leave open."""
    opened = sum((t.text == "(") - (t.text == ")") for t in tokens)
    return [Token(")", 0, frozenset({"')'"}))] * opened


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
    if wanted <= {"';'", END}:
        return f": extra input '{tokens[index].text}'"
    near = END if index == len(tokens) else f"'{tokens[index].text}'"
    following = tokens[index + 1].terminals if index + 1 < len(tokens) else frozenset({END})
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
    words = _words(tokens)
    blamed = unclosed(words, index)
    if blamed is None:
        blamed = _unfinished(tokens, index, start)
    if blamed is None:
        blamed = called_like_column(words, index)
    if blamed is not None:
        return blamed
    case = _open_case(tokens, index)
    if case is not None and case + 1 < index:
        first_alias = case + 1 if _in_select_list(tokens, case) else case
        return first_alias + 1
    if index and tokens[index - 1].terminals & _INFIX_WORDS and index > 1:
        before = tokens[index - 2].terminals
        return index if before & {"NOT", "IS", "AND", "OR"} else index - 1
    by = index > 1 and "BY" in tokens[index - 1].terminals
    if not by or not tokens[index - 2].terminals & {"GROUP", "ORDER"}:
        return index
    if _in_window(tokens, index):
        return index
    # Behind a relation GROUP might be its alias, elsewhere the query ends before it.
    alias = Token("", 0, frozenset({"$NAME", "$STRICT"}))
    if first_misfit([*tokens[: index - 2], alias], start) is None:
        return index - 1
    return index if "GROUP" in tokens[index - 2].terminals else index - 2


def _unfinished(tokens: list[Token], index: int, start: str) -> int | None:
    """The word of an ORDER BY, LIMIT or OFFSET that the misfit leaves unfinished.

    Each may be left out: to Spark the query ends before it.
    """
    found = last_clause(_words(tokens), index)
    if found is None:
        return None
    bracket, place = found
    closing = _closing(tokens[: 0 if bracket is None else bracket + 1])

    def whole(*rest: Token) -> bool:
        return first_misfit([*rest, *closing], start) is None

    if not whole(*tokens[:place]) or whole(*tokens[:index]):
        return None
    alias = Token("", 0, frozenset({"$NAME", "$STRICT"}))
    begun = place + 1 == index or (place + 2 == index and "BY" in tokens[index - 1].terminals)
    return None if begun and whole(*tokens[:place], alias) else place


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
