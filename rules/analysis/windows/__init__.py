"""Windows: OVER and its frames, QUALIFY, time and session windows."""
