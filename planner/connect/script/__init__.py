"""`stateplan explain job.py`: runs a file in a process of its own whose Spark is the planner.

`explain` is what the command calls; `launch` is the process it starts. Everything else here is
loaded in that process only: what stands in for modules that are missing (`stand_ins`,
`rules`, `missing_modules`, `glue`) and for what nobody has set (`unset`), what a notebook is
(`notebook`, `workspace`), what is changed in PySpark (`patches`), and how failures are reported
(`report`).
"""
