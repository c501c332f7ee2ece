"""Changes to a module when a user's file imports it: it may never do so, and imports take long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

Change = Callable[[Any], None]


class _Changing(Loader):
    def __init__(self, loader: Any, change: Change) -> None:
        self.loader = loader
        self.change = change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        self.change(module)


class _Finder(MetaPathFinder):
    def __init__(self, changes: dict[str, Change]) -> None:
        self.changes = changes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        change = self.changes.get(fullname)
        spec = None if change is None else PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None and change is not None:
            spec.loader = _Changing(spec.loader, change)
        return spec


def change_when_imported(changes: dict[str, Change]) -> None:
    """Change modules, those at once that are there already.

    Args:
        changes: by a module's name, what changes it.
    """
    for name, change in changes.items():
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, _Finder(changes))
