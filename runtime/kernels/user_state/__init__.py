"""State that the user's own Python functions keep.

values       values of state variables as Spark stores them, and in Arrow
frames       rows on their way to a function, and from it
functions    a function, and what it raises
groups       the keys of a task, and their rows
group_state  `applyInPandasWithState`
"""
