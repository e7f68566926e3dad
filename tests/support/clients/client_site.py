"""A cluster and its proxies, one for each security protocol of clients."""

import contextlib
import uuid
from dataclasses import dataclass
from types import SimpleNamespace

from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from pipelines.embedded import EmbeddedKafka
from tests.support.bridge.certificates import Authority
from tests.support.bridge.proxy_support import QUIET, proxy_settings

PATIENCE_S = 300
PASSWORD = "secret"
SUBSCRIPTION = '{name="all",metrics=["*"],interval_ms=1000,match=[]}'
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAINTEXT, SASL_PLAINTEXT, SSL, SASL_SSL = (
    "PLAINTEXT",
    "SASL_PLAINTEXT",
    "SSL",
    "SASL_SSL",
)
PROTOCOLS = (PLAINTEXT, SASL_PLAINTEXT, SSL, SASL_SSL)
MECHANISMS = {SASL_PLAINTEXT: "SCRAM-SHA-256", SASL_SSL: "SCRAM-SHA-512"}
USERS = {SASL_PLAINTEXT: "alice", SASL_SSL: "bob"}
SUBJECT = "CN=erin,O=there"
PRINCIPALS = {
    PLAINTEXT: "User:ANONYMOUS",
    SASL_PLAINTEXT: "User:alice",
    SSL: f"User:{SUBJECT}",
    SASL_SSL: "User:bob",
}
BROKER = {
    # The listener of clients wants a login; the brokers' own one is open.
    "listener.security.protocol.map": (
        "PLAINTEXT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
    ),
    "listener.name.plaintext.sasl.enabled.mechanisms": ",".join(MECHANISMS.values()),
    **{
        f"listener.name.plaintext.{one.lower()}.sasl.jaas.config": f"{LOGIN} required;"
        for one in MECHANISMS.values()
    },
}


@dataclass(frozen=True, kw_only=True)
class Site:
    """A cluster with users, and the files of its proxies and clients."""

    cluster: EmbeddedKafka
    servers: str
    """Of the open listener."""
    folder: object
    topic: str
    """Where pushes go."""
    data: str
    """What clients write and read."""
    authority: Authority
    files: object
    client: object

    def proxy_settings(self, protocol):
        """Return settings of a proxy whose clients speak this protocol."""
        changes = [
            f"topics.telemetry={self.topic}",
            f"proxy.listener={protocol}",
            f"subscriptions=[{SUBSCRIPTION}]",
        ]
        if protocol in USERS:
            changes += [
                f"upstream.bootstrap_servers={self.cluster.bootstrap_servers}",
                "upstream.security_protocol=SASL_PLAINTEXT",
                f"upstream.sasl_mechanism={MECHANISMS[protocol]}",
                f"upstream.sasl_username={USERS[protocol]}",
                "upstream.sasl_password=env:UPSTREAM_PASSWORD",
            ]
        if protocol.endswith("SSL"):
            changes += [
                "proxy.advertised_host=localhost",
                f"proxy.ssl_certificate_location={self.files.certificate}",
                f"proxy.ssl_key_location={self.files.key}",
            ]
        if protocol == SSL:
            changes += [
                f"proxy.ssl_ca_location={self.authority.path}",
                "proxy.ssl_client_auth=required",
                "proxy.upstream_identity=shared",
            ]
        return proxy_settings(SimpleNamespace(bootstrap_servers=self.servers), *changes)

    def librdkafka_config(self, protocol):
        """Return what all of librdkafka's clients need to log in."""
        config = {"security.protocol": protocol}
        if protocol in USERS:
            config |= log_in(protocol)
        if protocol.endswith("SSL"):
            config["ssl.ca.location"] = str(self.authority.path)
        if protocol == SSL:
            config |= {
                "ssl.certificate.location": str(self.client.certificate),
                "ssl.key.location": str(self.client.key),
            }
        return config

    def java_config(self, protocol):
        """Return the same for Java."""
        config = {"security.protocol": protocol}
        if protocol in USERS:
            config |= {
                "sasl.mechanism": MECHANISMS[protocol],
                "sasl.jaas.config": f'{LOGIN} required username="{USERS[protocol]}" '
                f'password="{PASSWORD}";',
            }
        if protocol.endswith("SSL"):
            config |= {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": self.authority.path,
            }
        if protocol == SSL:
            both = self.client.key.read_bytes() + self.client.certificate.read_bytes()
            keystore = self.folder / "client-all.pem"
            keystore.write_bytes(both)
            config |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": keystore}
        return config


def log_in(protocol):
    """Return librdkafka's properties of one protocol's user."""
    return {
        "sasl.mechanism": MECHANISMS[protocol],
        "sasl.username": USERS[protocol],
        "sasl.password": PASSWORD,
    }


def wait_for_users(cluster):
    """Log in everywhere: each broker learns of a user a moment after its controller."""
    for server in cluster.bootstrap_servers.split(","):
        for protocol in MECHANISMS:
            config = {"bootstrap.servers": server, **log_in(protocol)}
            config["security.protocol"] = SASL_PLAINTEXT
            AdminClient(config, logger=QUIET).list_topics(timeout=PATIENCE_S)


@contextlib.contextmanager
def running_site(java, folder, brokers=3):
    """Start a cluster, its users and the topic of its clients."""
    with EmbeddedKafka(brokers, java=java, broker_properties=BROKER) as cluster:
        ports = [one.ports.internal for one in cluster._brokers.values()]
        servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        admin = AdminClient({"bootstrap.servers": servers}, logger=QUIET)
        users = [
            UserScramCredentialUpsertion(
                USERS[protocol],
                ScramCredentialInfo(
                    getattr(ScramMechanism, mechanism.replace("-", "_")), 4_096
                ),
                PASSWORD.encode(),
            )
            for protocol, mechanism in MECHANISMS.items()
        ]
        data = f"data-{uuid.uuid4()}"
        made = admin.create_topics([NewTopic(data, 3, brokers)])
        for done in (*admin.alter_user_scram_credentials(users).values(), made[data]):
            done.result(PATIENCE_S)
        wait_for_users(cluster)
        authority = Authority(folder)
        yield Site(
            cluster=cluster,
            servers=servers,
            folder=folder,
            topic=f"telemetry-{uuid.uuid4()}",
            data=data,
            authority=authority,
            files=authority.issue("server", "CN=localhost"),
            client=authority.issue("client", SUBJECT),
        )
