"""The settings of the session that batches run on, and the number of tasks."""

from __future__ import annotations

import pytest

from stateplan.planner.model.settings.conf import Conf
from stateplan.runtime.engines.settings import default_tasks, session_settings


@pytest.mark.parametrize(
    ("stores", "cores", "tasks"), [(200, 8, 8), (200, 7, 7), (3, 2, 2), (1, 64, 1), (5, 64, 5)]
)
def test_tasks_are_as_many_as_cores_but_no_more_than_stores(
    stores: int, cores: int, tasks: int
) -> None:
    assert default_tasks(stores, cores) == tasks


def test_the_size_of_arrow_batches_is_the_querys_to_say() -> None:
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    assert session_settings(2, Conf())[key] == "65536"
    assert session_settings(2, Conf({key: "500"}))[key] == "500"
    assert session_settings(2, Conf({key: "500"}))["spark.sql.adaptive.enabled"] == "false"
