"""Other systems on the works `session`, `window` and `dedup`: a module each, in their own words.

`duckdb_batches` is the physical floor: what the files of one batch cost without any stream. The
others are streaming systems for Python; they read the same rows, one batch's files after the other.
They keep no checkpoint here, and their time is that of the whole run, divided by the batches.
"""
