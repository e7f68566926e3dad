"""configs describe, diff and history: what clients run with, at a terminal.

Words and lines are those of kafka-configs.sh where it has them; a hidden value is null.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.errors import MissingTable, PipelineError, UnknownClient
from pipelines.reading import views
from pipelines.reading.config_diffs import (
    LOGICAL_CLIENT,
    client_config_diff,
    collect_instances,
    read_instance_configs_at,
    select_configs_at,
)
from pipelines.reading.views.client_config_disagreements import DISAGREEMENTS
from pipelines.reading.views.client_config_views import ENTRIES, TIMELINE
from pipelines.reading.views.effective_configs_view import EFFECTIVE, SET_VALUES
from pipelines.reading.views.known_clients_view import KNOWN_INSTANCES
from pipelines.settings.records import Settings

from . import lines
from .as_json import format_json
from .filters import INSTANCE, filter_asked
from .questions import DESCRIBE, DIFF, HISTORY, ClientName, ConfigQuestion

Say = Callable[[str], None]
_VIEWS = (EFFECTIVE, ENTRIES, TIMELINE, DISAGREEMENTS, KNOWN_INSTANCES)
"""What the answers read, and what that is made of."""
_NEAR = 5
_NAME_KEY = "client.id"
# A default that is hidden, or does not fit its type, is no less a default.
_IS_SET = "NOT coalesce(is_default, false)"
_IS_DYNAMIC = "dynamic_value IS NOT NULL"
_IS_INSTANCE = "client_instance_id IS NOT NULL"
_IDENTITY = (
    *("client_instance_id", "client_id", "principal", "client_software_name"),
    *("client_software_version", "client_type", "logical_client"),
)


class AmbiguousClient(PipelineError):
    """Raised when the words mean several clients, and the command is about one."""

    exit_code = 2


class ConfigCommand:
    """Answers questions in one session."""

    def __init__(
        self, spark: SparkSession, settings: Settings, now: datetime, say: Say
    ) -> None:
        """Register the views.

        Args:
            now: The moment that the answers are about where none was named.
            say: Prints.
        Raises: MissingTable where no configuration was ever stored.
        """
        self._spark, self._now, self._say = spark, now, say
        self._registered = set(views.register(spark, settings, _VIEWS))
        if not {ENTRIES, TIMELINE} <= self._registered:
            raise MissingTable(
                "there are no tables of client configurations; "
                "client_configs_to_delta makes them"
            )

    def answer(self, action: str, asked: ConfigQuestion) -> None:
        """Print the answer of one of ACTIONS.

        Raises: UnknownClient, AmbiguousClient.
        """
        answers = {DESCRIBE: self.describe, DIFF: self.diff, HISTORY: self.history}
        answers[action](asked)

    def describe(self, asked: ConfigQuestion) -> None:
        """Print the configuration of instances, or of clients at a moment."""
        if asked.at is not None:
            self._describe_at(asked, asked.at)
            return
        has_dynamic = EFFECTIVE in self._registered
        states = self._read_states(asked, is_for_dynamic=has_dynamic)
        view = EFFECTIVE if has_dynamic else ENTRIES
        entries = self._narrow(self._select(view, asked), asked)
        if not asked.is_all:
            wanted = f"{_IS_SET} OR {_IS_DYNAMIC}" if has_dynamic else _IS_SET
            entries = entries.where(wanted)
        shown = entries.where(F.col("client_instance_id").isin(*states))
        found = shown.orderBy("client_instance_id", "config_key").collect()
        if asked.is_json:
            self._print_json(found)
            return
        for instance, state in states.items():
            of_instance = [
                row for row in found if row["client_instance_id"] == instance
            ]
            for line in lines.describe_instance(state, of_instance, asked.is_all):
                self._say(line)

    def diff(self, asked: ConfigQuestion) -> None:
        """Print what differs: of two clients or moments, or of a client's instances."""
        if len(asked.clients) == 1 and asked.start is None:
            self._diff_instances(asked)
            return
        moments = (asked.start or self._now, asked.end or asked.at or self._now)
        names = (asked.clients * 2)[:2]
        if asked.start is None:
            moments = (moments[1], moments[1])
        sides = [
            self._select_side(asked, name, moment)
            for name, moment in zip(names, moments, strict=True)
        ]
        absences = [
            self._describe_absence(asked, name, moment) if side.isEmpty() else ""
            for name, moment, side in zip(names, moments, sides, strict=True)
        ]
        if all(absences):
            told = "; ".join(dict.fromkeys(absences))
            raise UnknownClient(f"no client to compare was active: {told}")
        differing = self._narrow(client_config_diff(*sides), asked)
        if asked.start is None and _NAME_KEY not in asked.keys:
            # Two clients were named by it.
            differing = differing.where(F.col("config_key") != _NAME_KEY)
        rows = differing.collect()
        if asked.is_json:
            self._print_json(rows)
            return
        titles = [
            absence or f"{name} at {lines.show_time(moment)}"
            for name, moment, absence in zip(names, moments, absences, strict=True)
        ]
        for line in lines.describe_diff(titles, rows):
            self._say(line)

    def history(self, asked: ConfigQuestion) -> None:
        """Print the values that clients had, and when."""
        timeline = self._narrow(self._find(TIMELINE, asked), asked)
        if asked.start is not None:
            is_over = F.coalesce(
                F.col("valid_to") <= F.lit(asked.start), F.lit(col=False)
            )
            timeline = timeline.where(~is_over)
        if asked.end is not None:
            timeline = timeline.where(F.col("valid_from") < F.lit(asked.end))
        rows = timeline.orderBy(*LOGICAL_CLIENT, "config_key", "valid_from").collect()
        if asked.is_json:
            self._print_json(rows)
            return
        for line in lines.describe_history(rows):
            self._say(line)

    def _diff_instances(self, asked: ConfigQuestion) -> None:
        """Print where active instances of one client disagree."""
        instances = list(self._read_states(asked).values())
        found = self._narrow(self._select(DISAGREEMENTS, asked), asked)
        rows = found.orderBy(
            *LOGICAL_CLIENT, "config_key", F.desc("instances"), "config_value"
        ).collect()
        if asked.is_json:
            self._print_json(rows)
            return
        for line in lines.describe_disagreements(instances, rows):
            self._say(line)

    def _describe_at(self, asked: ConfigQuestion, at: datetime) -> None:
        instances = tuple(one for one in asked.clients if one.column == INSTANCE)
        others = tuple(one for one in asked.clients if one.column != INSTANCE)
        parts = []
        if instances:
            one = replace(asked, clients=instances)
            parts.append(collect_instances(self._select_instances(one, at)))
        if others or not instances:
            one = replace(asked, clients=others)
            parts.append(select_configs_at(self._find(TIMELINE, one), at))
        found = reduce(DataFrame.unionByName, parts)
        if not asked.is_all:
            found = found.where(_IS_SET)
        rows = (
            self._narrow(found, asked)
            .orderBy(*LOGICAL_CLIENT, "config_key", "config_value")
            .collect()
        )
        if asked.is_json:
            self._print_json(rows)
            return
        for line in lines.describe_moment(lines.show_time(at), rows, asked.is_all):
            self._say(line)

    def _read_states(
        self, asked: ConfigQuestion, *, is_for_dynamic: bool = False
    ) -> dict[str, Row]:
        """Return the instances that are shown: the active ones, else all of them.

        Args:
            is_for_dynamic: Whether those count that did not push, and have a dynamic
                config.
        Shape: client_instance_id to its row of client_configs, with state; the newest
        push first.
        """
        configs = self._select("client_configs", asked).drop("configs")
        if is_for_dynamic:
            others = self._select(SET_VALUES, asked).where(_IS_INSTANCE)
            others = others.select(*_IDENTITY).distinct()
            others = others.join(configs, "client_instance_id", "left_anti")
            configs = configs.unionByName(others, allowMissingColumns=True)
        states = self._spark.table(KNOWN_INSTANCES).select(
            "client_instance_id", "state"
        )
        configs = configs.join(states, "client_instance_id", "left")
        rows = configs.orderBy(F.desc("received_at"), "client_instance_id").collect()
        if not rows:
            self._refuse(asked)
        active = [row for row in rows if lines.is_active(row)]
        return {row["client_instance_id"]: row for row in active or rows}

    def _select_side(
        self, asked: ConfigQuestion, name: ClientName, at: datetime
    ) -> DataFrame:
        """Return the values that one client had at a moment."""
        one = ConfigQuestion(
            clients=(name,), principal=asked.principal, client_type=asked.client_type
        )
        if name.column == INSTANCE:
            return self._select_instances(one, at)
        timeline = self._find(TIMELINE, one)
        meant = timeline.select(*LOGICAL_CLIENT).distinct().collect()
        if len(meant) > 1:
            texts = "; ".join(sorted(lines.show_client(row) for row in meant))
            raise AmbiguousClient(
                f"{name} is several clients: {texts}; --principal and --client-type "
                f"say which"
            )
        return select_configs_at(timeline, at)

    def _describe_absence(
        self, asked: ConfigQuestion, name: ClientName, at: datetime
    ) -> str:
        """Return that a client had no configuration at a time, and when it had one."""
        one = replace(asked, clients=(name,), keys=())
        is_instance = name.column == INSTANCE
        rows = self._select("client_configs" if is_instance else TIMELINE, one)
        first, last = (
            ("received_at", "received_at")
            if is_instance
            else ("valid_from", "valid_to")
        )
        ((begin, end),) = rows.agg(F.min(first), F.max(last)).collect()
        is_later = begin is not None and begin.astimezone(UTC) > at.astimezone(UTC)
        word, seen = ("first", begin) if is_later else ("last", end)
        known = f", {word} seen {lines.show_time(seen)}" if seen is not None else ""
        return f"{name} was not active at {lines.show_time(at)}{known}"

    def _select_instances(self, asked: ConfigQuestion, at: datetime) -> DataFrame:
        """Return the values that client instances themselves had at a moment."""
        clients = self._find("client_configs", asked)
        return read_instance_configs_at(self._spark, clients, at)

    def _find(self, view: str, asked: ConfigQuestion) -> DataFrame:
        """Return the rows of a view about the clients that were named.

        Raises: UnknownClient where there is none, with names that are near.
        """
        rows = self._select(view, asked)
        if rows.isEmpty():
            self._refuse(asked)
        return rows

    def _select(self, view: str, asked: ConfigQuestion) -> DataFrame:
        return filter_asked(self._spark.table(view), asked)

    def _refuse(self, asked: ConfigQuestion) -> None:
        known = self._spark.table(KNOWN_INSTANCES).select("client_id").distinct()
        near = lines.find_near(
            [one.text for one in asked.clients],
            [row[0] for row in known.limit(10_000).collect() if row[0] is not None],
        )
        hint = f"; there is {', '.join(near[:_NEAR])}" if near else ""
        raise UnknownClient(
            f"{asked}: no such client has pushed its configuration{hint}"
        )

    @staticmethod
    def _narrow(rows: DataFrame, asked: ConfigQuestion) -> DataFrame:
        return rows.where(F.col("config_key").isin(*asked.keys)) if asked.keys else rows

    def _print_json(self, rows: Sequence[Row]) -> None:
        self._say(format_json(rows))
