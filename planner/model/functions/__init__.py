"""The functions, one module per family. Importing this package registers all of them."""

from __future__ import annotations

from . import access as access
from . import aggregates as aggregates
from . import arithmetic as arithmetic
from . import conditional as conditional
from . import datetime as datetime
from . import decimal_parts as decimal_parts
from . import predicates as predicates
from . import strings as strings
from .shapes import resolve as resolve

__all__ = ["resolve"]
