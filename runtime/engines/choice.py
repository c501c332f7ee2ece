"""Which engine runs a query or a test, and why; nothing is started or imported for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, get_args

from ...planner.model.errors import RuntimeFailure
from .settings import is_remote

Engine = Literal["embedded", "spark"]
Wanted = Literal["auto", "embedded", "spark"]
Purpose = Literal["run", "test"]

_EMBEDDED_CLIENT = "4.2"  # what pysail 0.7 knows; it refuses sessions of PySpark 4.3
_INSTALL_EMBEDDED = "pip install 'stateplan[embedded]'"
_INSTALL_SPARK = "pip install 'stateplan[spark]'"
_INSTALL_JAVA = (
    "a JDK 17+ (on Debian and Ubuntu: apt-get install openjdk-17-jre-headless), on the PATH or in "
    "JAVA_HOME"
)


@dataclass(frozen=True, kw_only=True)
class Installed:
    """What there is to run on.

    Attributes:
        pysail: Sail's version.
        pyspark: the version of PySpark in full, with Spark's own jars.
        client: the version of PySpark's Connect client alone.
        java: whether a Java is found.
    """

    pysail: str | None = None
    pyspark: str | None = None
    client: str | None = None
    java: bool = False

    @classmethod
    def here(cls) -> Installed:
        """What is installed beside this Python."""
        from .spark_session import check_java

        try:
            check_java()
            java = True
        except RuntimeFailure:
            java = False
        return cls(
            pysail=_version("pysail"),
            pyspark=_version("pyspark"),
            client=_version("pyspark-client"),
            java=java,
        )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An engine, and one sentence on why it is the one.

    Attributes:
        engine: `embedded` or `spark`.
        reason: for the first line that a user sees.
    """

    engine: Engine
    reason: str


def choose_engine(
    wanted: str,
    purpose: Purpose,
    *,
    session: Engine | None = None,
    master: str | None = None,
    installed: Installed,
) -> Choice:
    """The engine for a query (`run`) or for scenarios (`test`).

    `auto` takes the engine of a session that is given, and Spark where a master is. Else a query
    runs on Spark where PySpark and Java are installed, as that is what it will meet in production;
    a test runs on the embedded engine where that is installed, as it starts in no time.

    Args:
        wanted: `auto`, `embedded` or `spark`.
        purpose: what is run.
        session: the engine of the session that the user gave, if any.
        master: the master URL that the user gave, on the command line or in the environment.
        installed: what there is.

    Raises:
        RuntimeFailure: there is no such engine, it contradicts what else was given, or it cannot
            run here; the hint says what to install.
    """
    if wanted not in get_args(Wanted):
        raise RuntimeFailure(
            "STATEPLAN_NO_SUCH_ENGINE",
            f"There is no engine '{wanted}'.",
            hint="Engines are auto, embedded and spark.",
        )
    given, what = _given(session, master)
    if given is not None:
        if wanted not in ("auto", given):
            raise RuntimeFailure(
                "STATEPLAN_ENGINE_CONTRADICTED",
                f"The engine '{wanted}' was asked for together with {what}.",
                hint=f"Leave one of the two out, or ask for the engine '{given}'.",
            )
        if session is None:
            _raise(_missing_for_spark(installed, master))
        return Choice(engine=given, reason=f"{_upper(what)} was given.")
    if wanted == "embedded":
        _raise(missing_for_embedded(installed))
        return Choice(engine="embedded", reason="It was asked for.")
    if wanted == "spark":
        _raise(_missing_for_spark(installed, master))
        return Choice(engine="spark", reason="It was asked for.")
    return _automatic(purpose, installed)


def _automatic(purpose: Purpose, installed: Installed) -> Choice:
    no_spark = _missing_for_spark(installed, None)
    no_sail = missing_for_embedded(installed)
    if no_spark is not None and no_sail is not None:
        raise RuntimeFailure(
            "STATEPLAN_NO_ENGINE",
            f"There is no engine to run on. {no_sail.message} {no_spark.message}",
            hint=f"Without Java: {_INSTALL_EMBEDDED}, in an environment without pyspark 4.3. "
            f"With Spark: {_INSTALL_SPARK}, and {_INSTALL_JAVA}.",
        )
    if no_sail is None and (purpose == "test" or no_spark is not None):
        reason = f"pysail {installed.pysail} is installed, and tests start on it at once."
        if purpose == "run" and no_spark is not None:
            lack = "PySpark is not installed" if installed.pyspark is None else "there is no Java"
            reason = f"pysail {installed.pysail} is installed, and {lack}."
        return Choice(engine="embedded", reason=reason)
    reason = f"PySpark {installed.pyspark} and Java are installed"
    if purpose == "test" and no_sail is not None:
        return Choice(engine="spark", reason=f"{reason}; the embedded engine is not.")
    return Choice(engine="spark", reason=f"{reason}.")


def missing_for_embedded(installed: Installed) -> RuntimeFailure | None:
    """Why the embedded engine cannot run here, if so."""
    if installed.pysail is None:
        return RuntimeFailure(
            "STATEPLAN_NO_PYSAIL",
            "The embedded engine is not installed: there is no pysail.",
            hint=f"Install it with: {_INSTALL_EMBEDDED}, in an environment without pyspark 4.3.",
        )
    # Both lie in the folder pyspark: with both, the files of the one that came last are used.
    found = [each for each in (installed.pyspark, installed.client) if each is not None]
    wrong = [each for each in found if not each.startswith(f"{_EMBEDDED_CLIENT}.")]
    if found and not wrong:
        return None
    lacks = f"PySpark {wrong[0]} is installed" if wrong else "no PySpark is installed"
    return RuntimeFailure(
        "STATEPLAN_WRONG_PYSPARK",
        f"The embedded engine needs PySpark {_EMBEDDED_CLIENT}, and {lacks}.",
        hint=f"Make an environment of its own for it: python -m venv .venv-embedded, then "
        f".venv-embedded/bin/{_INSTALL_EMBEDDED}.",
    )


def _missing_for_spark(installed: Installed, master: str | None) -> RuntimeFailure | None:
    """Why Spark cannot be started, or reached, from here, if so."""
    if is_remote(master):
        if installed.pyspark is not None or installed.client is not None:
            return None
    elif installed.pyspark is not None:
        if installed.java:
            return None
        return RuntimeFailure(
            "STATEPLAN_NO_JAVA",
            "No Java was found: Spark needs a JDK 17 or newer.",
            hint=f"Install {_INSTALL_JAVA}.",
        )
    return RuntimeFailure(
        "STATEPLAN_NO_PYSPARK",
        "PySpark is not installed: Spark needs it"
        + (", and the Connect client alone is not enough." if installed.client else "."),
        hint=f"Install it with: {_INSTALL_SPARK}, and {_INSTALL_JAVA}.",
    )


def _given(session: Engine | None, master: str | None) -> tuple[Engine | None, str]:
    if session == "embedded":
        return "embedded", "a session of the embedded engine"
    if session == "spark":
        return "spark", "a Spark session"
    if master is not None:
        return "spark", f"the master {master}"
    return None, ""


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _raise(failure: RuntimeFailure | None) -> None:
    if failure is not None:
        raise failure


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def master_of_environment() -> str | None:
    """The master that PySpark itself would take from the environment."""
    return os.environ.get("SPARK_REMOTE") or os.environ.get("MASTER")
