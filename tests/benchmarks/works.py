"""All works by name, in the order of the tables."""

from __future__ import annotations

from .join_works import JOINS
from .key_works import KEYS
from .main_works import MAIN
from .message_works import MESSAGES
from .ordinary_works import ORDINARY
from .reading_works import READINGS
from .unseen_works import UNSEEN
from .work import Work

_ALL = (*MAIN, *ORDINARY, *READINGS, *MESSAGES, *KEYS, *JOINS, *UNSEEN)
WORKS: dict[str, Work] = {work.name: work for work in _ALL}
