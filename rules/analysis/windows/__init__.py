"""Windows: OVER and its frames, time and session windows."""
