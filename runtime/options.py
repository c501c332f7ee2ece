"""The options of a source or sink: names in any case, values as text, as in Spark."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from ..planner.model.errors import DescriptionError
from ..planner.model.settings.conf import option_text

_DURATION = re.compile(r"(-?\d+)\s*([a-z]*)")
_UNITS = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


class Options(Mapping[str, str]):
    """Options by name.

    Args:
        given: as they were written.
        owner: whose they are, for errors: `the source 'rate'`.
    """

    def __init__(self, given: Mapping[str, object] | None, owner: str) -> None:
        self.written = {key: option_text(value) for key, value in (given or {}).items()}
        self.owner = owner
        self._values = {key.lower(): value for key, value in self.written.items()}

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def flag(self, name: str, default: bool = False) -> bool:
        """`true` or `false`, in any case."""
        text = self.get(name)
        if text is None:
            return default
        if text.strip().lower() not in ("true", "false"):
            raise self.refusal(name, "it must be true or false", "Write true or false.")
        return text.strip().lower() == "true"

    def whole(self, name: str, default: int | None = None, *, least: int = 1) -> int | None:
        """A whole number of at least so much."""
        text = self.get(name)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            what = f"it must be a whole number {f'above {least - 1}' if least else 'from 0 on'}"
            raise self.refusal(name, what, f"Set {name} to {least} or more.")
        return number

    def duration_ms(self, name: str, default: str) -> int:
        """A length of time such as `7d`, `15m`, `30s`; a bare number is milliseconds."""
        text = self.get(name, default).strip().lower()
        found = _DURATION.fullmatch(text)
        if found is None or (found[2] or "ms") not in _UNITS:
            hint = "Write a number and us, ms, s, m, min, h or d, such as '7d'."
            raise self.refusal(name, "it is no length of time", hint)
        return int(int(found[1]) * _UNITS[found[2] or "ms"])

    def choice(self, name: str, default: str, known: Iterable[str]) -> str:
        """One of some words, in any case."""
        found = self.get(name, default).strip().lower()
        if found not in known:
            words = ", ".join(known)
            raise self.refusal(name, f"it must be one of {words}", f"Write one of {words}.")
        return found

    def refuse_unknown(self, known: Iterable[str], prefix: str | None = None) -> None:
        """Raise for the first option that is not known; names behind the prefix all are."""
        names = {name.lower(): name for name in known}
        for key in self.written:
            if key.lower() in names or (prefix and key.lower().startswith(prefix)):
                continue
            near = difflib.get_close_matches(key.lower(), names, n=1, cutoff=0.0)
            ending = f" Did you mean '{names[near[0]]}'?" if near else ""
            raise DescriptionError(
                "STATEPLAN_UNKNOWN_OPTION",
                f"{_capital(self.owner)} has no option '{key}'.",
                hint=f"It has {', '.join(sorted(names.values())) or 'none'}.{ending}",
            )

    def refusal(self, name: str, why: str, hint: str) -> DescriptionError:
        """The error for an option's value."""
        return DescriptionError(
            "STATEPLAN_BAD_OPTION",
            f"The option '{name}' of {self.owner} is '{self.get(name, '')}': {why}.",
            hint=hint,
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
