"""The functions, one module per family. Importing this package registers all of them."""

from __future__ import annotations

from . import access as access
from . import aggregates_basic as aggregates_basic
from . import aggregates_collections as aggregates_collections
from . import aggregates_moments as aggregates_moments
from . import aggregates_percentiles as aggregates_percentiles
from . import aggregates_sketches as aggregates_sketches
from . import aggregates_sums as aggregates_sums
from . import arithmetic as arithmetic
from . import collections as collections
from . import comparisons as comparisons
from . import conditional as conditional
from . import datetime_arithmetic as datetime_arithmetic
from . import datetime_fields as datetime_fields
from . import datetime_parsing as datetime_parsing
from . import datetimes as datetimes
from . import encodings as encodings
from . import generators as generators
from . import hashes as hashes
from . import lambdas as lambdas
from . import maps as maps
from . import maths as maths
from . import messages as messages
from . import misc as misc
from . import over as over
from . import patterns as patterns
from . import predicates as predicates
from . import sequences as sequences
from . import sketches as sketches
from . import strings as strings
from . import struct_updates as struct_updates
from .shapes import resolve as resolve

__all__ = ["resolve"]
