"""Plans relations over columns that nobody described: each that the code needs is added."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ..model.errors import StateplanError
from ..model.expressions.core import Alias, Expression
from ..model.plans.logical import Project
from ..model.plans.relations import AnalyzedPlan
from ..model.schemas.open_schemas import open_schemas
from .failures import missing_schema
from .guesses import UNKNOWN_FUNCTION, is_unknown_source
from .places import Message
from .protocol import UNKNOWN_TABLE

if TYPE_CHECKING:
    from .session import Planned, PlannerSession


_NOT_GUESSED = (
    "The columns that --write-catalog guesses do not fit here: put the right ones into the file of"
    " --catalog. Guessed are those of: {}."
)


class Widening:
    """Adds columns to a session's open schemas.

    Args:
        session: whose.

    Attributes:
        under_way: a relation is being planned; those within it are planned as they are.
    """

    def __init__(self, session: PlannerSession) -> None:
        self.session = session
        self.guesses = session.guesses
        self.under_way = False

    def planned(self, relation: Message, used: Sequence[Expression]) -> Planned:
        """A relation; what is `used` of its columns besides is added, too.

        Raises:
            StateplanError: no column makes it acceptable.
        """
        self.under_way = True
        try:
            with open_schemas(self.session.open):
                frame = self._widened(relation)
                if used:
                    with suppress(StateplanError):
                        frame = self._widened(relation, used)
                return frame
        finally:
            self.under_way = False

    def planned_for_rows(self, relation: Message) -> Planned:
        """A relation whose rows a script asks for; it gets none, for no data is read.

        A table at rest that nobody described does not stop the script therefore: its columns are
        guessed for this one question. A stream that nobody described does.

        Raises:
            StateplanError: it is refused.
        """
        guessed_before = self.guesses.accepted
        try:
            return self.session.planned(relation)
        except StateplanError as error:
            if not self.session.scripted or guessed_before or not is_unknown_source(error):
                raise
            self.guesses.accepted = True
            try:
                with suppress(StateplanError):
                    frame = self.planned(relation, ())
                    if not frame.analyzed.is_streaming:
                        return frame
            finally:
                self._forget_guesses()
            raise

    def _widened(self, relation: Message, used: Sequence[Expression] = ()) -> Planned:
        session = self.session
        again = False
        while True:
            try:
                frame = session.replanned(relation)
                if used:
                    named = tuple(Alias(child=e, name=f"_{i}") for i, e in enumerate(used))
                    child = AnalyzedPlan(child=frame.analyzed)
                    session.analyzed(Project(project_list=named, child=child))
                self.guesses.settled()
                return frame
            except StateplanError as error:
                if session.pipeline is not None and session.pipeline.defines(error):
                    raise
                # Planning anew shows which open schemas the relation is made of.
                fixed = self._fixed(error) if again else self.guesses.may_fix(error)
                if not fixed:
                    if (
                        self.guesses.accepted
                        and self.guesses.sources
                        and self.guesses.may_fix(error)
                    ):
                        error.hint = _NOT_GUESSED.format(", ".join(self.guesses.sources))
                    raise self._with_guesses(error, relation) from None
                if not again:
                    session.plan_again()
                again = True

    def _fixed(self, error: StateplanError) -> bool:
        """Whether a guess may fix an error and leaves what was planned before as it is."""
        while self.guesses.widened(error):
            try:
                self.session.plan_again()
            except StateplanError:
                continue
            return True
        self.session.plan_again()
        return False

    def _with_guesses(self, error: StateplanError, relation: Message) -> StateplanError:
        """The error, with lines for a catalog file if the columns of something are not known."""
        if not self.guesses.accepted and error.condition == UNKNOWN_FUNCTION:
            error.hint += " --write-catalog takes it for one that gives a text."
        if self.guesses.accepted or not is_unknown_source(error):
            return error
        self.guesses.accepted = True
        with suppress(StateplanError):  # the lines so far help as well
            self._widened(relation)
        lines = "\n  ".join(self.guesses.lines())
        self._forget_guesses()
        if error.condition in UNKNOWN_TABLE:
            placed = missing_schema(f"the table '{'.'.join(error.subject)}'")
            placed.condition, placed.place = error.condition, error.place
            placed.subject = error.subject
            error = placed
        error.hint = (
            "Put its columns into a file given with --catalog, such as this guess, or let"
            f" --write-catalog do so:\n  {lines}"
        )
        return error

    def _forget_guesses(self) -> None:
        self.guesses.withdraw()
        self.session.frames.clear()
