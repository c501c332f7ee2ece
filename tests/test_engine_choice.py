"""Which engine is taken, why, and what is said where one is missing."""

from __future__ import annotations

import pytest

from stateplan.planner.model.errors import RuntimeFailure
from stateplan.runtime.engines.choice import Choice, Engine, Installed, Purpose, choose_engine

SPARK = Installed(pyspark="4.3.0", java=True)
NO_JAVA = Installed(pyspark="4.3.0")
SAIL = Installed(pysail="0.7.2", client="4.2.0")
BOTH = Installed(pysail="0.7.2", pyspark="4.2.0", java=True)
NOTHING = Installed()


def reason(wanted: str, purpose: Purpose, installed: Installed, **given: str) -> tuple[str, str]:
    choice = choose_engine(wanted, purpose, installed=installed, **given)  # type: ignore[arg-type]
    return choice.engine, choice.reason


def refused(wanted: str, purpose: Purpose, installed: Installed, **given: str) -> RuntimeFailure:
    with pytest.raises(RuntimeFailure) as caught:
        reason(wanted, purpose, installed, **given)
    return caught.value


@pytest.mark.parametrize("purpose", ["run", "test"])
def test_a_session_decides(purpose: Purpose) -> None:
    embedded = ("embedded", "A session of the embedded engine was given.")
    assert reason("auto", purpose, NOTHING, session="embedded") == embedded
    assert reason("auto", purpose, BOTH, session="spark") == ("spark", "A Spark session was given.")


def test_a_master_means_spark() -> None:
    chosen = ("spark", "The master local[2] was given.")
    assert reason("auto", "test", BOTH, master="local[2]") == chosen
    assert reason("spark", "run", BOTH, master="local[2]") == chosen


def test_a_connect_server_needs_the_client_alone() -> None:
    assert reason("auto", "run", SAIL, master="sc://host")[0] == "spark"
    assert refused("auto", "run", SAIL, master="yarn").condition == "STATEPLAN_NO_PYSPARK"


def test_a_query_runs_on_spark_where_it_is() -> None:
    because = "PySpark 4.2.0 and Java are installed."
    assert reason("auto", "run", BOTH) == ("spark", because)


def test_a_query_runs_embedded_where_spark_is_not() -> None:
    because = "pysail 0.7.2 is installed, and "
    client = "PySpark is not installed."
    assert reason("auto", "run", SAIL) == ("embedded", because + client)
    no_java = Installed(pysail="0.7.2", pyspark="4.2.1")
    assert reason("auto", "run", no_java) == ("embedded", because + "there is no Java.")


def test_a_test_runs_embedded_where_it_can() -> None:
    because = "pysail 0.7.2 is installed, and tests start on it at once."
    assert reason("auto", "test", BOTH) == ("embedded", because)
    assert reason("auto", "test", SAIL) == ("embedded", because)


def test_a_test_runs_on_spark_otherwise() -> None:
    because = "PySpark 4.3.0 and Java are installed; the embedded engine is not."
    assert reason("auto", "test", SPARK) == ("spark", because)


@pytest.mark.parametrize("purpose", ["run", "test"])
def test_nothing_installed_names_both_ways_out(purpose: Purpose) -> None:
    failure = refused("auto", purpose, NO_JAVA)
    assert failure.condition == "STATEPLAN_NO_ENGINE"
    assert failure.message == (
        "There is no engine to run on. The embedded engine is not installed: there is no pysail. "
        "No Java was found: Spark needs a JDK 17 or newer."
    )
    assert "stateplan[embedded]" in failure.hint
    assert "JDK 17+" in failure.hint


@pytest.mark.parametrize(("wanted", "installed"), [("embedded", SAIL), ("spark", SPARK)])
def test_an_engine_that_was_asked_for(wanted: Engine, installed: Installed) -> None:
    expected = Choice(engine=wanted, reason="It was asked for.")
    assert choose_engine(wanted, "run", installed=installed) == expected


@pytest.mark.parametrize(
    ("wanted", "installed", "condition", "hint"),
    [
        ("embedded", SPARK, "STATEPLAN_NO_PYSAIL", "pip install 'stateplan[embedded]'"),
        ("embedded", Installed(pysail="0.7.2"), "STATEPLAN_WRONG_PYSPARK", ".venv-embedded"),
        (
            "embedded",
            Installed(pysail="0.7.2", pyspark="4.3.0", client="4.2.0"),
            "STATEPLAN_WRONG_PYSPARK",
            ".venv-embedded",
        ),
        ("spark", NO_JAVA, "STATEPLAN_NO_JAVA", "openjdk-17-jre-headless"),
        ("spark", SAIL, "STATEPLAN_NO_PYSPARK", "pip install 'stateplan[spark]'"),
        ("sail", BOTH, "STATEPLAN_NO_SUCH_ENGINE", "auto, embedded and spark"),
    ],
)
def test_what_is_missing_is_named(
    wanted: str, installed: Installed, condition: str, hint: str
) -> None:
    failure = refused(wanted, "run", installed)
    assert failure.condition == condition
    assert hint in failure.hint


def test_pyspark_43_is_named_as_the_one_that_does_not_fit() -> None:
    failure = refused("embedded", "run", Installed(pysail="0.7.2", pyspark="4.3.0"))
    expected = "The embedded engine needs PySpark 4.2, and PySpark 4.3.0 is installed."
    assert failure.message == expected


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("embedded", {"session": "spark"}),
        ("embedded", {"master": "local[2]"}),
        ("spark", {"session": "embedded"}),
    ],
)
def test_an_engine_against_what_was_given(wanted: str, given: dict[str, str]) -> None:
    failure = refused(wanted, "run", BOTH, **given)
    assert failure.condition == "STATEPLAN_ENGINE_CONTRADICTED"


def test_this_environment_is_read() -> None:
    here = Installed.here()
    assert here.pyspark is not None or here.client is not None
