"""Spark Connect with streams that this runtime runs: an endpoint in front of an engine.

A client's requests go on to the engine's own Spark Connect server, but for streams: those that it
starts, what it asks of them and listeners of them are answered here. `service.py` is the endpoint,
`backend.py` the engine behind it, `reading.py` reads a stream's plan, `starting.py` starts it.
"""
