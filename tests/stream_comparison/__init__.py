"""The runtime on either engine beside Structured Streaming itself, over streams from a seed.

cases      the cases by name
native     what Structured Streaming emits, kept in a file
runs       a case on an engine, or on both in turns
large      cases of large batches: files and digests instead of rows
worker     the embedded engine's process, for a process that has Spark
verdicts   equal, refused or different, and how many of each
"""
