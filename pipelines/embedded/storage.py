"""Formats the data folders of a cluster with Apache Kafka's own tool.

The tool's bootstrap checkpoint holds the features of this release of Kafka and the
SCRAM credentials, and nothing of the node: one checkpoint serves all brokers.
Source: Apache Kafka, kafka/tools/StorageTool.scala; KIP-900 (SCRAM at format time).
"""

import base64
import hashlib
import secrets
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from pipelines.errors import EmbeddedKafkaError

from .private_files import write_private
from .server_properties import (
    LOG_DIR,
    SCRAM_MECHANISM,
    BrokerPorts,
    server_properties,
    to_properties_text,
)

BOOTSTRAP_NAME = "bootstrap.checkpoint"
META_NAME = "meta.properties"
# Kafka's least number of iterations for SCRAM (ScramMechanism).
SCRAM_ITERATIONS = 4096
_SALT_BYTES = 16
_FORMAT_TIMEOUT_S = 60


def new_kafka_uuid() -> str:
    """Return a random id in Kafka's text form, which never begins with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def scram_credential(name: str, password: str, salt: bytes) -> str:
    """Return the argument of --add-scram; the password cannot be read from it.

    Source: RFC 5802 section 3, SaltedPassword; Apache Kafka, ScramParser.java.
    """
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, SCRAM_ITERATIONS)
    return (
        f"{SCRAM_MECHANISM}=[name={name},iterations={SCRAM_ITERATIONS},"
        f'salt="{base64.b64encode(salt).decode()}",'
        f'saltedpassword="{base64.b64encode(salted).decode()}"]'
    )


def write_format_arguments(
    work_path: Path, arguments_path: Path, users: Mapping[str, str]
) -> None:
    """Write the tool's arguments, one a line, and the configuration they name."""
    placeholder = BrokerPorts(broker_id=1, client=1, controller=2, internal=3)
    properties = server_properties(placeholder, [placeholder], None)
    properties_path = work_path / "format.properties"
    write_private(properties_path, to_properties_text(properties))
    arguments = ["format", "-t", new_kafka_uuid(), "-c", properties_path.name]
    for name, password in users.items():
        salt = secrets.token_bytes(_SALT_BYTES)
        arguments += ["--add-scram", scram_credential(name, password, salt)]
    write_private(arguments_path, "".join(f"{one}\n" for one in arguments))


def run_format(command: list[str], work_path: Path) -> bytes:
    """Run the tool and return the bootstrap checkpoint that it wrote.

    Raises: EmbeddedKafkaError, with the tool's last line; the tool prints no secret
        there, for it was given none.
    """
    try:
        done = subprocess.run(
            command,
            cwd=work_path,
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_FORMAT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbeddedKafkaError(
            f"embedded Kafka: {command[0]} did not format the storage "
            f"({type(error).__name__})"
        ) from None
    written = work_path / LOG_DIR / BOOTSTRAP_NAME
    if done.returncode != 0 or not written.exists():
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [""]
        raise EmbeddedKafkaError(
            f"embedded Kafka: kafka-storage format ended with {done.returncode}: "
            f"{lines[-1]}"
        )
    return written.read_bytes()


def write_storage(
    broker_path: Path, broker_id: int, cluster_id: str, bootstrap: bytes
) -> None:
    """Write the data folder of one broker as the tool would have."""
    data_path = broker_path / LOG_DIR
    data_path.mkdir(parents=True)
    (data_path / BOOTSTRAP_NAME).write_bytes(bootstrap)
    meta = {
        "version": "1",
        "cluster.id": cluster_id,
        "node.id": str(broker_id),
        "directory.id": new_kafka_uuid(),
    }
    (data_path / META_NAME).write_text(to_properties_text(meta), encoding="ascii")
