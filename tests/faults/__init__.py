"""Breaking queries on purpose: faults from a seed, and what must hold after them.

A *case* is a query with its input; a *life* is one checkpoint from its first batch to its last,
with some faults on the way. The modules:

    cases      queries over every stateful operator, their input and settings, from a seed
    sinks      sinks that keep what they were given by batch id, and how to read them back
    driver     one run of a query in a process of its own, on a JVM that outlives it
    steps      counts the file steps that a driver makes, and ends the process at one of them
    tasks      what goes wrong inside a task: killed, failed, run twice, late, run again
    sparks     the Sparks that lives run on: local, a cluster of two executors, one to be killed
    faults     one fault: what it breaks, and where
    lives      a case with its faults, restarted until done, compared with the fault-free run
    contents   what is left: the sink's rows, the state, and how they differ
    corruption every kind of checkpoint file truncated, emptied, flipped, removed
    report     the table of what was broken and what came of it
"""
