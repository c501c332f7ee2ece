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
    "deep": "k STRING, n DECIMAL(5,0), x DECIMAL(38,18), y DECIMAL(20,4), at TIMESTAMP_NTZ, "
    "took INTERVAL DAY TO SECOND, raw BINARY, codes ARRAY<INT>, scores MAP<STRING, DOUBLE>, "
    "items ARRAY<STRUCT<sku: STRING, qty: INT, price: DOUBLE>>, "
    "who STRUCT<name: STRING, age: INT, home: STRUCT<city: STRING, zone: SMALLINT>>, "
    "flag BOOLEAN, ts TIMESTAMP, seen TIMESTAMP",
    "wide": "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT, l BIGINT, f FLOAT, "
    "dec DECIMAL(10,2), b BOOLEAN, d DATE, arr ARRAY<INT>, m MAP<STRING, INT>, "
    "st STRUCT<a: INT, b: STRING>, s SMALLINT, bin BINARY, "
    "items ARRAY<STRUCT<a: INT, b: STRING>>, sarr ARRAY<STRING>, ntz TIMESTAMP_NTZ, "
    "aarr ARRAY<ARRAY<INT>>",
}
TABLES = {
    "users": "user STRING, country STRING, joined DATE",
    "customers": "customer STRING, segment STRING, since DATE",
    "hosts": "host STRING, dc STRING, cores INT, capacity BIGINT",
    "rates": "k STRING, n DECIMAL(7,2), rate DOUBLE, at TIMESTAMP, "
    "who STRUCT<name: STRING, age: INT>",
    "campaigns": "adId BIGINT, campaign STRING, budget DECIMAL(12,2), active BOOLEAN",
}
ITEMS = "ARRAY<STRUCT<sku: STRING, qty: INT, price: DOUBLE>>"
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


def columns_of(schema: str, between: str = " ") -> list[Column]:
    """The columns of a schema, and the fields of its struct columns.

    >>> [f"{c.reference} {c.kind}" for c in columns_of("a INT, p STRUCT<x: DOUBLE, y: STRING>")]
    ['a int', 'p struct', 'p.x double', 'p.y string']
    """
    columns = []
    for name, written in _parts(schema, between):
        columns.append(Column(reference=name, kind=_kind(written)))
        if written.startswith("STRUCT<"):
            fields = columns_of(written[len("STRUCT<") : -1], ":")
            columns += [Column(reference=f"{name}.{f.reference}", kind=f.kind) for f in fields]
    return columns


def _kind(written: str) -> str:
    if written.startswith("DECIMAL"):
        return "decimal"
    if written.startswith("STRUCT"):
        return "struct"
    if written.startswith("INTERVAL"):
        return "interval"
    if written.startswith("ARRAY"):
        return {"ARRAY<INT>": "codes", ITEMS: "items"}.get(written, "array")
    if written.startswith("MAP"):
        return "scores" if written.endswith("DOUBLE>") else "tags"
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
