"""Properties that are computed once: functools' without its lock.

Plans are made and read by one thread at a time; if two computed a value, both would get the same.
Python 3.12 has left the lock out, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:
        """Computes the value when it is first asked for, and keeps it in the instance."""

        def __init__(self, function):
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value
