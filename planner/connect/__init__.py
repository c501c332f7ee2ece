"""The front end for PySpark code: Spark Connect's plans become unresolved logical plans.

PySpark's own Connect client turns DataFrame code into protobuf without a JVM. This package answers
that client, in this process (`local.py`, for descriptions with `python:`) or over a loopback port
(`server.py`, for scripts). It is the only part of the planner that imports pyspark, pyarrow or
grpc, and nothing outside it imports it before PySpark code is to be planned.
"""
