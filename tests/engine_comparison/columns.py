"""The types that are compared, and the columns of the data that have them."""

from __future__ import annotations

import re
from functools import cache

from stateplan.planner.model.expressions.core import AttributeReference
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.types import DataType
from stateplan.planner.model.settings.conf import Conf

TYPES = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(10,2)",
    "decimal(5,0)",
    "decimal(38,18)",
    "decimal(20,0)",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
]
NESTED = (
    "array<int>",
    "array<bigint>",
    "array<double>",
    "array<string>",
    "array<timestamp>",
    "array<decimal(10,2)>",
    "map<string,int>",
    "map<int,string>",
    "map<string,double>",
    "map<string,string>",
    "struct<a:int,b:string>",
    "struct<start:timestamp,end:timestamp>",
    "struct<x:double,y:decimal(10,2),z:date,u:bigint,v:boolean>",
    "array<struct<a:int,b:string>>",
    "array<array<int>>",
    "array<struct<x:double,b:string>>",
    "struct<n:array<int>>",
)
MOVED = (
    "array<boolean>",
    "array<date>",
    "array<float>",
    "array<struct<x:double,y:decimal(10,2),z:date,u:bigint,v:boolean,w:timestamp,s:string>>",
    "array<struct<n:array<string>>>",
    "map<string,bigint>",
    "map<string,boolean>",
    "map<string,timestamp>",
    "map<string,array<string>>",
    "map<string,struct<a:int,b:string>>",
    "array<smallint>",
    "array<binary>",
    "array<decimal(38,18)>",
    "array<timestamp_ntz>",
    "array<map<string,int>>",
    "array<struct<a:tinyint,b:smallint,c:float,d:binary,e:decimal(38,18),f:timestamp_ntz>>",
    "array<struct<n:struct<a:int,b:string>,m:map<string,int>,o:array<int>>>",
    "map<string,date>",
    "map<string,decimal(10,2)>",
    "map<string,map<string,int>>",
    "map<string,array<struct<a:int,b:string>>>",
    "map<int,double>",
)
"""More types, of columns that a step passes on."""
NUMBERS = ("int", "decimal(10,2)", "decimal(5,0)", "decimal(38,18)", "decimal(20,0)")
DECIMALS = ("decimal(9,9)", "decimal(18,6)", "decimal(38,0)", "decimal(38,38)", "decimal(21,3)")


@cache
def type_of(text: str) -> DataType:
    return parse_schema(f"c {text}").fields[0].data_type


@cache
def column_of(data_type: DataType, number: int) -> AttributeReference:
    """The column of that type and number; its name tells both."""
    name = re.sub(r"\W+", "_", data_type.simple).strip("_")
    expr_id = 1_000_000 + 10 * _type_number(data_type) + number
    return AttributeReference(name=f"{name}_{number}", type_=data_type, expr_id=expr_id)


_TYPE_NUMBERS: dict[DataType, int] = {}


def _type_number(data_type: DataType) -> int:
    return _TYPE_NUMBERS.setdefault(data_type, len(_TYPE_NUMBERS))


def conf_for(ansi: bool, zone: str = "UTC") -> Conf:
    return Conf({"spark.sql.ansi.enabled": str(ansi).lower(), "spark.sql.session.timeZone": zone})
