"""AUTO CDC: a flow that applies a stream of changes to a table, by key and in their order.

The stream itself is read as it is; each micro-batch is merged into the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.expressions.core import Expression
from ..model.expressions.unresolved import UnresolvedAttribute
from ..model.frozen import dataclass
from ..model.schemas.types import DataType, StructField, StructType
from ..model.settings.conf import Conf
from ..model.text.text import pretty
from .refusals import columns_not_found, refusal, sensitivity

METADATA = "__spark_autocdc_metadata"
_HISTORY = ("__START_AT", "__END_AT")


@dataclass(frozen=True, kw_only=True)
class AutoCdc:
    """How changes are applied.

    Attributes:
        keys: columns that identify a row of the target.
        sequence_by: orders the changes of a key.
        deletes: true for a change that deletes its key.
        columns: those that the target keeps; all but `except_columns` where empty.
        scd_type: 1 keeps the latest row of a key, 2 its history.
        tracked: of type 2, columns whose change starts a new row; all but `untracked` where empty.
    """

    keys: tuple[str, ...]
    sequence_by: Expression
    deletes: Expression | None = None
    columns: tuple[str, ...] = ()
    except_columns: tuple[str, ...] = ()
    scd_type: int = 1
    tracked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[Expression, ...]:
        """What is asked of the columns of the changes."""
        names = (
            *(*self.keys, *self.columns, *self.tracked),
            *(*self.except_columns, *self.untracked),
        )
        columns = tuple(UnresolvedAttribute(parts=(name,)) for name in names)
        return (*columns, self.sequence_by, *(() if self.deletes is None else (self.deletes,)))

    def target_schema(self, source: StructType, sequence: DataType, conf: Conf) -> StructType:
        """The columns of the target table.

        Args:
            source: the columns of the changes.
            sequence: the type of `sequence_by`.
            conf: says how names are compared.

        Raises:
            AnalysisError: a column is not there, or a key is not kept.
        """
        fold = conf.fold

        def chosen(
            fields: Sequence[StructField],
            named: tuple[str, ...],
            left_out: tuple[str, ...],
            of: str,
        ) -> list[StructField]:
            known = {fold(f.name) for f in fields}
            missing = [name for name in (*named, *left_out) if fold(name) not in known]
            if missing:
                names = [f.name for f in fields]
                raise columns_not_found(missing, names, of, conf)
            kept, dropped = set(map(fold, named)), set(map(fold, left_out))
            return [
                f
                for f in fields
                if (not kept or fold(f.name) in kept) and fold(f.name) not in dropped
            ]

        fields = chosen(source.fields, self.columns, self.except_columns, "changeDataFeed")
        names = {fold(f.name) for f in fields}
        for key in self.keys:
            if fold(key) not in names:
                raise refusal(
                    "AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA",
                    caseSensitivity=sensitivity(conf),
                    keyColumnName=key,
                )
        inner: tuple[str, ...]
        if self.scd_type == 1:
            inner = ("deleteSequence", "upsertSequence")
        else:
            keys = set(map(fold, self.keys))
            rest = [f for f in fields if fold(f.name) not in keys]
            chosen(rest, self.tracked, self.untracked, "trackHistorySelection")
            inner = ("__RECORD_START_AT",)
            fields += [StructField(name, sequence) for name in _HISTORY]
        metadata = StructType(tuple(StructField(name, sequence) for name in inner))
        return StructType((*fields, StructField(METADATA, metadata, False)))

    @property
    def text(self) -> str:
        """`keys user, by ts, SCD type 1, deletes where op = 'D'`."""
        parts = [
            f"keys {', '.join(self.keys)}",
            f"by {pretty(self.sequence_by)}",
            f"SCD type {self.scd_type}",
        ]
        if self.deletes is not None:
            parts.append(f"deletes where {pretty(self.deletes)}")
        return ", ".join(parts)


def column_name(expression: Expression) -> str:
    """The name of a column without a qualifier.

    Raises:
        AnalysisError: it is another expression, or its name has several parts.
    """
    if not isinstance(expression, UnresolvedAttribute):
        raise refusal("AUTOCDC_NON_COLUMN_IDENTIFIER", expression=pretty(expression))
    parts = expression.parts
    if len(parts) != 1:
        raise refusal(
            "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER",
            columnName=".".join(parts),
            nameParts=", ".join(parts),
        )
    return parts[0]
