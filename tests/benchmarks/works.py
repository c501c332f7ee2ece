"""All works by name, in the order of the tables."""

from __future__ import annotations

from .join_works import JOINS
from .main_works import MAIN
from .ordinary_works import ORDINARY
from .unseen_works import UNSEEN
from .work import Work

WORKS: dict[str, Work] = {work.name: work for work in (*MAIN, *ORDINARY, *JOINS, *UNSEEN)}
