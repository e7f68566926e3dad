"""What a driver on a machine of the cluster's is told, and what it would lack there.

Its current folder is its container's, which goes with it: it finds there what --files
and --archives name, and nothing of the machine that submits.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from pipelines.errors import InvalidSetting
from pipelines.settings.loading import CONFIG_OPTION, list_overrides
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReference

from .spark_words import (
    CLUSTER_MODE,
    DRIVER_VARIABLE,
    find_master,
    is_cluster_mode,
    names_variable,
)

_SET_OPTION = "--set"
FILES_OPTION = "--files"
_WITH_FILE_SYSTEM = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_ENVIRON = "env:"
_CHECKPOINT = "checkpoint_location"
_OF_ALL_JOBS = ("jobs", "maintain_tables")
"""Commands that use the checkpoint location of every streaming job."""
_OPTION = f"--deploy-mode {CLUSTER_MODE}"


def check_job(settings: Settings, command: str, spark_words: Sequence[str]) -> None:
    """Refuse what a driver elsewhere could not do, before anything is sent.

    Args:
        command: Name of the job, and of its section of settings.
    Raises: InvalidSetting, naming the key or the option.
    """
    if not is_cluster_mode(spark_words):
        return
    master = find_master(spark_words)
    if master.startswith(("local", "spark:")):
        raise InvalidSetting(
            f"{_OPTION}: Spark runs no Python driver there with --master {master}; "
            f"leave the option out, or name yarn or a k8s:// address"
        )
    places = _find_checkpoints(settings, command)
    if not settings.tables.catalog_schema:
        places["tables.root_path"] = settings.tables.root_path
    for name, place in places.items():
        if place and not _WITH_FILE_SYSTEM.match(place):
            raise InvalidSetting(
                f"{name} is {place}, and with {_OPTION} the driver runs on another "
                f"machine, in a folder that goes with it: name the file system, too, "
                f"as hdfs://host/folder, s3a://bucket/folder or file:///shared/folder"
            )
    for name in ("sasl_password", "ssl_key_password"):
        _check_secret(f"kafka.{name}", getattr(settings.kafka, name), spark_words)


def refuse(command: str, spark_words: Sequence[str]) -> None:
    """Refuse a driver elsewhere for a command that prints what it finds.

    Raises: InvalidSetting.
    """
    if is_cluster_mode(spark_words):
        raise InvalidSetting(
            f"{_OPTION}: {command} prints here what it finds, so its driver runs here; "
            f"leave the option out"
        )


def _find_checkpoints(settings: Settings, command: str) -> dict[str, str]:
    """Return key to place of the checkpoint locations that a command uses."""
    sections = {one.name: getattr(settings, one.name) for one in fields(settings)}
    return {
        f"{name}.{_CHECKPOINT}": getattr(section, _CHECKPOINT)
        for name, section in sections.items()
        if hasattr(section, _CHECKPOINT) and (command in {name, *_OF_ALL_JOBS})
    }


def _check_secret(
    name: str, reference: SecretReference | None, spark_words: Sequence[str]
) -> None:
    if reference is None or not reference.text.startswith(_ENVIRON):
        return
    variable = reference.text.removeprefix(_ENVIRON)
    if not names_variable(spark_words, variable):
        raise InvalidSetting(
            f"{name} is {reference}, and with {_OPTION} the driver runs on another "
            f"machine, which has no such variable: send a file along by {FILES_OPTION} "
            f"and say file:NAME, or name it in --conf {DRIVER_VARIABLE}{variable}, "
            f"which YARN shows to who may see the application"
        )


def words_for_driver(
    words: Sequence[str], environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return a job's words as its driver elsewhere takes them, and files to send.

    Variables of settings become words, which stand before the user's own; a settings
    file goes along and is in the current folder there.

    Args:
        words: Two that name the job, then its options.
        environ: Of this process.
    """
    told, options = list(words[:2]), list(words[2:])
    files: list[str] = []
    for text in list_overrides(environ):
        told += [_SET_OPTION, text]
    while options:
        word = options.pop(0)
        told.append(word)
        if word == CONFIG_OPTION and options:
            path = Path(options.pop(0)).absolute()
            files.append(str(path))
            told.append(path.name)
    return told, files
