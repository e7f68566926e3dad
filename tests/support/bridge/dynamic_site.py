"""A bridge as proxy that serves dynamic configs and takes pushes, and its admin."""

import uuid
from contextlib import contextmanager
from dataclasses import dataclass

from pipelines.kafka_client.client_configs import Alteration, Op
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.dynamic_configs import ConfigClient, user, wait_loaded
from tests.support.bridge.proxy_support import find_servers, proxy_settings
from tests.unit.bridge.push_config.raw_client import read_record

ADMIN = 'bridge.admin_principals=["User:ANONYMOUS"]'
EVERYBODY = user("ANONYMOUS")


@dataclass
class DynamicSite:
    """Where clients without a login find Kafka, and what is set for them."""

    kafka: object
    server: str
    """bootstrap.servers of the proxy."""
    topic: str
    """Of the pushes."""
    _admin: ConfigClient
    _set: frozenset = frozenset()

    def set_values(self, **values):
        """Set these for everybody, and nothing else any more."""
        named = {key.replace("_", "."): value for key, value in values.items()}
        ops = [Op(key, value) for key, value in named.items()]
        ops += [Op(key, "", remove=True) for key in self._set - named.keys()]
        if ops:
            assert self._admin.alter(Alteration(EVERYBODY, tuple(ops))) == [(0, None)]
        self._set = frozenset(named)

    def find_supported(self):
        """Return what clients have registered, by entity."""
        entities = self._admin.find_all()
        return [one.get("supported.configs", "") for one in entities.values()]

    def read_pushes(self):
        """Return client instance id to what it pushed, as key to value and default."""
        return {
            record.key().decode(): {
                key: (value, is_default)
                for key, value, _, is_default in read_record(record.value())
            }
            for record in read_topic(self.kafka, self.topic)
        }


@contextmanager
def dynamic_site(kafka, *changes):
    """Run a bridge in front of Kafka."""
    name = uuid.uuid4()
    settings = proxy_settings(
        kafka,
        *(ADMIN, "dynamic_configs.enabled=true", f"topics.client_configs=d-{name}"),
        f"topics.client_registrations=r-{name}",
        *("client_config.enabled=true", f"topics.configs=c-{name}"),
        *changes,
    )
    with running_bridge(settings) as (bridge, _):
        server = find_servers(bridge)
        host, _, port = server.rpartition(":")
        wait_loaded((host, int(port)))
        with ConfigClient((host, int(port))) as admin:
            yield DynamicSite(kafka, server, f"c-{name}", admin)
