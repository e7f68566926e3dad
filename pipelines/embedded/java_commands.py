"""Command lines for the classes of Apache Kafka; computes only."""

from collections.abc import Sequence
from pathlib import Path

from pipelines.errors import EmbeddedKafkaError

# The C1 compiler alone and one collector thread: the least start time and memory.
_SMALL_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_BROKER_HEAP = ("-Xms64m", "-Xmx160m", "-XX:+ExitOnOutOfMemoryError")
_TOOL_HEAP = ("-Xmx64m",)
# Archiving skips classes that it cannot keep and says so, one line for each.
_QUIET_ARCHIVE = "-Xlog:disable"


def list_jars(jars_path: Path) -> list[Path]:
    """Return the jars in a fixed order, which a class-data archive depends on.

    Raises: EmbeddedKafkaError, when the folder holds no Kafka.
    """
    jars = sorted(jars_path.glob("*.jar"))
    if not any(jar.name.startswith("kafka_") for jar in jars):
        raise EmbeddedKafkaError(
            f"embedded Kafka: {jars_path} holds no kafka_*.jar; the set-up of "
            "spark-submit.sh puts it there, in a checkout"
        )
    return jars


def broker_command(
    java: str,
    jars: Sequence[Path],
    arguments: Sequence[str],
    *,
    log4j_path: Path,
    temporary_path: Path,
    properties_path: Path,
) -> list[str]:
    """Return the command that runs one broker in the foreground.

    Args:
        java: Path of the program.
        jars: Class path, in order.
        arguments: Of the JVM: what to do about the class-data archive.
        log4j_path: Configuration of the log.
        temporary_path: Where native libraries are unpacked.
        properties_path: Configuration of the broker.
    """
    return [
        java,
        *_SMALL_JVM,
        *_BROKER_HEAP,
        _QUIET_ARCHIVE,
        *arguments,
        f"-Dlog4j2.configurationFile={log4j_path}",
        f"-Djava.io.tmpdir={temporary_path}",
        "-cp",
        _class_path(jars),
        "kafka.Kafka",
        str(properties_path),
    ]


def format_command(
    java: str,
    jars: Sequence[Path],
    arguments: Sequence[str],
    *,
    log4j_path: Path,
    arguments_path: Path,
) -> list[str]:
    """Return the command that formats a data folder as kafka-storage.sh does.

    Args:
        java: Path of the program.
        jars: Class path, in order.
        arguments: Of the JVM: the class-data archive, where there is one.
        log4j_path: Configuration of the log.
        arguments_path: File of the tool's own arguments, one a line.
    """
    return [
        java,
        *_SMALL_JVM,
        *_TOOL_HEAP,
        _QUIET_ARCHIVE,
        *arguments,
        f"-Dlog4j2.configurationFile={log4j_path}",
        "-cp",
        _class_path(jars),
        "kafka.tools.StorageTool",
        # The tool reads its arguments from this file, so that no process list shows
        # the credentials among them.
        f"@{arguments_path}",
    ]


def _class_path(jars: Sequence[Path]) -> str:
    return ":".join(str(jar) for jar in jars)
