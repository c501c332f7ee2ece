"""Running a physical plan on PySpark, micro-batch by micro-batch."""

import os

# Arrow's allocator reads it when it is loaded: it gives pages back that nobody has used for so many
# milliseconds, not for ten, so that a batch finds those of the one before.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")
