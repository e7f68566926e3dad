"""What a cluster is asked to be."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.errors import EmbeddedKafkaError

from .installation import CACHE_PATH, JARS_PATH
from .ports import MAX_PORT
from .server_properties import PLAINTEXT, SASL_SSL, SECURITY_PROTOCOLS

# Names that need no escape in SCRAM, in a Java properties file or in JAAS.
_USER_NAME = re.compile(r"[A-Za-z0-9._@-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Arguments of a cluster, checked; prints no password."""

    brokers: int = 1
    """How many, 1 or more; their ids begin with 1."""
    security_protocol: str = PLAINTEXT
    """Of the clients' listener: PLAINTEXT, or SASL_SSL with SCRAM-SHA-512."""
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Name and password of each user; one at least for SASL_SSL, else none."""
    folder: Path | None = None
    """Empty or new folder, kept afterwards; None is a temporary one."""
    port: int = 0
    """Clients' port of the first broker, the next ones follow; 0 takes free ones."""
    java: str = "java"
    """Program that runs Java 17 or newer."""
    jars_path: Path = JARS_PATH
    """Folder of Apache Kafka's jars."""
    cache_path: Path = CACHE_PATH
    """Folder of what is made once: bootstrap records, class archive."""
    broker_properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Broker configs that replace the usual ones."""

    def __post_init__(self) -> None:
        if self.brokers < 1:
            raise EmbeddedKafkaError(
                f"embedded Kafka: there must be 1 broker or more, not {self.brokers}"
            )
        if not 0 <= self.port <= MAX_PORT - self.brokers + 1:
            raise EmbeddedKafkaError(
                f"embedded Kafka: the port of the first broker must be from 0 to "
                f"{MAX_PORT - self.brokers + 1}, not {self.port}"
            )
        if self.security_protocol not in SECURITY_PROTOCOLS:
            raise EmbeddedKafkaError(
                f"embedded Kafka: security_protocol={self.security_protocol}: must be "
                f"one of {', '.join(SECURITY_PROTOCOLS)}"
            )
        if self.is_secured != bool(self.users):
            raise EmbeddedKafkaError(
                "embedded Kafka: SASL_SSL needs users, PLAINTEXT has none"
            )
        for name, password in self.users.items():
            if not _USER_NAME.fullmatch(name) or not password:
                raise EmbeddedKafkaError(
                    f"embedded Kafka: user {name!r}: a name has letters, digits and "
                    "._@- only, and a password is not empty"
                )

    @property
    def is_secured(self) -> bool:
        """Whether clients use SASL_SSL."""
        return self.security_protocol == SASL_SSL
