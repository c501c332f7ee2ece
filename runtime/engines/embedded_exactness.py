"""The embedded engine's table of what agrees, as the runtime plan asks it."""

from __future__ import annotations

from collections.abc import Sequence

from ...planner.model.expressions.core import Expression
from ...planner.model.schemas.types import DataType
from ...planner.model.settings.conf import Conf
from ..kernels.readers.formats import FILE_READERS
from ..plan.facts import EngineFacts, Reader
from ..plan.guarded import guarded_arguments
from .agreement import can_fail, disagreements, reader_disagreements, step_disagreements
from .exact import ExactForm
from .reader_settings import changed_settings
from .rewrites import comparable
from .rewriting import exact_form


class AgreementTable:
    """An `Exactness` by the table that `tests/compare_engines.py` has measured."""

    def exact(self, expression: Expression, conf: Conf) -> Expression:
        return exact_form(expression, ansi=conf.ansi, time_zone=conf.time_zone)

    def disagreements(self, exact: Expression, conf: Conf) -> Sequence[tuple[Expression, str]]:
        found = disagreements(exact, ansi=conf.ansi, time_zone=conf.time_zone)
        return [(one.expression, one.reason) for one in found]

    def sort_key(self, key: Expression) -> Expression:
        return comparable(key)

    def repeats(self, part: Expression) -> Sequence[int]:
        return part.repeats if isinstance(part, ExactForm) else ()

    def lazy(self, part: Expression) -> Sequence[Expression]:
        return guarded_arguments(part)

    def can_fail(self, exact: Expression, conf: Conf) -> bool:
        return can_fail(exact, ansi=conf.ansi, time_zone=conf.time_zone)

    def step_disagreements(self, step: str, types: Sequence[DataType], conf: Conf) -> Sequence[str]:
        return step_disagreements(step, types, ansi=conf.ansi, time_zone=conf.time_zone)

    def reader_disagreements(self, reader: Reader, conf: Conf) -> Sequence[str]:
        changed = [
            f"it does not heed the setting '{name}', which is '{value}'"
            for name, value in changed_settings(reader.format, conf)
        ]
        own = FILE_READERS.get(reader.format)
        reason = None if own is None else own.unsupported(reader.schema, reader.options)
        own_reasons = [] if reason is None else [reason]
        if changed or (own is not None and own.alone):
            return changed or own_reasons
        found = reader_disagreements(
            reader.format,
            reader.schema,
            reader.options,
            ansi=conf.ansi,
            time_zone=conf.time_zone,
        )
        return [*own_reasons, *found] if found else []


EMBEDDED = EngineFacts(
    name="embedded",
    hashes=False,
    groups_first=False,
    repeats=False,
    numbers_partitions=False,
    observes=False,
    reads_together=True,
    prunes=False,
    splits=False,
    writes=False,
    exactness=AgreementTable(),
)
"""What the runtime plan has to know of the embedded engine."""
