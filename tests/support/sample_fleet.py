"""The sample fleet of `demo --sample`: its tables, its views, and the model of both."""

import shlex
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.demo import sample
from pipelines.reading import views
from pipelines.reading.chosen import Chosen
from pipelines.reading.points import read_points
from pipelines.settings import load_settings
from tests.support.fleet_screens import FleetScreens
from tests.support.jobs.given_calls import run_line
from tests.support.spark.empty_tables import made_once, make_tables

HOURS = 3
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WINDOW_S = 300
WINDOW = timedelta(seconds=WINDOW_S)
"""Length of a window in comparisons over time: the usual push interval."""
LINE = f"./spark-submit.sh demo --sample --clients 50 --hours {HOURS} --until "


class Fleet:
    """Tables of the sample, their views at one time, and the model of both."""

    def __init__(self, spark, folder, now):
        # A session of its own: other tests replace views of the same names.
        self.spark = spark = spark.newSession()
        self.settings = load_settings("base", own_file=str(folder / "settings.toml"))
        self.now = now
        views.register(spark, self.settings, views.TABLES_AND_VIEWS, now=now)
        root = Path(self.settings.tables.root_path)
        self.words = (
            f"tables.root_path={root}",
            "bridge.subscriptions_source=cluster",
        )
        self.model = FleetScreens(root, now)
        self.points = read_points(spark).localCheckpoint()

    def picked(self):
        """Return the time of all pushes."""
        minute = timedelta(minutes=1)
        return Chosen(since=self.model.since - minute, until=self.model.until + minute)

    def rows(self, query):
        return [row.asDict(recursive=True) for row in self.spark.sql(query).collect()]

    def ask(self, block):
        """Return the rows of the query in a block of a page."""
        (line,) = block.commands
        return self.rows(shlex.split(line)[-1])


def window_of(row):
    """Return the number of the window of a row, since 1970."""
    return (row["window_start"].astimezone(UTC) - EPOCH) // WINDOW


def make_fleet(spark):
    """Write the tables as users do, once in a run of tests, and return the fleet."""
    with made_once("sample") as folder:
        shared = folder / "sample"
        if not shared.exists():
            # Renamed when it is whole, because a run may end while it is written.
            with tempfile.TemporaryDirectory(dir=folder) as unfinished:
                _write_sample(spark, Path(unfinished, "sample")).rename(shared)
    (data,) = (shared / "data").iterdir()
    return Fleet(spark, data, datetime.fromisoformat((shared / "now").read_text()))


def _write_sample(spark, folder):
    now = datetime.now(tz=UTC).replace(microsecond=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "ROOT", folder)
        # Copies of empty tables, which other tests share.
        patch.setattr(sample, "ensure_tables", make_tables)
        run_line(spark, LINE + now.isoformat())
    (folder / "now").write_text(now.isoformat())
    return folder
