"""Sessions of commands are in UTC, whatever time zone the user has configured."""

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.session import start_further_session, start_session

TIME_ZONE = "spark.sql.session.timeZone"
NEW_YORK = "America/New_York"


@pytest.fixture
def in_new_york(spark):
    """A driver that was started with a time zone of the user's own."""
    conf = spark.sparkContext._jsc.sc().conf()
    before = conf.get(TIME_ZONE)
    conf.set(TIME_ZONE, NEW_YORK)
    spark.conf.set(TIME_ZONE, NEW_YORK)
    yield spark
    conf.set(TIME_ZONE, before)
    spark.conf.set(TIME_ZONE, before)


def test_sessions_of_commands_with_other_time_zone_use_utc(in_new_york):
    assert in_new_york.newSession().conf.get(TIME_ZONE) == NEW_YORK
    for session in (start_further_session(in_new_york), start_session("test")):
        moment = F.timestamp_micros(F.lit(1_772_326_800_000_000))
        (row,) = session.range(1).select(F.to_date(moment).alias("day")).collect()
        assert str(row["day"]) == "2026-03-01"
