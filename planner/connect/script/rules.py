"""What stand-ins know of the process that explains."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, ClassVar


class Rules:
    """What stand-ins know of the process that explains.

    Attributes:
        users: whether a frame's file is the user's own; libraries may compare texts.
        passed_through: types of objects that a missing function is taken to give back.
        session: attributes of a missing object that only a SparkSession has are those of this one.
        seen: is called with attributes that say what a stand-in stood for.
        transformed: a DataFrame as a model that is not here would transform it.
        frame: a DataFrame that is not here, by its path: a stream, or else a table at rest.
        once: whether a loop over a path, in a frame, runs once: it leads to streams.
        of_frames: types that only a DataFrame's methods take.
        handed_in: parameters that --call hands in, and the texts that they are taken for: the first
            that the code compares each with.
        any_stand_in: whether there is any.
    """

    users: Callable[[str], bool] = staticmethod(lambda file: True)
    passed_through: tuple[type, ...] = ()
    session: Callable[[], Any] | None = None
    seen: Callable[[str, str], None] = staticmethod(lambda path, attribute: None)
    transformed: Callable[[str, Any], Any] | None = None
    frame: Callable[[str, bool], Any] | None = None
    once: Callable[[FrameType, str], bool] = staticmethod(lambda frame, path: False)
    of_frames: tuple[type, ...] = ()
    handed_in: ClassVar[dict[str, str]] = {}
    any_stand_in = False
