"""What the process of a script and the planner agree on; a script's process has no planner."""

from __future__ import annotations

import re

# Settings of a session. Set while the functions of foreachBatch are called: what they write is
# planned and printed.
SHOW_WRITES = "stateplan.explain.batchWrites"
# Data sets that Databricks' names define as soon as something reads them, one a line.
PENDING = "stateplan.pipelines.pending"

# Settings of a pipeline's graph. In one of Databricks' functions may look into their inputs, names
# may begin with LIVE, and SQL files are read in its dialect; a flow of one may run `once`.
DATABRICKS = "stateplan.pipelines.databricks"
NAME = "stateplan.pipelines.name"
ONCE = "stateplan.pipelines.once"

# Conditions of a table that nobody described; the second of one whose name has several parts.
UNKNOWN_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")

PLACEHOLDER = re.compile(r"\?[A-Za-z_][^?\n]*\?")
"""What stands in a text for a value that is not there."""
