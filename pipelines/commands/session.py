"""Sessions of Spark: one that this process starts and owns, one that it was given."""

import logging
import os
import shlex
import signal
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.sql import SparkSession

from pipelines.delta_tables.java_classes import keep_helpers
from pipelines.settings.places import CACHE_PATH, CONF_PATH, PACKAGES_PATH

from .failures import EXIT_INTERRUPTED, told_in_a_sentence
from .progress import progress_of
from .submit.arguments import (
    WORKER_PYTHON,
    Installation,
    build_arguments,
    find_spark_home,
)
from .submit.cluster_mode import FILES_OPTION, refuse, words_for_driver
from .submit.packing import DRIVER_PACKAGES, list_driver_packages
from .submit.spark_words import find_conf, is_cluster_mode, is_local
from .trace_files import DETAILS_VARIABLE, name_trace_file, remove_old_files

LOOPBACK = "127.0.0.1"
# A few rows a plan: compiling each plan would take most of the time.
INTERPRETED = (
    *("--conf", "spark.sql.codegen.wholeStage=false"),
    *("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN"),
)
LAUNCHER_OPTIONS = "-XX:TieredStopAtLevel=1"
CLASSES_VARIABLE = "KAFKA_CLIENTELE_CLASSES"
"""Names the file of Spark's classes, where the set-up has kept them."""
JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_TIME_ZONE = ("spark.sql.session.timeZone", "UTC")
"""All dates of the tables are in UTC; another zone would put rows into other days."""
_MAIN = Path(__file__).parents[1] / "__main__.py"

Environ = MutableMapping[str, str]


def hand_over(
    words: Sequence[str],
    spark_words: Sequence[str],
    environ: Environ,
    *,
    is_small: bool = False,
) -> int:
    """Hand a job to Spark's spark-submit, which replaces this process.

    Args:
        words: What the driver is called with.
        spark_words: The user's options of spark-submit.
        environ: Of this process.
        is_small: As build_arguments takes it.
    """
    if is_cluster_mode(spark_words):
        words, files = words_for_driver(words, environ)
        spark_words = [*spark_words, *(w for f in files for w in (FILES_OPTION, f))]
        # Places of this machine; YARN would take them for its own.
        environ.pop("PYTHONPATH", None)
    home = find_spark_home()
    program = str(home / "bin" / "spark-submit")
    options = spark_arguments(
        spark_words,
        environ,
        is_small=is_small,
        driver_packages=list_driver_packages(words[1], CONF_PATH),
    )
    if is_small:
        # Else each of Java's many threads may have 64 MiB of what was freed.
        environ.setdefault("MALLOC_ARENA_MAX", "2")
    line = [program, *options, str(_MAIN), *words]
    environ["SPARK_HOME"] = str(home)
    sys.stdout.flush()
    os.execv(program, line)  # noqa: S606 - built above, no shell reads it


def spark_arguments(
    spark_words: Sequence[str],
    environ: Environ,
    *,
    is_short: bool = False,
    is_small: bool = False,
    driver_packages: Sequence[str] = DRIVER_PACKAGES,
) -> list[str]:
    """Return spark-submit's options: the product's own, then the user's."""
    if is_local(spark_words):
        # Otherwise Spark takes the address that the host's name resolves to.
        environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    _prepare_details(environ)
    # Of the JVM that writes the line which starts the other one.
    environ.setdefault("SPARK_LAUNCHER_OPTS", LAUNCHER_OPTIONS)
    return build_arguments(
        _find_installation(environ.get(CLASSES_VARIABLE, "")),
        spark_words,
        is_short=is_short,
        is_small=is_small,
        driver_packages=driver_packages,
        java_words=" ".join(environ.get(name, "") for name in JAVA_VARIABLES),
    )


def _prepare_details(environ: Environ) -> None:
    """Name the file that the JVM writes its traces to, if it has any.

    See conf/log4j2.properties.
    """
    folder = CACHE_PATH / "details"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_old_files(folder)
    except OSError:
        return  # A checkout that cannot be written to, or a full disk, keeps none.
    environ.setdefault(DETAILS_VARIABLE, str(folder / name_trace_file()))


def start_session(name: str) -> SparkSession:
    """Start Spark with the configuration that spark-submit was given."""
    spark = SparkSession.builder.appName(name).getOrCreate()
    keep_helpers(spark.sparkContext._jvm)  # noqa: SLF001 - pyspark has no other door to Java
    _keep_jars(spark)
    # Spark's own asks the JVM something, in the middle of whatever was asked before.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    spark.conf.set(*_TIME_ZONE)
    return spark


def start_further_session(spark: SparkSession) -> SparkSession:
    """Return another session of the same driver, in UTC as the first one."""
    session = spark.newSession()
    session.conf.set(*_TIME_ZONE)
    return session


def _keep_jars(spark: SparkSession) -> None:
    """Keep what Ivy has fetched: each resolution takes seconds and prints 7 kB."""
    conf = spark.sparkContext.getConf()
    packages, jars = conf.get("spark.jars.packages", ""), conf.get("spark.jars", "")
    if packages and jars:
        places = [Path(urlsplit(one).path) for one in jars.split(",")]
        with suppress(OSError):  # A full disk only costs the next run its time.
            _find_installation("").keep_fetched_jars(packages, places)


def _find_installation(archive: str) -> Installation:
    return Installation(
        packages_path=PACKAGES_PATH,
        conf=CONF_PATH,
        cache=CACHE_PATH,
        python=sys.executable,
        archive=archive,
    )


def start_own_session(
    name: str, spark_words: Sequence[str], environ: Environ
) -> SparkSession:
    """Start Spark from this process, which then owns it and ends it."""
    words = spark_arguments(spark_words, environ, is_short=True)
    environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*words, "pyspark-shell"])
    # A session started from Python takes its workers' Python from here alone.
    environ["PYSPARK_PYTHON"] = find_conf(words, WORKER_PYTHON) or sys.executable
    environ["SPARK_HOME"] = str(find_spark_home())
    Thread(target=_import_ahead, name="imports").start()
    return start_session(name)


def _import_ahead() -> None:
    """Import, while the JVM starts, what pyspark does before its first call to it."""
    with suppress(Exception):  # pyspark says what is wrong with it
        import_module("pyspark.testing")


@contextmanager
def own_session(
    name: str, spark_words: Sequence[str], environ: Environ, *, is_verbose: bool
) -> Iterator[SparkSession]:
    """Start Spark from this process, and end it with the block.

    A block that fails ends the JVM at once: a call to it that was cut off leaves an
    answer behind, which the next call would take for its own.
    """
    refuse(name, spark_words)
    with TemporaryDirectory(
        prefix="kafka-clientele-", ignore_cleanup_errors=True
    ) as scratch:
        # Whatever the JVM leaves behind, it leaves there.
        environ["SPARK_LOCAL_DIRS"] = scratch
        # Spark parts the options at blanks as a shell does.
        environ["SPARK_SUBMIT_OPTS"] = shlex.quote(f"-Djava.io.tmpdir={scratch}")
        try:
            with told_in_a_sentence(is_verbose=is_verbose):
                with progress_of("Starting Spark (about 15 s)"), held_signals():
                    spark = start_own_session(name, spark_words, environ)
                if not is_verbose:
                    # What fails is raised; Spark would tell of it as well, at length.
                    spark.sparkContext.setLogLevel("OFF")
                yield spark
        except BaseException:
            # py4j tells of every object whose JVM is gone.
            logging.disable()
            end_own_jvm()
            raise
        # Not killed: what options ask of a JVM at its end, such as the file of Spark's
        # classes, it does by itself.
        spark.stop()


@contextmanager
def submitted_session(name: str, *, is_verbose: bool) -> Iterator[SparkSession]:
    """Take the session of spark-submit, and end it with the block."""
    spark = start_session(name)
    leave_interrupts_to_python(spark)
    try:
        with told_in_a_sentence(is_verbose=is_verbose):
            yield spark
    except Exception:
        spark.stop()
        raise
    except BaseException:
        end_interrupted(spark)
        raise
    spark.stop()


@contextmanager
def held_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait for the end of the block.

    Of a JVM that is on its way nobody knows yet: it would stay behind for good.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    came: list[int] = []
    usual = {
        number: signal.signal(number, lambda one, _: came.append(one))
        for number in numbers
    }
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, usual[number])
        if came:
            signal.raise_signal(came[0])


def end_own_jvm() -> None:
    """End the JVM that this process has started, if it has one, without its help."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark offers no other way
    if context is not None:
        # It would print a stack for the connection that ends with the JVM.
        server: Any = context._accumulatorServer  # noqa: SLF001 - the same
        server.shutdown()
    gateway = SparkContext._gateway  # noqa: SLF001 - the same
    if gateway is not None:
        jvm: Any = gateway.proc
        jvm.kill()
        jvm.wait()


def leave_interrupts_to_python(spark: SparkSession) -> None:
    """Let Ctrl-C, which reaches all processes of a terminal, end no JVM by itself."""
    signals: Any = spark.sparkContext._jvm.sun.misc  # type: ignore[union-attr] # noqa: SLF001 - pyspark has no other door to Java
    signals.Signal.handle(signals.Signal("INT"), signals.SignalHandler.SIG_IGN)


def end_interrupted(spark: SparkSession) -> None:
    """End the queries of a session, then the session; a second Ctrl-C does not wait.

    In a thread, which has a connection to the JVM of its own: on this one's there may
    be half an answer to what was interrupted.
    """
    signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    logging.disable()
    ending = Thread(target=_end_quietly, args=(spark,), name="end")
    ending.start()
    ending.join()


def _end_quietly(spark: SparkSession) -> None:
    # Nothing takes the place of what ended the job.
    with suppress(Exception):
        # It would tell of each piece of work that is cut off.
        spark.sparkContext.setLogLevel("OFF")
        for query in spark.streams.active:
            query.stop()
    with suppress(Exception):
        spark.stop()
