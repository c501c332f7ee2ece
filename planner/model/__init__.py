"""What every plan is made of: tree, types, expressions, functions, logical operators.

The bottom floor: nothing here imports rules, physical operators, front ends or the runtime.
"""
