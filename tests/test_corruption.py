"""Damaged files of a checkpoint or an output: named with what to do, or of no consequence."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from faults.corruption import DAMAGES, Damage, Patient, empty

from stateplan.runtime import compactible_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = (
    "checkpoint/metadata",
    "checkpoint/query.json",
    "checkpoint/offsets/1",
    "checkpoint/offsets/2",
    "checkpoint/commits/2",
    "checkpoint/sources/0/1.compact",
    "checkpoint/sources/0/2",
    "checkpoint/state/0/_metadata/metadata",
    "checkpoint/state/0/_metadata/columns",
    "checkpoint/state/0/0/_metadata/schema",
    "checkpoint/state/0/runs/v0000000003-*.json",
    "checkpoint/state/0/runs/r*.arrow",
    "checkpoint/claims/0*",
    "out/_spark_metadata/1.compact",
    "out/_spark_metadata/2",
    "out/_stateplan/query",
)
MENDED = ("checkpoint/offsets/2", "checkpoint/state/0/runs/r*.arrow", "out/_spark_metadata/2")


ON_SPARK = ("checkpoint/sources/0/2", "checkpoint/state/0/runs/r*.arrow")
"""What is read in this process, and by a task; the embedded engine is given all."""


def made(session: SparkSession, factory: pytest.TempPathFactory) -> Patient:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compactible_log.CompactibleLog.__init__, "__defaults__", (2,))
        return Patient.make(session, factory.mktemp("patient"))


@pytest.fixture(scope="module")
def patient(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Patient:
    return made(spark, tmp_path_factory)


@pytest.fixture(scope="module")
def embedded_patient(tmp_path_factory: pytest.TempPathFactory) -> Patient:
    from stateplan.runtime.engines.embedded_session import session

    return made(session(), tmp_path_factory)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", ON_SPARK)
def test_a_damaged_file_is_named_or_does_no_harm_on_spark(
    patient: Patient, file: str, damage: Damage
) -> None:
    suffers(patient, file, damage)


@pytest.mark.embedded
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_named_or_does_no_harm(
    embedded_patient: Patient, file: str, damage: Damage
) -> None:
    suffers(embedded_patient, file, damage)


def suffers(patient: Patient, file: str, damage: Damage) -> None:
    path = max(patient.folder.glob(file)).relative_to(patient.folder)
    rng = random.Random(f"{file} {damage.__name__}")
    outcome = patient.suffer(path, damage, rng, mend=damage is empty and file in MENDED)
    assert not outcome.wrong, outcome
