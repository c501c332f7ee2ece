"""Writes the runtime plans of the cases in tests/runtime_plan/plans anew; read the diff.

python tests/derive_runtime_plans.py
"""

from __future__ import annotations

from typing import Any

import yaml
from runtime_plan.queries import CASES, plans_of


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as they are."""


def _text(dumper: yaml.SafeDumper, value: str) -> Any:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def main() -> None:
    """Write all files."""
    for path in CASES:
        cases = yaml.safe_load(path.read_text(encoding="utf-8"))
        written = [{**case, **plans_of(case)} for case in cases]
        text = yaml.dump(written, Dumper=_Dumper, sort_keys=False, width=10**6, allow_unicode=True)
        path.write_text(text.replace("\n- id:", "\n\n- id:"), encoding="utf-8")


if __name__ == "__main__":
    main()
