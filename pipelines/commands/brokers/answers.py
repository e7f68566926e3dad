"""brokers list, drift, check and history: what tables say, at a terminal."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.configs.as_json import format_json
from pipelines.commands.configs.lines import find_near
from pipelines.errors import MissingTable, NothingToDo, PipelineError
from pipelines.reading import brokers as questions
from pipelines.reading import views
from pipelines.reading.views.broker_views import BROKER_CONFIGS, BROKERS
from pipelines.settings.records import Settings
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLUSTER_CHANGES,
)

from . import lines
from .constraints import Constraint, judge

Say = Callable[[str], None]
_TABLES = (BROKER_REGISTRATIONS, BROKER_STATIC_CONFIGS, CLUSTER_CHANGES)


class AmbiguousCluster(PipelineError):
    """Raised when tables hold several clusters, and the question is about one."""

    exit_code = 2


class BrokerCommand:
    """Answers a question in one session."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        arguments: Namespace,
        say: Say,
        now: datetime,
    ) -> None:
        """Register the views, and find the cluster.

        Args:
            now: Time that the age of an observation is measured at.
        Raises: MissingTable, NothingToDo, AmbiguousCluster.
        """
        self._spark, self._arguments, self._say = spark, arguments, say
        self._now = now
        self._full_set = timedelta(milliseconds=settings.cluster.full_set_ms)
        names = {contract.name for contract in _TABLES}
        registered = views.register(spark, settings, {*names, BROKERS, BROKER_CONFIGS})
        for name in sorted(names - {*registered}):
            raise MissingTable(views.explain_missing(name, settings))
        self._cluster_id = self._find_cluster()

    def _find_cluster(self) -> str:
        asked = self._arguments.cluster_id
        table = self._spark.table(BROKER_REGISTRATIONS.name)
        rows = table.select("cluster_id").distinct().collect()
        known = sorted(row[0] for row in rows)
        if asked is not None and asked not in known:
            told = f"; there is {', '.join(known)}" if known else ""
            raise NothingToDo(f"no broker of cluster {asked} is known{told}")
        if not known:
            raise NothingToDo("no broker is known yet")
        if asked is None and len(known) > 1:
            raise AmbiguousCluster(
                f"the tables hold {len(known)} clusters; say --cluster-id, of "
                f"{', '.join(known)}"
            )
        cluster: str = known[0] if asked is None else asked
        return cluster

    def answer(self) -> int:
        """Print the answer and return the exit code."""
        answers: dict[str, Callable[[], int]] = {
            "list": self._list,
            "drift": self._drift,
            "check": self._check,
            "history": self._history,
        }
        return answers[self._arguments.action]()

    def _read(self, name: str) -> DataFrame:
        """Return what is meant of a table or view."""
        frame = self._spark.table(name).where(F.col("cluster_id") == self._cluster_id)
        asked = self._arguments.broker
        is_narrow = asked and "broker_id" in frame.columns
        return frame.where(F.col("broker_id").isin(*asked)) if is_narrow else frame

    def _print(self, rows: Sequence[Row], text: Iterable[str]) -> None:
        if self._arguments.json:
            self._say(format_json(rows))
        else:
            for line in text:
                self._say(line)

    def _list(self) -> int:
        changes = self._spark.table(CLUSTER_CHANGES.name)
        brokers = questions.with_last_observation(
            self._read(BROKERS), changes, self._now, self._full_set
        )
        rows = brokers.orderBy("broker_id").collect()
        self._print(rows, lines.list_brokers(rows))
        return 0

    def _find_live(self) -> list[Row]:
        live = self._read(BROKERS).where("state = 'live'").orderBy("broker_id")
        rows = live.collect()
        if not rows:
            raise NothingToDo("no live broker is known")
        return rows

    def _drift(self) -> int:
        live = self._find_live()
        told = [row for row in live if row["config_count"]]
        configs = self._read(BROKER_CONFIGS).where("state = 'live'")
        if self._arguments.key:
            configs = configs.where(F.col("config_name") == self._arguments.key)
        known = [row[0] for row in configs.select("config_name").distinct().collect()]
        if not known:
            raise self._unknown_key()
        drift = configs.transform(questions.select_drift)
        rows = drift.orderBy("config_name", F.desc(F.size("brokers")), "brokers")
        found = rows.collect()
        is_all = self._arguments.all or self._arguments.key
        own = {} if is_all else dict.fromkeys(questions.NAMES_BROKER)
        shown = [row for row in found if row["config_name"] not in own]
        left_out = {row["config_name"] for row in found} - {
            row["config_name"] for row in shown
        }
        text = lines.describe_drift(
            shown, configs=len(known), brokers=len(told), left_out=len(left_out)
        )
        self._print(shown, [*text, *lines.name_silent(live)])
        return 1 if shown else 0

    def _unknown_key(self) -> NothingToDo:
        key = self._arguments.key
        if key is None:
            return NothingToDo("no live broker has told its configs")
        table = self._read(BROKER_CONFIGS).select("config_name").distinct()
        near = find_near([key], [row[0] for row in table.collect()])
        hint = f"; there is {', '.join(near)}" if near else ""
        return NothingToDo(f"no live broker has told {key}{hint}")

    def _check(self) -> int:
        arguments, live = self._arguments, self._find_live()
        constraint = Constraint(
            low=arguments.min, high=arguments.max, value=arguments.value
        )
        configs = self._read(BROKER_CONFIGS).where("state = 'live'")
        is_key = F.col("config_name") == arguments.key
        rows = configs.where(is_key).orderBy("broker_id").collect()
        if not rows:
            raise self._unknown_key()
        verdicts = {row["broker_id"]: judge(row, constraint) for row in rows}
        broken = [row for row in rows if verdicts[row["broker_id"]]]
        text = lines.describe_check(broken, verdicts, brokers=len(rows))
        self._print(broken, [*text, *lines.name_silent(live)])
        return 1 if broken else 0

    def _history(self) -> int:
        history = questions.select_broker_history(
            self._read(BROKER_REGISTRATIONS.name),
            self._read(BROKER_STATIC_CONFIGS.name),
            self._read(CLUSTER_CHANGES.name),
        )
        arguments = self._arguments
        if arguments.broker:
            is_own = F.col("broker_id").isin(*arguments.broker)
            history = history.where(F.col("broker_id").isNull() | is_own)
        if arguments.start:
            history = history.where(F.col("at") >= F.lit(arguments.start))
        if arguments.end:
            history = history.where(F.col("at") < F.lit(arguments.end))
        rows = history.collect()
        is_one = len(arguments.broker) == 1
        self._print(rows, lines.describe_history(rows, is_one=is_one))
        return 0
