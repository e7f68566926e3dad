"""What a command is called with: its words, the settings, a session of Spark."""

from argparse import Namespace
from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.settings.loading import load_settings
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_VARIABLE = "KAFKA_CLIENTELE_JAVA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One command, as it was called."""

    arguments: Namespace
    environ: MutableMapping[str, str]
    """The environment of the process; Spark is told some things by it alone."""
    spark_words: Sequence[str] = ()
    """spark-submit's own options among the words."""
    is_driver: bool = False
    """Whether Spark's spark-submit has started this process, for a job."""

    @property
    def java(self) -> str:
        """Return the program that starts a JVM; empty where the script sought none."""
        if JAVA_VARIABLE in self.environ:
            return self.environ[JAVA_VARIABLE]
        home = self.environ.get("JAVA_HOME")
        return f"{home}/bin/java" if home else "java"

    def read_settings(self) -> Settings:
        """Load what --env, --config, the environment's variables and --set say.

        Raises: InvalidSetting.
        """
        return load_settings(
            self.arguments.env,
            self.arguments.set,
            own_file=self.arguments.config,
            environ=self.environ,
        )

    def session(
        self, name: str, *, more: Sequence[str] = ()
    ) -> "AbstractContextManager[SparkSession]":
        """Start Spark, and end it with the block.

        Args:
            name: Of the application.
            more: spark-submit's options that the command itself has.
        """
        from . import session

        if self.is_driver:
            return session.submitted_session(name, is_verbose=self.arguments.verbose)
        words = [*more, *self.spark_words]
        return session.own_session(
            name, words, self.environ, is_verbose=self.arguments.verbose
        )

    def make_secret_reader(self, spark: "SparkSession | None" = None) -> SecretReader:
        """Return a reader of the environment, files and, there, Databricks scopes."""
        if spark is None:
            return SecretReader(environ=self.environ)
        try:
            from pyspark.dbutils import DBUtils
        except ImportError:
            return SecretReader(environ=self.environ)
        read_scope = DBUtils(spark).secrets.get
        return SecretReader(environ=self.environ, read_scope=read_scope)
