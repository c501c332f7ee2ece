"""The sources that random queries read: their columns, and which kinds of values these hold."""

from __future__ import annotations

from dataclasses import dataclass

STREAMS = {
    "events": "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT",
    "logs": "level STRING, host STRING, msg STRING, ts TIMESTAMP, status INT, bytes BIGINT, "
    "latency DOUBLE",
    "clicks": "adId BIGINT, userId STRING, clickTime TIMESTAMP",
    "impressions": "adId BIGINT, campaign STRING, impTime TIMESTAMP",
    "stats": "k INT, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10,2), "
    "w DECIMAL(38,10), b BOOLEAN, str STRING, ts TIMESTAMP, dt DATE",
    "orders": "orderId BIGINT, customer STRING, total DECIMAL(10,2), orderTime TIMESTAMP, "
    "items ARRAY<STRUCT<sku: STRING, qty: INT, price: DOUBLE>>, "
    "address STRUCT<city: STRING, zip: STRING>, tags MAP<STRING, STRING>",
    "sensors": "device STRING, temp FLOAT, humidity DOUBLE, reading BIGINT, ok BOOLEAN, "
    "eventTime TIMESTAMP, day DATE",
    "lines": "value STRING, ts TIMESTAMP",
    "words": "value STRING",
    "left_s": "key INT, lv STRING, lt TIMESTAMP",
    "right_s": "key INT, rv STRING, rt TIMESTAMP",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
    "dateTime TIMESTAMP, extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, "
    "reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, "
    "extra STRING",
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, "
    "state STRING, dateTime TIMESTAMP, extra STRING",
    "readings": "id STRING, at TIMESTAMP_NTZ, raw BINARY, codes ARRAY<INT>, "
    "scores MAP<STRING, DOUBLE>, place STRUCT<lat: DOUBLE, lon: DOUBLE, name: STRING>, "
    "ts TIMESTAMP",
}
TABLES = {
    "users": "user STRING, country STRING, joined DATE",
    "customers": "customer STRING, segment STRING, since DATE",
    "hosts": "host STRING, dc STRING, cores INT, capacity BIGINT",
    "campaigns": "adId BIGINT, campaign STRING, budget DECIMAL(12,2), active BOOLEAN",
}
NUMBERS = ("int", "long", "double", "decimal", "float", "short", "byte")
_KINDS = {
    "STRING": "string",
    "TIMESTAMP": "ts",
    "TIMESTAMP_NTZ": "ntz",
    "DATE": "date",
    "BOOLEAN": "bool",
    "INT": "int",
    "BIGINT": "long",
    "SMALLINT": "short",
    "TINYINT": "byte",
    "DOUBLE": "double",
    "FLOAT": "float",
    "BINARY": "binary",
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a relation.

    Attributes:
        reference: how a query names it: `ts`, `l.ts`, `address.city`.
        kind: what its values are: string, int, ts, items (orders' array of structs), ...
    """

    reference: str
    kind: str

    @property
    def name(self) -> str:
        """The name that it has in the result."""
        return self.reference.rsplit(".", 1)[-1]


def columns_of(schema: str) -> list[Column]:
    """The columns of a schema, and the fields of its struct columns.

    >>> [f"{c.reference} {c.kind}" for c in columns_of("a INT, p STRUCT<x: DOUBLE, y: STRING>")]
    ['a int', 'p struct', 'p.x double', 'p.y string']
    """
    columns = []
    for name, written in _parts(schema, " "):
        columns.append(Column(reference=name, kind=_kind(written)))
        if written.startswith("STRUCT<"):
            fields = _parts(written[len("STRUCT<") : -1], ":")
            columns += [Column(reference=f"{name}.{f}", kind=_kind(t)) for f, t in fields]
    return columns


def _kind(written: str) -> str:
    if written.startswith("DECIMAL"):
        return "decimal"
    if written.startswith("STRUCT"):
        return "struct"
    if written.startswith("ARRAY"):
        return "items" if "STRUCT" in written else "codes"
    if written.startswith("MAP"):
        return "tags" if written.endswith("STRING>") else "scores"
    return _KINDS[written]


def _parts(schema: str, between: str) -> list[tuple[str, str]]:
    """Name and type of each field, at the top level of the schema."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(schema + ","):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            name, written = schema[start:position].strip().split(between, 1)
            parts.append((name.strip(), written.strip()))
            start = position + 1
    return parts
