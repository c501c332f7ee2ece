"""State that the user's own Python functions keep.

values       values of state variables as Spark stores them, and in Arrow
unsafe_rows  the order in which Spark's state store has them
frames       rows on their way to a function, and from it
functions    a function, and what it raises
groups       the keys of a task, and their rows
group_state  `applyInPandasWithState`
variables    the variables that a processor declares
tables       their values, and timers, for the keys of a task
handle       PySpark's own classes over them
calls        the calls of a processor in one task
processor    `transformWithState`
"""
