"""Names, types, time windows and watermarks: an unresolved plan becomes an analyzed one."""
