"""Front ends, the logical model, the strategies and IncrementalExecution."""
