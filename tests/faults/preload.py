"""What the server that runs are forked from imports once."""

__all__ = [
    *("builder", "cases", "driver", "functions", "incremental_execution", "lowering", "np"),
    *("pc", "pd", "runtime_sinks", "sinks", "sql", "streaming", "tasks", "types"),
]
