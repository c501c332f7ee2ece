"""Lets an engine compute only what it computes as Spark does.

    Select [a / b AS x, upper(s) AS y]        Select (in Arrow) [x, upper(s) AS y]
                                              +- Select [a / b AS x, s]

What the engine computes otherwise our own Arrow code computes (`kernels/expressions`); else it is
written in a form that is equal, if there is one; else the query is refused, naming the expression.
An engine that is Spark has no such table, and the pass does nothing. Runs last: it looks at the
expressions that will run. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from ....physical.basic import GenerateExec
from ....physical.python_operators import EvalPythonExec, MapInPythonExec
from ....planner.model.errors import RuntimeFailure
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    LambdaFunction,
    Literal,
    SortOrder,
    lit,
    to_attribute,
)
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.expressions.python_functions import PythonUDF
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ...kernels.expressions.programs.compile import compile_program
from ..facts import BatchFacts, Exactness
from ..nodes import (
    Aggregate,
    AsIs,
    CallPython,
    CallPythonOnGroups,
    Exchange,
    Expand,
    Kernel,
    ReadSource,
    ReadTable,
    RuntimeNode,
    Select,
    Union,
    used_by,
)
from ..observing_nodes import CountRows, ObserveBuffers, Observed, ObserveEventTime, ObserveMetrics
from .division import Division
from .exact_steps import ExactSteps, not_exact
from .share_arguments import LONGEST, share_arguments, text_size


def compute_exactly(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan in which every expression is computed as Spark does.

    Raises:
        RuntimeFailure: there is no way to compute one (STATEPLAN_NOT_EXACT).
    """
    exactness = facts.engine.exactness
    if exactness is None:
        return plan
    return plan.transform_up(_Exactly(exactness, facts).node)


class _Exactly:
    def __init__(self, exactness: Exactness, facts: BatchFacts) -> None:
        self._exactness = exactness
        self._facts = facts
        self._checks = ExactSteps(exactness, facts)
        self._conf = facts.conf

    def node(self, node: RuntimeNode) -> RuntimeNode:
        match node:
            case Select():
                return node if node.in_arrow else self._select(node)
            case Aggregate():
                self._checks.step("group by", [e.data_type for e in node.keys])
                return node.map_expressions(self._own)
            case Kernel():
                self._checks.kernel(node)
            case Union() if not self._is_here(node):
                self._checks.step("union", [a.data_type for a in node.output])
            case ObserveMetrics():
                return node.map_expressions(self._own)
            case ReadSource(name=name) | ReadTable(name=name):
                self._checks.reader(name, node.output)
            case Expand():
                return node if node.in_arrow else self._expand(node)
            case AsIs(operator=EvalPythonExec() as calls):
                return self._called(node.inputs[0], calls)
            case AsIs(operator=MapInPythonExec(function=function, attributes=attributes)):
                return CallPython(
                    child=node.inputs[0],
                    functions=(function,),
                    results=attributes,
                    over_partitions=True,
                )
            case AsIs():
                paths = json_paths(node)
                if paths is not None:
                    return self._select(paths)
                node = self._fed_generator(node)
                self._checks.operator(node)
                operator = node.operator.map_expressions(self._own)
                return node if operator is node.operator else replace(node, operator=operator)
        return node

    # ---------------------------------------------------------------------------- expressions

    def _own(self, expression: Expression) -> Expression:
        """An expression of an operator that the engine alone can run."""
        if isinstance(expression, SortOrder):  # the order itself is a step
            return replace(expression, child=self._sort_key(expression.child))
        if isinstance(expression, Call) and expression.spec.kind == "generator":
            return replace(expression, arguments=tuple(map(self._own, expression.arguments)))
        exact = self._exact(expression)
        self._refuse(self._reasons(exact))
        self._check_size(exact)
        return exact

    def _sort_key(self, key: Expression) -> Expression:
        return self._exactness.sort_key(self._own(key))

    def _exact(self, expression: Expression) -> Expression:
        return self._exactness.exact(expression, self._conf)

    def _reasons(self, exact: Expression) -> Sequence[tuple[Expression, str]]:
        return self._exactness.disagreements(exact, self._conf)

    def _is_here(self, node: RuntimeNode) -> bool:
        """Whether rows are in this process, where our own code computes sooner than the engine."""
        match node:
            case Kernel() | Observed() | CallPythonOnGroups():
                return True
            case ReadSource(name=name) | ReadTable(name=name):
                reader = self._facts.readers.get(name)
                return reader is None or reader.here
            case Select(in_arrow=True) | Expand(in_arrow=True) | Exchange() | CallPython():
                return self._is_here(node.child)
            case ObserveEventTime() | ObserveBuffers() | CountRows():
                return self._is_here(node.child)
            case Union(inputs=inputs):
                return all(map(self._is_here, inputs))
        return False

    def _drawn(self, node: Select) -> Select | None:
        """A select over one that draws random values: what stands above may name them twice."""
        drawn: list[Alias] = []

        def named(part: Expression) -> Expression:
            if isinstance(part, Call) and part.spec.random_seed:
                drawn.append(Alias(child=part, name="drawn"))
                return to_attribute(drawn[-1])
            if isinstance(part, LambdaFunction) or part.deterministic:
                return part  # a lambda draws for each element
            return part.with_new_children(tuple(map(named, part.children)))

        conditions = tuple(map(named, node.conditions))
        columns = tuple(c if _is_drawn(c) else named(c) for c in node.columns)
        if not drawn:
            return None
        passed = used_by((*conditions, *columns), node.child.output)
        below = self._select(Select(child=node.child, columns=(*passed, *drawn)))
        return replace(node, child=below, conditions=conditions, columns=columns)

    def _select(self, node: Select) -> RuntimeNode:
        node = self._drawn(node) or node
        if node.columns and self._is_here(node.child):
            whole = replace(node, in_arrow=True)
            if computable(whole):
                return whole
        columns = tuple(map(self._exact, node.columns))
        conditions = tuple(map(self._exact, node.conditions))
        reasons = [r for e in (*conditions, *columns) for r in self._reasons(e)]
        pairs = zip((*node.columns, *node.conditions), (*columns, *conditions), strict=True)
        if not reasons and all(exact is plain for plain, exact in pairs):
            return node
        whole = replace(node, in_arrow=True)
        if computable(whole):
            return whole
        if not reasons:
            return self._shared(replace(node, columns=columns, conditions=conditions))
        found = self._divided(node, columns, conditions) or self._above(node) or self._fed(node)
        if found is None:
            self._refuse(reasons)
        return found or node

    def _expand(self, node: Expand) -> RuntimeNode:
        """Time windows that slide: their arithmetic is ours wherever it is not the engine's."""
        expressions = [e for projection in node.projections for e in projection]
        exact = [self._exact(e) for e in expressions]
        reasons = [r for e in exact for r in self._reasons(e)]
        plain = not reasons and all(map(is_, exact, expressions))
        if plain and not self._is_here(node.child):
            return node
        if compile_program(expressions, node.child.output, untouched=True) is None:
            self._refuse(reasons)
            return node if plain else node.map_expressions(self._exact)
        return replace(node, in_arrow=True)

    def _divided(
        self,
        node: Select,
        columns: tuple[Expression, ...],
        conditions: tuple[Expression, ...],
    ) -> RuntimeNode | None:
        """The conditions and some columns by the engine, the other columns in Arrow."""
        mine = [bool(self._reasons(column)) for column in columns]
        if any(self._reasons(condition) for condition in conditions):
            return None
        pairs = list(zip(node.columns, columns, mine, strict=True))
        used = frozenset[int]().union(*(column.references for column, _, own in pairs if own))
        made = [exact for _, exact, own in pairs if not own]
        ids = {to_attribute(column).expr_id for column in made}
        kept = [a for a in node.child.output if a.expr_id in used and a.expr_id not in ids]
        if used & ids - {a.expr_id for a in node.child.output if a in made}:
            return None  # a column would be taken for another under its id
        below = Select(child=node.child, conditions=conditions, columns=(*made, *kept))
        above = tuple(column if own else to_attribute(column) for column, _, own in pairs)
        found = Select(child=below, columns=above, in_arrow=True)
        return replace(found, child=self._shared(below)) if computable(found) else None

    def _above(self, node: Select) -> RuntimeNode | None:
        """Parts of columns by the engine, below the rest of them; None: there are no such parts."""
        if any(map(self._differs, node.conditions)):
            return None
        division = self._division(node.child.output)
        above = tuple(
            division.over_engine(column) if self._differs(column) else column
            for column in node.columns
        )
        if not division.made:
            return None
        passed = used_by(above, node.child.output)
        given = replace(node, columns=(*passed, *division.made.values()))
        try:
            return self._select(Select(child=self._select(given), columns=above))
        except RuntimeFailure:
            return None  # the refusal names the user's own expression, not these columns

    def _fed(self, node: Select) -> RuntimeNode | None:
        """Parts of expressions in Arrow, the rest of them by the engine above; None: not possible.

        Conditions have selects of their own below, so that a part that can fail is computed for the
        rows alone that fulfil all conditions before it.
        """
        conditions = [c for condition in node.conditions for c in split_conjuncts(condition)]
        reasoned = (i for i, c in enumerate(conditions) if self._differs(c))
        count = next(reasoned, len(conditions)) or 1
        plain = all(isinstance(column, AttributeReference) for column in node.columns)
        if conditions and not (plain and len(conditions) == 1):
            rest = conditions[count:]
            passed = used_by((*node.columns, *rest), node.child.output)
            below = replace(node, columns=passed, conditions=tuple(conditions[:count]))
            return self._select(replace(node, child=self._select(below), conditions=tuple(rest)))
        division = self._division(node.child.output)
        fed_columns = tuple(map(division.over_computed, node.columns))
        fed_conditions = tuple(map(division.over_computed, conditions))
        if not division.made:
            return None
        passed = used_by((*fed_conditions, *fed_columns), node.child.output)
        fed = Select(child=node.child, columns=(*passed, *division.made.values()), in_arrow=True)
        return self._select(
            replace(node, child=fed, conditions=fed_conditions, columns=fed_columns)
        )

    def _fed_generator(self, node: AsIs) -> AsIs:
        """A generator over columns for what our Arrow code computes of its arguments."""
        match node.operator:
            case GenerateExec(generator=Call(arguments=arguments) as generator) as operator:
                (child,) = node.inputs
                below = Select(child=child, columns=child.output)
                division = self._division(child.output)
                over = tuple(map(division.over_computed, arguments))
                if division.made:
                    columns = (*child.output, *division.made.values())
                    fed = self._select(replace(below, columns=columns))
                    generator = replace(generator, arguments=over)
                    return replace(
                        node, inputs=(fed,), operator=replace(operator, generator=generator)
                    )
        return node

    def _division(self, columns: Sequence[AttributeReference]) -> Division:
        """Divides expressions over some columns."""
        return Division(
            columns=columns,
            differs=self._differs,
            can_fail=lambda part: self._exactness.can_fail(self._exact(part), self._conf),
            lazy=self._exactness.lazy,
        )

    def _differs(self, expression: Expression) -> bool:
        return bool(self._reasons(self._exact(expression)))

    def _shared(self, select: Select) -> RuntimeNode:
        """A select by the engine, whose exact forms are not nested."""
        shared = share_arguments(select, self._exactness, self._conf)
        for node in shared.collect(Select):
            if node is select.child:
                break
            for expression in node.expressions:
                self._check_size(expression)
        return shared

    def _check_size(self, exact: Expression) -> None:
        if text_size(exact, self._exactness) > LONGEST:
            reason = "its parts are nested too deeply where they are computed for some rows only"
            self._refuse([(exact, reason)])

    def _refuse(self, reasons: Sequence[tuple[Expression, str]]) -> None:
        if not reasons:
            return
        expression, reason = reasons[-1]
        raise not_exact(f"the expression {pretty(expression)}", reason, expression)

    # ---------------------------------------------------------------------------- Python functions

    def _called(self, child: RuntimeNode, calls: EvalPythonExec) -> RuntimeNode:
        """Calls of functions whose arguments the engine, or our Arrow code, has computed before."""
        made: dict[Expression, Alias] = {}

        def argument(expression: Expression) -> Expression:
            match expression:
                case AttributeReference():
                    return expression
                case PythonUDF():
                    return called(expression)
            return made.setdefault(
                expression, Alias(child=expression, name="argument")
            ).to_attribute()

        def called(call: PythonUDF) -> PythonUDF:
            return replace(call, arguments=tuple(map(argument, call.arguments)))

        functions = tuple(map(called, calls.functions))
        if not made:
            return CallPython(child=child, functions=functions, results=calls.results)
        given = self._select(Select(child=child, columns=(*child.output, *made.values())))
        found = CallPython(child=given, functions=functions, results=calls.results)
        return self._select(Select(child=found, columns=(*child.output, *calls.results)))


def _is_drawn(column: Expression) -> bool:
    """Whether a column is a random value as it was drawn."""
    return (
        isinstance(column, Alias)
        and isinstance(column.child, Call)
        and column.child.spec.random_seed
    )


def computable(select: Select) -> bool:
    """Whether our own Arrow code computes a select."""
    return (
        compile_program(
            tuple(c.child if isinstance(c, Alias) else c for c in select.columns),
            select.child.output,
            select.conditions,
            untouched=True,
        )
        is not None
    )


def json_paths(node: AsIs) -> Select | None:
    """`json_tuple` as a select of what is at paths of a constant name: it has a row for each."""
    match node.operator:
        case GenerateExec(generator=Call(name="json_tuple") as call) as operator:
            text, *names = call.arguments
            paths = [
                lit(f"$['{name.value}']")
                for name in names
                if isinstance(name, Literal) and isinstance(name.value, str)
            ]
            if len(paths) < len(names):
                return None
            columns = tuple(
                Alias(
                    child=Call(name="get_json_object", arguments=(text, path)),
                    name=column.name,
                    expr_id=column.expr_id,
                )
                for path, column in zip(paths, operator.generated, strict=True)
            )
            return Select(child=node.inputs[0], columns=(*operator.required, *columns))
    return None
