"""Counting a raw log on Spark, as ``clickvec prepare`` does.

>>> from clickvec.spark import count_clicks  # doctest: +SKIP
>>> counts = count_clicks(spark.table("events"), spark.table("titles"), columns={"item": "sku"})  # doctest: +SKIP
>>> counts.write.parquet("counts")  # doctest: +SKIP
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Literal

from pyspark.sql import DataFrame

from ._errors import Error
from .batches import count_sql

Column = Literal["query", "item", "clicked", "position", "user", "time"]
#: What a log without the column has in its place.
_CONSTANTS = {"clicked": "1", "position": "0", "user": "cast(null as string)", "time": "cast(null as string)"}


def count_clicks(
    log: DataFrame,
    titles: DataFrame,
    *,
    columns: Mapping[Column, str] | None = None,
    min_users: int = 2,
    max_queries_per_day: int = 200,
) -> DataFrame:
    """The counted clicks of a raw log, which ``clickvec prepare`` reads: ``query``, ``item``, ``position``, ``clicked``, ``count``.

    Days are those of UTC in every time zone of the session. A column without a zone is taken as UTC.

    :param log: the columns ``query`` and ``item``, and perhaps ``clicked``, ``position``, ``user`` and ``time``.
    :param titles: the column ``id``, of the items that can be learnt.
    :param columns: columns of the log with other names: ``{"item": "sku", "user": "visitor", "time": "at"}``.
    :param min_users: leave out queries for which fewer users clicked; 1 keeps all.
    :param max_queries_per_day: leave out users with more queries on a day, who are robots.
    """
    names = dict(columns or {})
    if unknown := set(names) - {"query", "item", *_CONSTANTS}:
        raise Error(f"columns: expected query, item, clicked, position, user or time, found `{min(unknown)}`")
    types = dict(log.dtypes)
    selected = {}
    for column in ("query", "item", *_CONSTANTS):
        name = names.get(column, column)  # type: ignore[call-overload]
        if name in types:
            selected[column] = _value(column, f"`{name}`", types[name])
        elif column in names or column not in _CONSTANTS:
            raise Error(f"log: expected a column `{name}`, found `{'`, `'.join(types)}`; name it in columns")
        else:
            selected[column] = _CONSTANTS[column]
    if selected["user"] == _CONSTANTS["user"] and min_users > 1:
        raise Error("log: expected a column of users for min_users, found none; name it in columns, or set min_users to 1")
    selected["who"] = selected.pop("user")
    views = {name: f"clickvec_{name}_{uuid.uuid4().hex}" for name in ("log", "titles")}
    log.selectExpr(*(f"{value} as {name}" for name, value in selected.items())).createOrReplaceTempView(views["log"])
    titles.selectExpr("string(id) as id").createOrReplaceTempView(views["titles"])
    try:
        sql = count_sql(min_users, max_queries_per_day)
        for name, view in views.items():
            sql = sql.replace(f"from {name}\n", f"from {view}\n").replace(f"from {name})", f"from {view})")
        return log.sparkSession.sql(sql)
    finally:
        for view in views.values():
            log.sparkSession.catalog.dropTempView(view)


def _value(column: str, name: str, kind: str) -> str:
    """A column as the SQL reads it."""
    if column in ("clicked", "position"):
        return f"int({name})"
    if column == "time" and kind == "timestamp":
        # What date_format writes is the local time of the session.
        day = f"date_add(date'1970-01-01', int(floor(unix_seconds({name}) / 86400)))"
        return f"concat(string({day}), 'T', string(pmod(unix_seconds({name}), 86400)))"
    # An empty text is a text.
    return f"coalesce(string({name}), '')" if column == "query" else f"string({name})"
