"""The functions of Spark SQL, one module per family; importing this registers them all."""

from . import aggregates as aggregates
