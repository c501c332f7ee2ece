"""Spark Connect's pipeline commands: definitions are gathered, a run plans every flow.

`commands` answers the commands of PySpark's client, `resolution` plans the flows in the order in
which they read each other.
"""
