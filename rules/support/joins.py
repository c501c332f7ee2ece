"""Joins of streams with streams and with tables."""

from __future__ import annotations

from ...planner.model.plans.logical import Join
from .join_watermarks import bounds_state, watermark_in_keys

Refusal = tuple[str, str] | None

_OUTER = ("LeftOuter", "RightOuter", "FullOuter")


def join_refusal(join: Join, mode: str) -> Refusal:
    """Why a stream does not support the join in the mode; None if it does."""
    left, right, kind = join.left.is_streaming, join.right.is_streaming, join.join_type
    if left and right:
        if kind == "LeftAnti":  # in any mode
            return _anti()
        return _mode(join, mode) or _stream_stream(join)
    match kind:
        case "FullOuter" if left or right:
            sides = ("left", "right") if left else ("right", "left")
            return (
                f"FullOuter joins with streaming DataFrames/Datasets on the {sides[0]} and a static"
                f" DataFrame/Dataset on the {sides[1]} is not supported",
                "Use an inner join or keep the stream's side only.",
            )
        case "LeftAnti" if right:
            return _anti()
        case "LeftOuter" | "LeftSemi" if right:
            return (
                f"{kind} join with a streaming DataFrame/Dataset on the right and a static"
                " DataFrame/Dataset on the left is not supported",
                "Put the stream on the left.",
            )
        case "RightOuter" if left:
            return (
                "RightOuter join with a streaming DataFrame/Dataset on the left and a static"
                " DataFrame/DataSet on the right not supported",
                "Put the stream on the right.",
            )
    return None


def _anti() -> tuple[str, str]:
    return (
        "LeftAnti joins with a streaming DataFrame/Dataset on the right are not supported",
        "Use a left outer join and keep the rows without a match.",
    )


def _mode(join: Join, mode: str) -> Refusal:
    kind = join.join_type
    if kind in _OUTER and mode != "append":
        return (
            f"{kind} join between two streaming DataFrames/Datasets is not supported in"
            f" {mode.capitalize()} output mode, only in Append output mode",
            "Use append mode.",
        )
    if mode == "complete":
        return (
            f"{kind} join between two streaming DataFrames/Datasets is not supported in Complete"
            " output mode, only in Append and Update output modes",
            "Use append or update mode.",
        )
    return None


def _stream_stream(join: Join) -> Refusal:
    match join.join_type:
        case "Inner" | "Cross":
            return None
        case kind:
            if watermark_in_keys(join) or bounds_state(join):
                return None
            return (
                f"Stream-stream {kind} join between two streaming DataFrame/Datasets is not"
                " supported without a watermark in the join keys, or a watermark on the nullable"
                " side and an appropriate range condition",
                "Define watermarks on both sides and bound the event times in ON.",
            )
