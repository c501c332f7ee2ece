"""Expressions of the planner, computed by tasks over Arrow batches exactly as Spark does.

On the driver and without Arrow, `programs/compile.py` asks whether an expression is computed here
and makes a program of it. `evaluator.py` runs programs, without the planner; `operations.py` says
which function computes each operation. The functions lie in folders by what they take, above
`values`, which lies above `programs`; imports point one way (tests/test_layers.py).
"""
