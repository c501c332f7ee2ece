"""Checkpoints that Spark itself wrote: their state read, made ours, and ours made theirs."""
