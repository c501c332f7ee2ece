"""How tasks read the files of a Delta table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .parted import Read


def reading(uri: str, schema: Any, partitioned: Sequence[str]) -> Read:
    """How a task reads files, each with the values of its partition columns as the log has them.

    Args:
        uri: where the table is.
        schema: the Arrow schema of the rows; a column that a file does not have is null.
        partitioned: the partition columns.
    """

    def read(files: Sequence[tuple[str, Mapping[str, str | None]]]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import fs, parquet

        def value(text: str | None, kind: Any) -> Any:
            if not text:
                return pa.scalar(None, kind)
            if pa.types.is_timestamp(kind) and kind.tz is not None:
                naive = pa.scalar(text.removesuffix("Z")).cast(pa.timestamp("us"))
                return pa.scalar(naive.value, kind)
            return pa.scalar(text).cast(kind)

        system = fs.LocalFileSystem()
        if "://" in uri:
            from deltalake.fs import DeltaStorageHandler

            system = fs.PyFileSystem(DeltaStorageHandler(uri))
        for path, partition in files:
            absolute = path.startswith("/") or "://" in path
            place = path if absolute or "://" in uri else f"{uri}/{path}"
            own = [field.name for field in schema if field.name not in partitioned]
            with system.open_input_file(place) as opened_file:
                reader = parquet.ParquetFile(opened_file, coerce_int96_timestamp_unit="us")
                there = set(reader.schema_arrow.names)
                for batch in reader.iter_batches(columns=[n for n in own if n in there]):
                    columns = []
                    for field in schema:
                        if field.name in partitioned:
                            constant = value(partition.get(field.name), field.type)
                            columns.append(pa.repeat(constant, batch.num_rows))
                        elif field.name in there:
                            columns.append(batch.column(field.name).cast(field.type))
                        else:
                            columns.append(pa.nulls(batch.num_rows, field.type))
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return read
