"""What all pages share: one file with its style and script, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

from ..model.errors import DescriptionError


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def page(title: str, body: str) -> str:
    """A page of HTML that needs nothing but itself.

    Args:
        title: text.
        body: HTML.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_asset('page.css')}</style>\n"
        f"<body>\n<main>\n{body}\n</main>\n<script>{_asset('page.js')}</script>\n</body>\n</html>\n"
    )


def write_page(path: str | Path, document: str) -> None:
    """Write a page.

    Raises:
        DescriptionError: the file cannot be written.
    """
    try:
        Path(path).write_text(document, encoding="utf-8")
    except OSError as error:
        raise DescriptionError.of(
            "STATEPLAN_FILE_NOT_WRITTEN", path=path, reason=error.strerror
        ) from None


def framed(document: str) -> str:
    """A page for a notebook's cell, apart from what stands around it."""
    style = "width:100%;height:520px;border:0"
    return f'<iframe srcdoc="{escape(document)}" style="{style}" title="plan"></iframe>'


def shortened(text: str, most: int) -> str:
    """A text of so many letters at most."""
    return text if len(text) <= most else text[: most - 1] + "…"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; on a narrow screen each cell has its head beside it, and empty ones are left out.

    Args:
        heads: text.
        rows: HTML.
    """
    labels = [escape(text) for text in heads]
    head = "".join(f"<th>{label}</th>" for label in labels)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{label}">{cell}</td>' for label, cell in zip(labels, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr class="head">{head}</tr>{body}</table></div>'


def facts_list(facts: Iterable[tuple[str, str]]) -> str:
    """Labels with their texts."""
    parts = (f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in facts)
    return f"<dl>{''.join(parts)}</dl>"
