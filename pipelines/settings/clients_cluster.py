"""Which cluster the clients use: their brokers, and whom an operator asks for what."""

from typing import NamedTuple

from pipelines.settings.kafka_settings import KafkaSettings
from pipelines.settings.records import Settings

KAFKA, UPSTREAM = "kafka", "upstream"


class ClientsCluster(NamedTuple):
    """A cluster, and where conf/ names it."""

    section: str
    """The table of conf/."""
    settings: KafkaSettings

    @property
    def is_apart(self) -> bool:
        """Whether it is another one than that of [kafka]."""
        return self.section == UPSTREAM

    def key_name(self, name: str) -> str:
        """Return the key of conf/ that holds a property of librdkafka."""
        return f"{self.section}.{name.replace('.', '_')}"


def find_clients_cluster(settings: Settings) -> ClientsCluster:
    """Return the cluster of [upstream], or that of [kafka] where that names none."""
    if settings.upstream.bootstrap_servers:
        return ClientsCluster(UPSTREAM, settings.upstream)
    return ClientsCluster(KAFKA, settings.kafka)
