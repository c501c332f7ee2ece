"""stateplan's runtime beside native Structured Streaming: works, data, runs, report."""
