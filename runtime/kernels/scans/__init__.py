"""What a task reads by itself: files, row by row or grouped early, and the tasks of the rows."""
