"""Spark Declarative Pipelines: the data sets and flows that files define, and their graph.

`model` holds the definitions; `sql_files`, `statements` and `statement_cursor` read them from SQL
files; `auto_cdc` says what a change flow writes, `refusals` what Spark refuses in its words;
`printing` shows a graph. How PySpark's client sends definitions stands in `connect/pipelines`.
"""
