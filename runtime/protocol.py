"""Messages of Spark Connect's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def parts(message: Any) -> Iterator[Any]:
    """The messages in a message's fields."""
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if not field.is_repeated:
            yield value
        elif field.message_type.GetOptions().map_entry:
            yield from (one for one in value.values() if hasattr(one, "ListFields"))
        else:
            yield from value
