"""Pages of HTML: plans as graphs, checks, differences, runs. Each is one file, for any browser."""
