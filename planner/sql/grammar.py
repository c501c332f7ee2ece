"""The language of Spark's queries as rules, for finding where a text leaves it.

Spark reads keywords as names where it can, so whether a word fits depends on all that follows;
these rules say what may come after what, and nothing about meaning. Notation: `|` alternatives, `?`
optional, `*` any number, `+` one or more; words in capitals are keywords, in small letters rules,
with `$` token classes: $NAME is any word or quoted name, $STRICT the same without the words of
joins and set operations.
"""

from __future__ import annotations

import re
from functools import cache

JOIN_AND_SET_WORDS = frozenset(
    {"ANTI", "CROSS", "EXCEPT", "FULL", "INNER", "INTERSECT", "JOIN", "LATERAL", "LEFT", "MINUS",
     "NATURAL", "ON", "RIGHT", "SEMI", "SETMINUS", "UNION", "USING"}
)  # fmt: skip
_GRAMMAR = r"""
statement: query ';'* ;
named_expression: item ;
query: with? term organization ;
with: WITH RECURSIVE? definition (',' definition)* ;
definition: cname columns? AS? '(' query ')' ;
columns: '(' cname (',' cname)* ')' ;
cname: $NAME ('-' $NAME)* ;
multi: cname ('.' cname)* ;
qualified: $NAME ('.' $NAME)* ;
term: primary_query (set_operator quantifier? primary_query)* ;
set_operator: UNION | EXCEPT | MINUS | SETMINUS | INTERSECT ;
quantifier: ALL | DISTINCT ;
primary_query: select | '(' query ')' | TABLE multi | inline_table | from select_body+ ;
inline_table: VALUES expr (',' expr)* alias ;
select: select_head from? select_tail ;
select_body: select_head select_tail organization ;
select_head: SELECT $HINT* (quantifier | DISTINCT ON '(' exprs ')' (WITHIN WATERMARK)?)? items ;
select_tail: lateral_view* (WHERE expr)? group? (HAVING expr)? windows? (QUALIFY expr)? ;
items: item (',' item)* ;
item: expr (AS? (cname | columns))? ;
exprs: expr (',' expr)* ;
organization: (ORDER BY sorts)? (CLUSTER BY exprs)? (DISTRIBUTE BY exprs)? (SORT BY sorts)?
  windows? (LIMIT (ALL | expr))? (OFFSET expr)? ;
sorts: sort (',' sort)* ;
sort: expr (ASC | DESC)? (NULLS (FIRST | LAST))? ;
group: GROUP BY group_item (',' group_item)*
  | GROUP BY exprs (WITH ROLLUP | WITH CUBE | GROUPING SETS '(' sets ')') ;
group_item: analytics | expr ;
analytics: (ROLLUP | CUBE) '(' sets ')' | GROUPING SETS '(' elements ')' ;
elements: element (',' element)* ;
element: analytics | set ;
sets: set (',' set)* ;
set: '(' exprs? ')' | expr ;
windows: WINDOW named_window (',' named_window)* ;
named_window: cname AS window_spec ;
window_spec: cname | '(' cname ')'
  | '(' (CLUSTER BY exprs | ((PARTITION | DISTRIBUTE) BY exprs)? ((ORDER | SORT) BY sorts)?)
    frame? ')' ;
frame: (RANGE | ROWS) bound | (RANGE | ROWS) BETWEEN bound AND bound ;
bound: UNBOUNDED (PRECEDING | FOLLOWING) | CURRENT ROW | expr (PRECEDING | FOLLOWING) ;
from: FROM relation (',' relation)* lateral_view* (pivot | unpivot)? ;
lateral_view: LATERAL VIEW OUTER? qualified '(' exprs? ')' $NAME (AS? $NAME (',' $NAME)*)? ;
unpivot: UNPIVOT ((INCLUDE | EXCLUDE) NULLS)? '(' unpivoted ')' (AS? cname)? ;
unpivoted: cname FOR cname IN '(' unpivot_column (',' unpivot_column)* ')'
  | columns FOR cname IN '(' unpivot_set (',' unpivot_set)* ')' ;
unpivot_column: multi (AS? cname)? ;
unpivot_set: '(' multi (',' multi)* ')' (AS? cname)? ;
pivot: PIVOT '(' items FOR (cname | columns) IN '(' pivot_value (',' pivot_value)* ')' ')' ;
pivot_value: expr (AS? cname)? ;
relation: LATERAL? relation_primary (join | pivot | unpivot)* ;
join: join_type JOIN LATERAL? relation_primary (ON expr | USING columns)?
  | NATURAL join_type JOIN LATERAL? relation_primary ;
join_type: INNER? | CROSS | LEFT OUTER? | LEFT? SEMI | RIGHT OUTER? | FULL OUTER? | LEFT? ANTI ;
relation_primary: multi sample? watermark? alias | stream watermark? alias
  | '(' query ')' sample? watermark? alias
  | '(' relation ')' sample? watermark? alias | inline_table
  | qualified '(' arguments? ')' watermark? alias ;
stream: STREAM multi | STREAM '(' multi ')' ;
sample: TABLESAMPLE
  '(' ('-'? $PLAIN PERCENT | BUCKET $INTEGER OUT OF $INTEGER (ON (cname | qualified '(' ')'))?
  | expr ROWS | expr)? ')'
  (REPEATABLE '(' $INTEGER ')')? ;
watermark: WATERMARK item DELAY OF interval ;
alias: (AS? $STRICT columns?)? ;
interval: INTERVAL (units range? | range) ;
units: (interval_value $UNIT)+ ;
range: interval_value $RANGE_UNIT TO $RANGE_UNIT ;
interval_value: ('+' | '-')? ($PLAIN | $STRING) ;
expr: negated ((AND | OR) negated)* ;
negated: (NOT | '!') negated | EXISTS '(' query ')' | value predicate? ;
predicate: not? BETWEEN value AND value | not? IN '(' exprs ')' | not? IN '(' query ')'
  | not? (RLIKE | REGEXP) value
  | not? (LIKE | ILIKE) (ANY | SOME | ALL) '(' exprs? ')'
  | not? (LIKE | ILIKE) value (ESCAPE $STRING)?
  | IS not? (NULL | TRUE | FALSE | UNKNOWN) | IS not? DISTINCT FROM value ;
not: NOT | '!' ;
value: unary (operator unary)* ;
operator: '*' | '/' | '%' | DIV | '+' | '-' | '||' | '<' '<next' | '>' '>next' | '>' '>next' '>next'
  | '&' | '^' | '|' | '=' | '==' | '<=>' | '<>' | '!=' | '<' | '<=' | '>' | '>=' ;
unary: ('-' | '+' | '~') unary | postfix ;
postfix: primary ('[' value ']' | '.' $NAME | '::' type | COLLATE qualified)* ;
primary: constant | case | cast | call | special | lambda | $NAME | star
  | '(' expr ')' | '(' item (',' item)+ ')' | '(' query ')' ;
star: '*' except? | qualified '.' '*' except? ;
except: EXCEPT '(' multi (',' multi)* ')' ;
constant: NULL | TRUE | FALSE | $NUMBER | $STRING+ | interval | $NAME $STRING | '?' | ':' $NAME ;
case: CASE expr? (WHEN expr THEN expr)+ (ELSE expr)? END ;
cast: (CAST | TRY_CAST) '(' expr AS type ')' ;
lambda: $NAME '->' expr | '(' $NAME (',' $NAME)+ ')' '->' expr ;
call: function_name '(' (quantifier? arguments)? ')' (WITHIN GROUP '(' ORDER BY sorts ')')?
  (FILTER '(' WHERE expr ')')? ((IGNORE | RESPECT) NULLS)? (OVER window_spec)? ;
function_name: qualified ;
arguments: argument (',' argument)* ;
argument: expr | $NAME '=>' expr ;
special: STRUCT '(' items? ')' | (FIRST | LAST | ANY_VALUE) '(' expr (IGNORE NULLS)? ')'
  | POSITION '(' value IN value ')' | EXTRACT '(' $NAME FROM value ')'
  | (SUBSTR | SUBSTRING) '(' value (FROM | ',') value ((FOR | ',') value)? ')'
  | TRIM '(' (BOTH | LEADING | TRAILING)? value? FROM value ')'
  | OVERLAY '(' value PLACING value FROM value (FOR value)? ')' ;
type: ARRAY '<' type '>' | MAP '<' type ',' type '>' | STRUCT ('<' fields? '>' | '<>')
  | INTERVAL $RANGE_UNIT (TO $RANGE_UNIT)? | $NAME ('(' $INTEGER (',' $INTEGER)* ')')?
  | STRING COLLATE qualified ;
fields: field (',' field)* ;
field: cname ':'? type (NOT NULL)? (COMMENT $STRING)? ;
"""
_SYMBOL = re.compile(r"\s*(?:('[^']+')|(\$?[A-Za-z_]+)|([()?*+|;:]))")

Alternative = tuple[str, ...]
Rules = dict[str, list[Alternative]]


@cache
def rules(*, named_keys: bool = False) -> Rules:
    """The grammar with `?`, `*`, `+` and groups written out as rules of their own.

    Args:
        named_keys: the keys of GROUP BY may have names.

    A symbol is a rule's name, a keyword or token class in capitals, or a sign in quotes.
    """
    keys = "group_item: analytics | item ;" if named_keys else "group_item: analytics | expr ;"
    return _Compiler(_GRAMMAR.replace("group_item: analytics | expr ;", keys)).rules


class _Compiler:
    """Reads the notation above."""

    def __init__(self, text: str) -> None:
        self.rules: Rules = {}
        self.symbols = [m.group(m.lastindex or 0) for m in _SYMBOL.finditer(text)]
        self.index = 0
        while self.index < len(self.symbols):
            name = self._take()
            self._take()  # the colon
            self.rules[name] = self._alternatives()
            self._take()  # the semicolon

    def _take(self) -> str:
        self.index += 1
        return self.symbols[self.index - 1]

    def _peek(self) -> str:
        return self.symbols[self.index]

    def _alternatives(self) -> list[Alternative]:
        found = [self._sequence()]
        while self._peek() == "|":
            self._take()
            found.append(self._sequence())
        return found

    def _sequence(self) -> Alternative:
        parts: list[str] = []
        while self._peek() not in ("|", ")", ";"):
            parts.append(self._repeated())
        return tuple(parts)

    def _repeated(self) -> str:
        symbol = self._take()
        if symbol == "(":
            symbol = self._rule(self._alternatives())
            self._take()
        while self._peek() in ("?", "*", "+"):
            mark = self._take()
            if mark == "?":
                symbol = self._rule([(), (symbol,)])
            else:
                name = f"_{len(self.rules)}"
                first: Alternative = () if mark == "*" else (symbol,)
                self.rules[name] = [first, (name, symbol)]
                symbol = name
        return symbol

    def _rule(self, alternatives: list[Alternative]) -> str:
        name = f"_{len(self.rules)}"
        self.rules[name] = alternatives
        return name
