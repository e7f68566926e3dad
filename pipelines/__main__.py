"""Every command starts here: arguments, environment variables, the Spark session.

`spark-submit.sh` runs this module; for a job it hands over to Spark's own spark-submit,
which runs this same file again with the word RUN in front.
"""

# Longer than 400 lines: this alone may read the environment and build a session, so the
# wiring of every command stands here.

import asyncio
import gc
import getpass
import logging
import os
import re
import secrets
import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pipelines.command_line import commands
from pipelines.command_line.failures import (
    silence_libraries,
    tell_failure,
    told_in_a_sentence,
)
from pipelines.command_line.log_lines import log_to
from pipelines.command_line.trace_files import name_trace_file, remove_old_files
from pipelines.errors import InvalidSetting, PipelineError
from pipelines.settings.loading import CONF_PATH, load_defaults, load_settings
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

if TYPE_CHECKING:
    # Importing pyspark takes half a second, which the bridge need not wait for.
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from pipelines.streaming.start_records import Ledger

RUN = "run"
JAVA_VARIABLE = "KAFKA_CLIENTELE_JAVA"
UMASK_VARIABLE = "KAFKA_CLIENTELE_UMASK"
OWNER_ONLY = "077"
DETAILS_VARIABLE = "KAFKA_CLIENTELE_DETAILS"
ROOT = CONF_PATH.parent
LOOPBACK = "127.0.0.1"
_BESIDE_PROXY = " (only for pushes: to produce or consume, use bootstrap.servers above)"
RARE_COLLECTIONS = (50_000, 100, 1_000)
"""Thresholds of Python's garbage collector, by generation."""
DAYS_TO_COMPACT = timedelta(days=7)
"""Of a date that is done already little more is read than the log says."""
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143
# A few rows a plan: compiling each plan would take most of the time.
INTERPRETED = (
    *("--conf", "spark.sql.codegen.wholeStage=false"),
    *("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN"),
)

LAUNCHER_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

logger = logging.getLogger("kafka-clientele")


def main(words: list[str]) -> int:
    """Run one command; return its exit code."""
    is_driver = words[:1] == [RUN]
    words = words[1:] if is_driver else words
    command = commands.COMMANDS_BY_NAME.get(words[0] if words else "")
    spark_words: list[str] = []
    if command and command.takes_spark_options:
        from pipelines.command_line.submit import split_arguments

        own, spark_words = split_arguments(words[1:], command.own_options)
        words = [words[0], *own]
    arguments = commands.parse_words(words)
    log_to(sys.stderr)
    silence_libraries()
    # A plain `kill` unwinds like Ctrl-C, so that brokers and folders are cleaned up.
    signal.signal(signal.SIGTERM, _raise_terminated)
    try:
        with told_in_a_sentence(is_verbose=arguments.verbose):
            limit_readers()
            if is_driver:
                return run_job(arguments)
            return _HANDLERS[arguments.command](arguments, spark_words)
    except PipelineError as error:
        tell_failure(error, name_details(), is_verbose=arguments.verbose)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"kafka-clientele: {arguments.command}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except _Terminated:
        return EXIT_TERMINATED


class _Terminated(BaseException):
    """Raised by SIGTERM; not an Exception, so that nothing on the way keeps it."""


def _raise_terminated(_signal: int, _frame: object) -> None:
    raise _Terminated


# ------------------------------------------------------------------ shared pieces


def read_settings(arguments: Namespace) -> Settings:
    """Load what --env and --set say."""
    return load_settings(arguments.env, arguments.set)


def limit_readers() -> None:
    """Let what this process and those that it starts make be for its owner.

    Raises: InvalidSetting.
    """
    text = os.environ.get(UMASK_VARIABLE) or OWNER_ONLY
    if not re.fullmatch("[0-7]{3,4}", text):
        raise InvalidSetting(
            f"{UMASK_VARIABLE}={text}: expects a mask of three octal digits, 077 for "
            "the owner alone or 027 for the group, too"
        )
    os.umask(int(text, base=8))


def make_secret_reader(spark: "SparkSession | None" = None) -> SecretReader:
    """Return a reader of environment variables, files and, there, Databricks scopes."""
    try:
        from pyspark.dbutils import DBUtils
    except ImportError:
        return SecretReader(environ=os.environ)
    read_scope = DBUtils(spark).secrets.get if spark else None
    return SecretReader(environ=os.environ, read_scope=read_scope)


def spark_arguments(spark_words: list[str], *, is_short: bool = False) -> list[str]:
    """Return spark-submit's options: the product's own, then the user's."""
    from pipelines.command_line.submit import Installation, build_arguments, is_local

    if is_local(spark_words):
        # Otherwise Spark takes the address that the host's name resolves to.
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    prepare_details()
    installation = Installation(
        root=ROOT, python=sys.executable, java=os.environ.get(JAVA_VARIABLE, "")
    )
    return build_arguments(installation, spark_words, is_short=is_short)


def prepare_details() -> None:
    """Name the file that the JVM writes its traces to, if it has any.

    See conf/log4j2.properties.
    """
    folder = ROOT / ".cache" / "details"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_old_files(folder)
    except OSError:
        return  # A checkout that cannot be written to, or a full disk, keeps none.
    os.environ.setdefault(DETAILS_VARIABLE, str(folder / name_trace_file()))


def name_details() -> str:
    """Say where the traces are, where there are any."""
    path = os.environ.get(DETAILS_VARIABLE, "")
    has_any = bool(path) and Path(path).is_file() and Path(path).stat().st_size > 0
    return f" (details: {path})" if has_any else ""


def start_session(name: str) -> "SparkSession":
    """Start Spark with the configuration that spark-submit was given."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(name).getOrCreate()
    # Spark's own asks the JVM something, in the middle of whatever was asked before.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


def start_own_session(name: str, spark_words: list[str]) -> "SparkSession":
    """Start Spark from this process, which then owns it and ends it."""
    from pipelines.command_line.submit import WORKER_PYTHON, find_conf, find_spark_home

    words = spark_arguments(spark_words, is_short=True)
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*words, "pyspark-shell"])
    # A session started from Python takes its workers' Python from here alone.
    os.environ["PYSPARK_PYTHON"] = find_conf(words, WORKER_PYTHON) or sys.executable
    os.environ["SPARK_HOME"] = str(find_spark_home())
    # Of the JVM that writes the line which starts the other one.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(LAUNCHER_OPTIONS))
    return start_session(name)


@contextmanager
def own_session(
    name: str, spark_words: list[str], *, is_verbose: bool
) -> "Iterator[SparkSession]":
    """Start Spark from this process, and end it with the block.

    A block that fails ends the JVM at once: a call to it that was cut off leaves an
    answer behind, which the next call would take for its own.
    """
    with TemporaryDirectory(
        prefix="kafka-clientele-", ignore_cleanup_errors=True
    ) as scratch:
        # Whatever the JVM leaves behind, it leaves there.
        os.environ["SPARK_LOCAL_DIRS"] = scratch
        # Spark parts the options at blanks as a shell does.
        os.environ["SPARK_SUBMIT_OPTS"] = shlex.quote(f"-Djava.io.tmpdir={scratch}")
        try:
            with told_in_a_sentence(is_verbose=is_verbose):
                with held_signals():
                    spark = start_own_session(name, spark_words)
                if not is_verbose:
                    # What fails is raised; Spark would tell of it as well, at length.
                    spark.sparkContext.setLogLevel("OFF")
                yield spark
        except BaseException:
            # py4j tells of every object whose JVM is gone.
            logging.disable()
            end_own_jvm()
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
    from pyspark import SparkContext

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


# ------------------------------------------------------------------ the commands


def submit_job(arguments: Namespace, spark_words: list[str]) -> int:
    """Hand a job to spark-submit, which replaces this process."""
    from pipelines.command_line.submit import find_spark_home

    read_settings(arguments)  # a wrong key fails now, not after Spark has started
    home = find_spark_home()
    program = str(home / "bin" / "spark-submit")
    command = commands.COMMANDS_BY_NAME[arguments.command]
    own = [RUN, command.name, *command.words_of(arguments)]
    line = [program, *spark_arguments(spark_words), str(Path(__file__)), *own]
    os.environ["SPARK_HOME"] = str(home)
    sys.stdout.flush()
    os.execv(program, line)  # noqa: S606 - built above, no shell reads it


def run_job(arguments: Namespace) -> int:
    """Run a job inside spark-submit."""
    settings = read_settings(arguments)
    spark = start_session(arguments.command)
    leave_interrupts_to_python(spark)
    try:
        with told_in_a_sentence(is_verbose=arguments.verbose):
            _JOBS[arguments.command](spark, settings, arguments)
    except KeyboardInterrupt:
        stop_in_order(spark)
        raise
    finally:
        spark.stop()
    return 0


def leave_interrupts_to_python(spark: "SparkSession") -> None:
    """Let Ctrl-C, which reaches all processes of a terminal, end no JVM by itself."""
    signals: Any = spark.sparkContext._jvm.sun.misc  # type: ignore[union-attr] # noqa: SLF001 - pyspark has no other door to Java
    signals.Signal.handle(signals.Signal("INT"), signals.SignalHandler.SIG_IGN)


def stop_in_order(spark: "SparkSession") -> None:
    """End the queries of a session; a second Ctrl-C does not wait for them."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    # It would tell of each piece of work that is cut off.
    spark.sparkContext.setLogLevel("OFF")
    logging.disable()
    for query in spark.streams.active:
        query.stop()


def submit_streaming_job(arguments: Namespace, spark_words: list[str]) -> int:
    """Hand over a job that goes on until it is stopped, or ends with --once."""
    if arguments.once and arguments.continuous:
        raise InvalidSetting("--once and --continuous exclude each other")
    return submit_job(arguments, spark_words)


def run_streaming_job(
    spark: "SparkSession",
    settings: Settings,
    arguments: Namespace,
    ledger: "Ledger",
    start: "Callable[..., StreamingQuery]",
) -> None:
    """Run a streaming job until it ends."""
    from pipelines.streaming.job_runs import run_to_end

    secrets = make_secret_reader(spark)
    run_to_end(
        spark,
        settings,
        secrets,
        ledger,
        lambda job_run: start(spark, settings, secrets, job_run=job_run),
        accepts_data_loss=arguments.accept_data_loss,
    )


def run_telemetry_job(
    spark: "SparkSession", settings: Settings, arguments: Namespace
) -> None:
    """Run client_telemetry_to_delta until it ends."""
    from pipelines.jobs.telemetry.job import LEDGER, run

    start = partial(run, is_once=arguments.once)
    run_streaming_job(spark, settings, arguments, LEDGER, start)


def run_configs_job(
    spark: "SparkSession", settings: Settings, arguments: Namespace
) -> None:
    """Run client_configs_to_delta until it ends."""
    from pipelines.jobs.configs.job import LEDGER, run
    from pipelines.settings.loading import load_client_type_keys, load_config_catalogs

    start = partial(
        run,
        catalogs=load_config_catalogs(),
        client_type_keys=load_client_type_keys(),
        is_once=arguments.once,
    )
    run_streaming_job(spark, settings, arguments, LEDGER, start)


def run_wire_configs_job(
    spark: "SparkSession", settings: Settings, arguments: Namespace
) -> None:
    """Run client_wire_configs_to_delta until it ends."""
    from pipelines.jobs.wire_configs.job import LEDGER, run
    from pipelines.settings.loading import load_config_catalogs

    start = partial(run, catalogs=load_config_catalogs(), is_once=arguments.once)
    run_streaming_job(spark, settings, arguments, LEDGER, start)


def submit_replay(arguments: Namespace, spark_words: list[str]) -> int:
    """Hand over the job replay_pushes."""
    if arguments.start >= arguments.end:
        arguments.parser.error("--to must be later than --from")
    return submit_job(arguments, spark_words)


def run_replay(spark: "SparkSession", settings: Settings, arguments: Namespace) -> None:
    """Run replay_pushes and print what it found."""
    from pipelines.jobs.replay import job as replay_pushes
    from pipelines.jobs.replay.results import format_result
    from pipelines.time_ranges import TimeRange

    span = TimeRange(arguments.start, arguments.end)
    result = replay_pushes.run(spark, settings, span, is_dry_run=arguments.dry_run)
    print(format_result(result, span, is_dry_run=arguments.dry_run))


def submit_compaction(arguments: Namespace, spark_words: list[str]) -> int:
    """Hand over the job compact_tables, with the dates that are meant."""
    from pipelines.time_ranges import midnight

    today = midnight(datetime.now(tz=UTC).date())
    arguments.end = arguments.end or today
    arguments.start = arguments.start or arguments.end - DAYS_TO_COMPACT
    if arguments.start >= arguments.end:
        arguments.parser.error("--to must be later than --from")
    return submit_job(arguments, spark_words)


def run_compaction(
    spark: "SparkSession", settings: Settings, arguments: Namespace
) -> None:
    """Run compact_tables and print what it did."""
    from pipelines.jobs.compact import job as compact_tables
    from pipelines.time_ranges import TimeRange

    span = TimeRange(arguments.start, arguments.end)
    print(compact_tables.format_result(compact_tables.run(spark, settings, span), span))


def run_purge(spark: "SparkSession", settings: Settings, arguments: Namespace) -> None:
    """Run purge-secrets and print what it found and cannot reach."""
    from pipelines.jobs.purge import job as purge_secrets

    purge_secrets.run(spark, settings, is_dry_run=arguments.dry_run, say=print)


def run_bridge(arguments: Namespace, _spark_words: list[str]) -> int:
    """Serve clients until SIGINT or SIGTERM; the second one does not wait for them."""
    from pipelines.bridge.operations.logs import make_handler
    from pipelines.bridge.proxy.rules.plan import plan_proxy
    from pipelines.bridge.workers import run_workers

    settings = read_settings(arguments)
    handler = make_handler(settings.bridge.log_format, sys.stderr)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)

    def say_bootstrap(servers: str) -> None:
        print(f"bootstrap.servers={servers}", flush=True)

    def say_endpoint(host: str, port: int) -> None:
        use = _BESIDE_PROXY if settings.proxy.enabled else ""
        print(f"bridge: {host}:{port}{use}", flush=True)

    def say_both(host: str, port: int) -> None:
        if settings.proxy.enabled:
            plan = plan_proxy(settings)
            say_bootstrap(plan.bootstrap_servers(plan.base_port))
        say_endpoint(host, port)

    if settings.bridge.workers > 1:
        return run_workers(settings, run_bridge_worker, say_both)
    return run_one_bridge(settings, say_endpoint, say_bootstrap)


def run_bridge_worker(settings: Settings, on_ready: Callable[[str, int], None]) -> int:
    """Serve clients from a process that was forked; nobody catches what it raises."""
    try:
        return run_one_bridge(settings, on_ready)
    except PipelineError as error:
        print(f"kafka-clientele: {error}", file=sys.stderr)
        return error.exit_code


def run_one_bridge(
    settings: Settings,
    on_ready: Callable[[str, int], None],
    on_bootstrap: Callable[[str], None] = lambda _servers: None,
) -> int:
    """Serve clients from this process until SIGINT or SIGTERM."""
    from pipelines.bridge.server import BridgeServer

    server = BridgeServer(settings, make_secret_reader(), on_bootstrap=on_bootstrap)

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def end(exit_code: int) -> None:
            if stop.is_set():
                os._exit(exit_code)
            stop.set()

        loop.add_signal_handler(signal.SIGINT, end, EXIT_INTERRUPTED)
        loop.add_signal_handler(signal.SIGTERM, end, EXIT_TERMINATED)
        await server.serve(stop, on_ready)

    import uvloop

    # A look through a million client instances would stop the loop for a second, and
    # requests leave next to nothing behind that only such a look could find.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)
    # A connection takes half the memory that asyncio's own loop needs.
    uvloop.run(serve())
    return 0


def print_scram_credential(arguments: Namespace, _spark_words: list[str]) -> int:
    """Read a password from the standard input; print the line of its verifier."""
    from pipelines.bridge.security.sasl.credentials import (
        SALT_BYTES,
        InvalidCredentials,
        make_credential,
    )
    from pipelines.command_line import credential_output

    if sys.stdin.isatty():
        password = getpass.getpass("password: ")
    else:
        password = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    try:
        credential = make_credential(
            name=arguments.name,
            password=password,
            mechanism=arguments.mechanism,
            iterations=arguments.iterations,
            salt=secrets.token_bytes(SALT_BYTES),
        )
    except InvalidCredentials as error:
        raise InvalidSetting(f"scram-credential: {error}") from None
    credential_output.write_line(credential.as_line(), arguments.output)
    return 0


def print_rule(arguments: Namespace, _spark_words: list[str]) -> int:
    """Explain what the rules for sensitive entries say of one."""
    from pipelines.command_line.rule_explanations import explain_rule
    from pipelines.settings.loading import load_config_catalogs
    from pipelines.settings.rules import make_sensitive_key_rules

    settings = read_settings(arguments)
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    value = None
    if arguments.value is not None:
        value = (
            getpass.getpass("value: ")
            if sys.stdin.isatty()
            else sys.stdin.buffer.read().decode(errors="replace").removesuffix("\n")
        )
    lines = explain_rule(
        rules,
        key=arguments.key,
        value=value,
        type_name=arguments.type,
        software_name=arguments.software,
    )
    print(lines)
    return 0


def run_kafka(arguments: Namespace, _spark_words: list[str]) -> int:
    """Run the embedded Kafka until SIGINT or SIGTERM."""
    from pipelines.embedded.command import run_kafka as run

    return run(
        brokers=arguments.brokers,
        port=arguments.port,
        security_protocol=arguments.security,
        java=os.environ[JAVA_VARIABLE],
    )


def run_demo(arguments: Namespace, _spark_words: list[str]) -> int:
    """Run the demo."""
    from pipelines.demo.run import Demo

    demo = Demo(
        duration_seconds=arguments.duration,
        client_count=arguments.clients,
        is_kept=arguments.keep,
        java=os.environ[JAVA_VARIABLE],
    )
    session = own_session("demo", [*INTERPRETED], is_verbose=arguments.verbose)
    return demo.run(session)


def run_sql(arguments: Namespace, spark_words: list[str]) -> int:
    """Print the result of one query."""
    settings = read_settings(arguments)
    with own_session("sql", spark_words, is_verbose=arguments.verbose) as spark:
        from pipelines.command_line import asking

        printing = asking.Printing(
            format=arguments.format, limit=arguments.limit, output=sys.stdout
        )
        asking.print_query(spark, settings, arguments.query, printing)
    return 0


def run_configs(arguments: Namespace, spark_words: list[str]) -> int:
    """Print configurations of clients."""
    from pipelines.command_line.client_config_command import ConfigCommand
    from pipelines.command_line.client_config_questions import read_question

    asked = read_question(arguments)
    settings = read_settings(arguments)
    with own_session("configs", spark_words, is_verbose=arguments.verbose) as spark:
        command = ConfigCommand(spark, settings, datetime.now(tz=UTC), print)
        command.answer(arguments.action, asked)
    return 0


def run_shell(arguments: Namespace, spark_words: list[str]) -> int:
    """Open a Python prompt with `spark` and the tables."""
    settings = read_settings(arguments)
    with own_session("shell", spark_words, is_verbose=arguments.verbose) as spark:
        from pipelines.command_line import asking

        asking.open_shell(spark, settings)
    return 0


def run_notebook(arguments: Namespace, spark_words: list[str]) -> int:
    """Run a notebook and write its page."""
    from pipelines.command_line import notebook_page
    from pipelines.command_line.notebook_cells import load_cells

    settings = read_settings(arguments)
    path = Path(arguments.path)
    output = Path(arguments.output or ROOT / "data" / f"{path.stem}.html")
    given = {"env": arguments.env, "set": shlex.join(arguments.set)}
    widgets = notebook_page.parse_widgets(given, arguments.widget)
    cells = load_cells(path)
    widgets.check_names(path, cells)
    notebook_page.Page.try_output(output)
    with own_session(
        f"notebook {path.name}", spark_words, is_verbose=arguments.verbose
    ) as spark:
        page = notebook_page.run_cells(spark, settings, path, cells, widgets)
    page.write(output)
    print(output)
    return 0


def run_client_metrics(arguments: Namespace, _spark_words: list[str]) -> int:
    """Show or change the subscriptions of a cluster."""
    from pipelines.admin import client_metrics_command, client_metrics_options

    given = {
        name.removeprefix("--"): getattr(arguments, name.strip("-").replace("-", "_"))
        for name, _, _ in client_metrics_options.OPTIONS
    }

    def complain(line: str, shows_usage: bool) -> None:  # noqa: FBT001 - of two words
        print(line, file=sys.stderr)
        if shows_usage:
            arguments.parser.print_help(sys.stderr)

    return client_metrics_command.run(given, say=print, complain=complain)


def run_push_config(arguments: Namespace, _spark_words: list[str]) -> int:
    """Push the configuration that a file of properties is."""
    from pipelines.command_line import push_config_command

    push_config_command.run(
        properties_path=arguments.properties,
        client_type=arguments.client_type,
        connection_path=arguments.command_config,
        say=print,
        warn=lambda line: print(f"kafka-clientele: {line}", file=sys.stderr),
    )
    return 0


def print_settings(arguments: Namespace, _spark_words: list[str]) -> int:
    """Print the settings, or the page about them."""
    from pipelines.settings import reference as settings_reference

    if arguments.reference:
        print(settings_reference.format_reference(load_defaults()), end="")
    else:
        print(settings_reference.format_settings(read_settings(arguments)))
    return 0


_HANDLERS: dict[str, Callable[[Namespace, list[str]], int]] = {
    "demo": run_demo,
    "kafka": run_kafka,
    "bridge": run_bridge,
    "scram-credential": print_scram_credential,
    "explain-rule": print_rule,
    "client_telemetry_to_delta": submit_streaming_job,
    "client_configs_to_delta": submit_streaming_job,
    "client_wire_configs_to_delta": submit_streaming_job,
    "replay_pushes": submit_replay,
    "compact_tables": submit_compaction,
    "sql": run_sql,
    "configs": run_configs,
    "purge-secrets": submit_job,
    "shell": run_shell,
    "notebook": run_notebook,
    "kafka-client-metrics": run_client_metrics,
    "push-config": run_push_config,
    "settings": print_settings,
}

_JOBS: dict[str, Callable[["SparkSession", Settings, Namespace], None]] = {
    "client_telemetry_to_delta": run_telemetry_job,
    "client_configs_to_delta": run_configs_job,
    "client_wire_configs_to_delta": run_wire_configs_job,
    "replay_pushes": run_replay,
    "compact_tables": run_compaction,
    "purge-secrets": run_purge,
}

if __name__ == "__main__":
    # Where hypothesis is installed kio imports it, for tests of its own users; that
    # takes a while and leaves a folder in the current one.
    sys.modules["hypothesis"] = None  # type: ignore[assignment]
    sys.exit(main(sys.argv[1:]))
