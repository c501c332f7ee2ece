"""The partitions in which Spark reads the files of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...planner.model.settings.conf import Conf
from ..kernels.file_parts import FilePart
from ..kernels.readers.compressed import is_compressed
from ..kernels.readers.formats import FILE_READERS
from ..kernels.scans.parquet_files import ScanFile

_SIZES = {"spark.sql.files.openCostInBytes": "4MB", "spark.sql.files.maxPartitionBytes": "128MB"}
_WHOLE = ("orc",)
"""Spark divides these too, by their stripes, whose places are not known here."""


def in_partitions(
    files: Sequence[ScanFile],
    sizes: Sequence[int],
    format: str,
    cores: int,
    setting: Callable[[str, str], str],
) -> tuple[ScanFile, ...]:
    """Files, or parts of them, with the number of the partition in which Spark would read each.

    It divides what is larger than a partition, and puts as much into one as there is room for, the
    largest first (PartitionedFileUtil.splitFiles, FilePartition.getFilePartitions).

    Args:
        files: in the order of their rows.
        sizes: the bytes of each.
        format: of all of them, by its name in Spark.
        cores: Spark's default parallelism.
        setting: gives the value of one of Spark's settings by its name and its default.

    Returns:
        In the order of their rows.
    """
    conf = Conf({name: setting(name, default) for name, default in _SIZES.items()})
    cost, most = map(conf.size, _SIZES)
    room = min(most, max(cost, sum(size + cost for size in sizes) // max(1, cores)))
    parts: list[ScanFile] = []
    lengths: list[int] = []
    for file, size in zip(files, sizes, strict=True):
        step = size if format in _WHOLE or is_compressed(file.path) else room
        for start in range(0, max(size, 1), max(step, 1)):
            end = start + step
            parts.append(replace(file, part=_part(start, end if end < size else None, format)))
            lengths.append(min(step, size - start))
    partition, filled = 0, 0
    for i in sorted(range(len(parts)), key=lambda i: -lengths[i]):
        if filled and filled + lengths[i] > room:
            partition, filled = partition + 1, 0
        filled += lengths[i] + cost
        parts[i] = replace(parts[i], origin=partition)
    return tuple(parts)


def _part(start: int, end: int | None, format: str) -> FilePart:
    """What is read between two bytes of a file.

    A line that begins with the first byte belongs to the part before (Hadoop's LineRecordReader).
    """
    later = 1 if format in FILE_READERS else 0
    return FilePart(start and start + later, end and end + later)
