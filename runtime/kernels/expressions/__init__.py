"""Expressions of the planner, computed by tasks over Arrow batches exactly as Spark does.

`compile.py` asks whether an expression is computed here and makes a program of it, on the driver
and without Arrow; `evaluator.py` runs programs, without the planner.
"""
