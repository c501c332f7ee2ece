"""The passes in the order they run."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import BatchFacts
from ..nodes import RuntimeNode
from .compute_exactly import compute_exactly
from .count_rows import count_rows
from .decode_first import decode_first
from .expand_once import expand_once
from .group_first import group_first
from .keep_order import keep_order
from .merge_selects import merge_selects
from .name_files import name_files
from .place_exchanges import place_exchanges
from .place_rows import place_rows
from .protect_kernels import protect_kernels
from .read_files import read_files
from .read_needed import read_needed

Pass = Callable[[RuntimeNode, BatchFacts], RuntimeNode]

PASSES: tuple[Pass, ...] = (
    name_files,  # adds columns to what sources give, which the next one prunes
    read_needed,  # sees the projections and filters above a scan as Spark plans them
    count_rows,  # sees the sources as the plan has them, before anything moves
    read_files,  # a kernel that reads files needs no grouping, nor an exchange
    group_first,  # takes apart the selects of an aggregation, so before they are merged
    place_exchanges,  # compares the columns on both sides of an exchange
    protect_kernels,  # after the kernels' own exchanges have their place
    place_rows,  # adds columns to what the kernels take as it is by now
    keep_order,  # which kernels there are, and over what, is known
    expand_once,  # what stands above an expand has got its columns, and is not merged yet
    merge_selects,  # all selects are there
    decode_first,  # merged selects have all casts of a column; what is above has no say in them
    compute_exactly,  # last: looks at what will run
)
