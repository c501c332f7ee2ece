"""Vectorised stateful kernels on numpy and pyarrow; no pyspark."""
