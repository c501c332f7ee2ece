"""Every exception of ours survives pickling and copying: process pools and pytest-xdist need it."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from stateplan import physical, planner, rules, runtime
from stateplan.planner.builder import stream
from stateplan.planner.model.errors import AnalysisError, StateplanError
from stateplan.planner.model.expressions.core import Call
from stateplan.planner.model.expressions.literal import Literal
from stateplan.planner.model.functions.mismatch import ArgumentError
from stateplan.planner.model.schemas.types import STRING

COPIES: dict[str, Callable[[Exception], Exception]] = {
    "pickle": lambda error: pickle.loads(pickle.dumps(error)),
    "oldest pickle": lambda error: pickle.loads(pickle.dumps(error, protocol=0)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
ARGUMENTS = {"batch_id": 7}


def _exceptions() -> Iterator[type[Exception]]:
    """All exception classes of the package, whichever module has them."""
    for package in (planner, rules, physical, runtime):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    waiting: list[type[Exception]] = [Exception]
    seen: set[type[Exception]] = set()
    while waiting:
        for kind in waiting.pop().__subclasses__():
            if kind not in seen:
                seen.add(kind)
                waiting.append(kind)
                if kind.__module__.startswith("stateplan."):
                    yield kind


CLASSES = sorted(_exceptions(), key=lambda kind: (kind.__module__, kind.__qualname__))


def made(kind: type[Exception]) -> Exception:
    """An instance with a value for each argument, and attributes beyond those of `__init__`."""
    if not inspect.isfunction(kind.__init__):  # Python's own
        error = kind("a text", 3)
    else:
        parameters = list(inspect.signature(kind).parameters.values())
        given = {p.name: ARGUMENTS.get(p.name, f"the {p.name}") for p in parameters}
        error = kind(*[given.pop(p.name) for p in parameters if p.kind != p.KEYWORD_ONLY], **given)
    vars(error).update(place="job.py:12", of_stream=True)
    error.add_note("seen in batch 7")
    return error


def test_the_walk_finds_the_errors_of_every_floor() -> None:
    names = {kind.__name__ for kind in CLASSES}
    assert {"StateplanError", "InternalError", "ArgumentError", "NotPlanned", "RanAgain"} <= names
    assert {"BatchFailure", "KernelError", "SourceError", "StateError", "SinkFailure"} <= names


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_copy_has_all_attributes(kind: type[Exception], how: str) -> None:
    error = made(kind)
    copied = COPIES[how](error)
    assert type(copied) is kind
    assert vars(copied) == vars(error)
    assert (copied.args, str(copied)) == (error.args, str(error))


def _refused() -> StateplanError:
    try:
        stream("days", "day DATE").agg("sum(day)").query(output_mode="complete").explain()
    except StateplanError as error:
        return error
    raise AssertionError("a sum of dates is refused")


def _raise_refusal() -> None:
    raise _refused()


def test_an_error_with_an_expression_in_it_is_copied_whole() -> None:
    error = ArgumentError("WRONG_NUM_ARGS", "a text", tree="a tree")
    error.call = Call(name="upper", arguments=(Literal(value="a", type_=STRING),))
    for how in COPIES.values():
        assert vars(how(error)) == vars(error)


def test_an_error_comes_out_of_a_process_pool_as_it_was_raised() -> None:
    expected = _refused()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(_raise_refusal).exception(timeout=60)
    assert isinstance(found, AnalysisError)
    assert (found.condition, found.hint, str(found)) == (
        expected.condition,
        expected.hint,
        str(expected),
    )
