"""Observed metrics: the engine's own aggregates, or buffers as a kernel of an aggregation has them.

Select [...]
+- ObserveBuffers [the columns of which buffers are made]
   :- Select [..., the columns of which buffers are made]
   +- Select [metrics]
      +- Observed [buffers]
"""

from __future__ import annotations

from ...physical.basic import CollectMetricsExec
from ...planner.model.expressions.core import AggregateExpression, Alias, Expression, to_attribute
from .aggregation import row_buffers
from .carried import plain
from .facts import BatchFacts
from .nodes import RuntimeNode, Select, travelling
from .observing_nodes import ObserveBuffers, Observed, ObserveMetrics
from .specs import buffered
from .translate import translate


@translate.register(CollectMetricsExec)
def _(node: CollectMetricsExec, facts: BatchFacts) -> RuntimeNode:
    rows = translate(node.child, facts)
    if facts.engine.observes:
        return ObserveMetrics(child=rows, name=node.name, metrics=node.metrics)
    aggregates = [a for metric in node.metrics for a in metric.collect(AggregateExpression)]
    functions = {aggregate: buffered(aggregate) for aggregate in dict.fromkeys(aggregates)}
    made, sources = row_buffers(tuple(functions.values()))
    emitted = [plain(a) for f in functions.values() for a in f.emitted]

    def result(part: Expression) -> Expression:
        if not isinstance(part, AggregateExpression):
            return part
        value = functions[part].forms.final_over(functions[part].emitted)
        return value.child if isinstance(value, Alias) else value

    observed: RuntimeNode = Observed(name=node.name, attributes=travelling(emitted))
    observed = Select(child=observed, columns=tuple(c.restored for c in emitted))
    metrics = tuple(metric.transform_up(result) for metric in node.metrics)
    passing = ObserveBuffers(
        child=Select(child=rows, columns=(*node.output, *made)),
        results=Select(child=observed, columns=metrics),
        name=node.name,
        functions=tuple(functions.values()),
        made=tuple(map(to_attribute, made)),
        sources=sources,
    )
    return Select(child=passing, columns=node.output)
