"""Imports of modules that are not here: stand-ins, for the user's own files only."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .program import Program
from .stand_ins import StandIn

# Parts of PySpark that need a JVM; Connect's client has none of them.
_OF_THE_JVM = ("pyspark.core", "pyspark.streaming", "pyspark.mllib", "pyspark.rdd")


class StandInModule(ModuleType):
    """A module that is not here, or a folder without code of its own: all names are stand-ins."""

    def __getattr__(self, name: str) -> Any:
        finder = self.__dict__["_finder"]
        if name == "__all__":
            finder.all_names_asked(self.__name__)
            return []
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        finder.used(self.__name__)
        base = StandIn(self.__name__)
        return getattr(base, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return StandIn, (self.__name__,)


class _Partly(StandInModule):
    """A library's module that lacks names which the user's code imports: another version's."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self.__dict__["_real"], name)
        except (AttributeError, ImportError):
            if name.startswith("__"):
                raise
            path = f"{self.__name__}.{name}"
            self.__dict__["_finder"].missing.setdefault(path)
            return StandIn(path)


class _Loader(Loader):
    def __init__(self, finder: MissingModules) -> None:
        self.finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = StandInModule(spec.name)
        module.__dict__["_finder"] = self.finder
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class MissingModules(MetaPathFinder):
    """The last finder of modules, and, for folders that only share a module's name, the first.

    A library that tries an optional import goes on without it: only imports that stand in the
    user's own files are answered.

    Attributes:
        missing: the modules that were imported and are not here.
        unknown_names: `from missing import *` was run: any name may come from there.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.missing: dict[str, None] = {}
        self.unknown_names = False
        self._folders: set[str] = set()
        self._parts: list[str] = []  # of libraries that are here but for these

    def install(self) -> None:
        """Answer imports from now on."""
        sys.meta_path.insert(0, _Folders(self))
        sys.meta_path.append(self)
        python: Any = builtins
        imported = python.__import__

        def import_(
            name: str,
            globals: Mapping[str, object] | None = None,
            locals: Mapping[str, object] | None = None,
            fromlist: Sequence[str] = (),
            level: int = 0,
        ) -> Any:
            users = level == 0 and self.program.own_frame(sys._getframe(1)) is not None
            try:
                if users and fromlist and self._is_library(name):
                    module = imported(name, fromlist=("__name__",))
                    if _lacks(module, fromlist):
                        return self._partly(module)
                return imported(name, globals, locals, fromlist, level)
            except ImportError:
                if not users or not self._is_library(name):
                    raise
                if not self._stand_for(name, imported):
                    return self._partly(imported(name, level=0, fromlist=("__name__",)))
                return imported(name, globals, locals, fromlist, level)

        python.__import__ = import_

    def _is_library(self, name: str) -> bool:
        """Whether a module is of a library, which may be of another version or lack a part.

        PySpark and Python are what they are: what they lack, they lack on a cluster, too.
        """
        top = name.partition(".")[0]
        if top == "pyspark" or top in sys.stdlib_module_names:
            return False
        found = PathFinder.find_spec(top)
        return found is not None and not self.program.owns(found.origin or "<none>")

    def _stand_for(self, name: str, imported: Any) -> bool:
        """Put a stand-in where a library's own import fails; False if it does not."""
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            module = ".".join(parts[:end])
            try:
                imported(module)
            except ImportError:
                made = _Loader(self).create_module(self.spec(module, []))
                made.__dict__["__path__"] = []
                sys.modules[module] = made
                if end > 1:
                    setattr(sys.modules[".".join(parts[: end - 1])], parts[end - 1], made)
                self._parts.append(module)
                return True
        return False

    def _partly(self, real: ModuleType) -> ModuleType:
        module = _Partly(real.__name__)
        module.__dict__.update(_finder=self, _real=real)
        return module

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A stand-in, where nobody else has the module and the user's code asks for it."""
        above = fullname.rpartition(".")[0]
        parent = sys.modules.get(above)
        if above.partition(".")[0] in sys.stdlib_module_names or above == "pyspark.sql.functions":
            return None  # `from collections import Iterator` fails where it really runs, too
        if not isinstance(parent, StandInModule) and not self._asked_by_user():
            return None
        # A folder of the project is real: what it lacks is missing.
        self.used(fullname)
        return self.spec(fullname, [])

    def spec(self, fullname: str, locations: list[str]) -> ModuleSpec:
        """The stand-in of a module, and where its real submodules are."""
        if locations:
            self._folders.add(fullname)
        spec = ModuleSpec(fullname, _Loader(self), is_package=True)
        spec.submodule_search_locations = locations
        return spec

    def used(self, fullname: str) -> None:
        """A name of a missing module was asked for."""
        name = fullname.partition(".")[0]
        if name in self._folders:
            name = fullname
        parts = (part for part in self._parts if f"{fullname}.".startswith(f"{part}."))
        self.missing.setdefault(next(parts, name))

    def all_names_asked(self, fullname: str) -> None:
        """`from missing import *`."""
        self.unknown_names = True
        self.used(fullname)

    def _asked_by_user(self) -> bool:
        return self.program.own_frame(sys._getframe(2)) is not None


def _lacks(module: ModuleType, names: Sequence[str]) -> bool:
    """Whether a module has not all of some names, as its own or as submodules."""
    path = getattr(module, "__path__", [])
    return any(
        name != "*"
        and not hasattr(module, name)
        and PathFinder.find_spec(f"{module.__name__}.{name}", path) is None
        for name in names
    )


class _Folders(MetaPathFinder):
    """Folders that are no packages hide no missing module: `kafka/` beside `import kafka`.

    Such a folder has no names of its own, so all but its modules are stand-ins. Parts of PySpark
    that need a JVM are missing, too, whatever lies in their place.
    """

    def __init__(self, modules: MissingModules) -> None:
        self.modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.startswith(_OF_THE_JVM):
            if self.modules.program.own_frame(sys._getframe(1)) is None:
                return None
            self.modules.used(fullname)
            self.modules._folders.add("pyspark")
            return self.modules.spec(fullname, [])
        if "." in fullname and not isinstance(
            sys.modules.get(fullname.rpartition(".")[0]), StandInModule
        ):
            return None
        found = PathFinder.find_spec(fullname, path)
        if found is None or found.origin is not None or found.has_location:
            return None
        locations = list(found.submodule_search_locations or ())
        if not any(self.modules.program.owns(os.path.join(one, "x.py")) for one in locations):
            return None
        return self.modules.spec(fullname, locations)
