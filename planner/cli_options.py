"""What several commands read from the command line."""

from __future__ import annotations

from collections.abc import Iterable

import click


def settings(pairs: Iterable[str]) -> dict[str, str]:
    """`KEY=VALUE` pairs of --conf.

    Raises:
        click.BadParameter: one is of another form.
    """
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"'{pair}' is not of the form KEY=VALUE.")
        found[key.strip()] = value.strip()
    return found
