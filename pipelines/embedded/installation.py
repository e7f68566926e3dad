"""The Java and the jars that brokers run from, and what they share between starts."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import EmbeddedKafkaError
from pipelines.settings import places

from .cache import EmbeddedCache, cache_key
from .java_commands import format_command, list_jars
from .log_lines import log4j_text
from .private_files import write_private
from .storage import run_format, write_format_arguments

JARS_PATH = places.CACHE_PATH / "jars" / "kafka"
CACHE_PATH = places.CACHE_PATH / "embedded_kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What every broker of a cluster is started with."""

    java: str
    """Path of the java program."""
    jars: list[Path]
    """Class path, in a fixed order."""
    cache: EmbeddedCache
    """Entries for this Java and these jars."""


def find_installation(java: str, jars_path: Path, cache_path: Path) -> Installation:
    """Look up Java and the jars, and open the cache.

    Raises: EmbeddedKafkaError, naming what is missing.
    """
    found = shutil.which(java)
    if found is None:
        raise EmbeddedKafkaError(
            f"embedded Kafka: there is no program {java}; install Java 17, 21 or 25 "
            "or set JAVA_HOME"
        )
    jars = list_jars(jars_path)
    cache = EmbeddedCache(cache_path, cache_key(found, jars))
    return Installation(java=found, jars=jars, cache=cache)


def make_bootstrap(
    installation: Installation, folder: Path, users: Mapping[str, str]
) -> bytes:
    """Return the bootstrap checkpoint; without users it is the same at each start.

    Args:
        installation: Whose tool runs, and whose cache holds the checkpoint.
        folder: Folder of the cluster, for the tool's own files.
        users: Name and password of each SCRAM user.
    Raises: EmbeddedKafkaError, when the tool fails.
    """
    kept = None if users else installation.cache.load_bootstrap()
    if kept is not None:
        return kept
    with tempfile.TemporaryDirectory(dir=folder, prefix="format-") as name:
        work_path = Path(name)
        arguments_path = work_path / "arguments"
        write_format_arguments(work_path, arguments_path, users)
        log4j_path = work_path / "log4j2.properties"
        write_private(log4j_path, log4j_text(0))
        command = format_command(
            installation.java,
            installation.jars,
            installation.cache.archive_arguments(),
            log4j_path=log4j_path,
            arguments_path=arguments_path,
        )
        bootstrap = run_format(command, work_path)
    if not users:
        installation.cache.save_bootstrap(bootstrap)
    return bootstrap
