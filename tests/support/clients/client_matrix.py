"""Stock clients of each kind push through proxies, by each security protocol."""

import contextlib
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from types import SimpleNamespace

from confluent_kafka import libversion, version

from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.proxy_support import find_servers
from tests.support.bridge.push_reader import PushReader
from tests.support.clients.client_site import PASSWORD, PRINCIPALS
from tests.support.clients.java_programs import find_streams_jars, program_command
from tests.support.clients.librdkafka_clients import librdkafka_clients

PATIENCE_S = 240
PUSHES = 2
"""Of each client before it is closed."""
LIBRDKAFKA = "librdkafka"
TOLD_ADMIN = "told-admin"
"""An admin of Java with enable.metrics.push=true, which the older release ignores."""
LIBRDKAFKA_KINDS = ("producer", "classic", "consumer", "share", "admin")
JAVA_KINDS = {
    "3.9.2": ("producer", "classic", "consumer", "admin", "streams"),
    "4.3.1": (
        *("producer", "classic", "consumer", "share", "admin", TOLD_ADMIN, "streams"),
    ),
}
"""What of each release is tried; classic and consumer are the two group protocols."""
KINDS = (*LIBRDKAFKA_KINDS, TOLD_ADMIN, "streams")
STREAMS_CLIENTS = ("StreamThread-1-producer", "StreamThread-1-consumer")
"""What one Streams application is made of, behind its own client id."""
SILENT = frozenset({("3.9.2", "admin"), ("4.3.1", "admin")})
"""What pushes nothing unless it is told to."""
JAVA, PYTHON = "apache-kafka-java", "confluent-kafka-python"


@dataclass(frozen=True, kw_only=True)
class Client:
    """One client, as its rows must say."""

    client_id: str
    protocol: str
    release: str
    kind: str

    @property
    def is_silent(self):
        """Whether it is known to push nothing."""
        return (self.release, self.kind) in SILENT

    @property
    def identity(self):
        """Return what its rows say of it beside its client id."""
        principal = PRINCIPALS[self.protocol]
        if self.release in JAVA_KINDS:
            return JAVA, self.release, principal
        release = f"{version()}-rdkafka-{libversion()[0]}"
        return PYTHON, release, principal


def list_clients(protocols, releases, kinds=KINDS):
    """Return every client of these protocols, releases and kinds."""
    return [
        Client(
            client_id=f"{name_client(protocol, release, kind)}{part}",
            protocol=protocol,
            release=release,
            kind=kind,
        )
        for protocol in protocols
        for release in (LIBRDKAFKA, *releases)
        for kind in list_kinds(release, kinds)
        for part in list_parts(kind)
    ]


def list_kinds(release, kinds):
    """Return those of some kinds that a release has."""
    return [one for one in JAVA_KINDS.get(release, LIBRDKAFKA_KINDS) if one in kinds]


def list_parts(kind):
    """Return what follows its client id in those of the clients it is made of."""
    return [f"-{part}" for part in STREAMS_CLIENTS] if kind == "streams" else [""]


def of_release(clients, release):
    return [one for one in clients if one.release == release]


def name_client(protocol, release, kind):
    return f"{protocol}-{release}-{kind}"


def push_through(java, site, clients, log):
    """Let each client push through the proxy of its protocol, then close them all.

    Returns: the pushes, by client id, read until the last of them.
    """
    wanted = {one.client_id for one in clients if not one.is_silent}
    protocols = dict.fromkeys(one.protocol for one in clients)
    releases = dict.fromkeys(one.release for one in clients)
    with contextlib.ExitStack() as stack:
        servers = {
            protocol: stack.enter_context(proxied(site, protocol))
            for protocol in protocols
        }
        reader = PushReader(SimpleNamespace(bootstrap_servers=site.servers), site.topic)
        stack.callback(reader.close)
        processes = [
            stack.enter_context(
                java_clients(java, site, servers, of_release(clients, release), log)
            )
            for release in releases
            if release != LIBRDKAFKA
        ]
        with librdkafka_clients(site, servers, of_release(clients, LIBRDKAFKA)):
            reader.read_until(
                lambda: all(
                    len(reader.clients[name].headers) >= PUSHES for name in wanted
                ),
                PATIENCE_S,
            )
        for process in processes:
            process.communicate(b"\n", timeout=PATIENCE_S)
            assert process.returncode == 0
        reader.read_to_end()
    return reader.clients


@contextlib.contextmanager
def proxied(site, protocol):
    """Run a proxy for one protocol; yield bootstrap.servers."""
    settings = site.proxy_settings(protocol)
    with running_bridge(settings, UPSTREAM_PASSWORD=PASSWORD) as (server, _):
        host = settings.proxy.advertised_host or "127.0.0.1"
        yield find_servers(server).replace("127.0.0.1", host)


@contextlib.contextmanager
def java_clients(java, site, servers, clients, log):
    """Run the clients of one release in one process, which a line ends."""
    release = clients[0].release
    made = dict.fromkeys((one.protocol, one.kind) for one in clients)
    files = [
        write_properties(site, servers[protocol], protocol, release, kind)
        for protocol, kind in made
    ]
    command = program_command(java, find_streams_jars(release), "PushThrough", *files)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def write_properties(site, servers, protocol, release, kind):
    """Write the file of one Java client; return its path."""
    name = name_client(protocol, release, kind)
    path = site.folder / f"{name}.properties"
    values = {
        "bootstrap.servers": servers,
        "client.id": name,
        "test.kind": kind,
        "test.topic": site.data,
        **site.java_config(protocol),
    }
    if kind in {"classic", "consumer", "share"}:
        values["group.id"] = name
    if kind in {"classic", "consumer"}:
        values["group.protocol"] = kind
    if kind == TOLD_ADMIN:
        values |= {"test.kind": "admin", "enable.metrics.push": "true"}
    if kind == "streams":
        values |= {
            "application.id": name,
            "state.dir": str(site.folder / "state"),
            "dsl.store.suppliers.class": "org.apache.kafka.streams.state."
            "BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers",
        }
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return str(path)


def count_points(spark, settings, contract):
    """Return data points by client id and by what rows say of that client."""
    from pipelines.delta_tables.locations import identify_table

    table = spark.table(identify_table(spark, settings.tables, contract))
    columns = ("client_software_name", "client_software_version", "principal")
    grouped = table.groupBy("client_id", *columns).count().collect()
    counts = defaultdict(dict)
    for client_id, *identity, count in map(tuple, grouped):
        counts[client_id][tuple(identity)] = count
    return dict(counts)
