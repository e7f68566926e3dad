"""Which rows of a view a question about client configurations means."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .questions import ClientName, ConfigQuestion

INSTANCE = "client_instance_id"


def filter_asked(rows: DataFrame, asked: ConfigQuestion) -> DataFrame:
    """Keep the rows about the clients that were named.

    Args:
        rows: Of client_configs, of one of the views, or of client_config_pushes.
        asked: Names them; its keys and times are passed over.
    """
    for condition in _conditions(rows, asked):
        rows = rows.where(condition)
    return rows


def _conditions(rows: DataFrame, asked: ConfigQuestion) -> list[Column]:
    found = []
    named = [_is_named(rows, one) for one in asked.clients]
    if named:
        condition = named[0]
        for one in named[1:]:
            condition |= one
        found.append(condition)
    if asked.principal is not None:
        found.append(F.col("principal") == asked.principal)
    if asked.client_type is not None:
        found.append(F.col("client_type") == asked.client_type)
    return found


def _is_named(rows: DataFrame, name: ClientName) -> Column:
    if name.column in rows.columns:
        return F.col(name.column) == name.text
    # The history is about logical clients, and names the instances that held a value.
    return F.array_contains(f"{INSTANCE}s", name.text)
