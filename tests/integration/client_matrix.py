"""Stock clients of each kind push through proxies, by each security protocol."""

import contextlib
import subprocess
import threading
from collections import defaultdict
from dataclasses import dataclass
from types import SimpleNamespace

from confluent_kafka import Consumer, Producer, ShareConsumer, libversion, version
from confluent_kafka.admin import AdminClient

from tests.integration.bridge_support import running_bridge
from tests.integration.client_site import PASSWORD, PRINCIPALS
from tests.integration.java_programs import find_streams_jars, program_command
from tests.integration.proxy_support import QUIET, find_servers
from tests.integration.push_reader import PushReader

PATIENCE_S = 120
PUSHES = 2
"""Of each client before it is closed."""
LIBRDKAFKA = "librdkafka"
LIBRDKAFKA_KINDS = ("producer", "classic", "consumer", "share", "admin")
JAVA_KINDS = {
    "3.9.2": ("producer", "classic", "consumer", "admin", "streams"),
    "4.3.1": ("producer", "classic", "consumer", "share", "admin", "streams"),
}
"""What of each release is tried; classic and consumer are the two group protocols."""
STREAMS_CLIENTS = ("StreamThread-1-producer", "StreamThread-1-consumer")
"""What one Streams application is made of, behind its own client id."""
SILENT = frozenset({("3.9.2", "admin"), ("4.3.1", "admin")})
"""What pushes nothing unless it is told to: enable.metrics.push is false there."""
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
        who = PRINCIPALS[self.protocol], self.protocol
        if self.release in JAVA_KINDS:
            return (JAVA, self.release, *who)
        release = f"{version()}-librdkafka-{libversion()[0]}"
        return (PYTHON, release, *who)


def list_clients(protocols, releases):
    """Return every client of these protocols and releases."""
    return [
        Client(
            client_id=f"{name_client(protocol, release, kind)}{part}",
            protocol=protocol,
            release=release,
            kind=kind,
        )
        for protocol in protocols
        for release in (LIBRDKAFKA, *releases)
        for kind in JAVA_KINDS.get(release, LIBRDKAFKA_KINDS)
        for part in list_parts(kind)
    ]


def list_parts(kind):
    """Return what follows its client id in those of the clients it is made of."""
    return [f"-{part}" for part in STREAMS_CLIENTS] if kind == "streams" else [""]


def name_client(protocol, release, kind):
    return f"{protocol}-{release}-{kind}"


def push_through(java, site, *, protocols, releases, log):
    """Let each client push through the proxy of its protocol, then close them all.

    Returns: the pushes, by client id, read until the last of them.
    """
    clients = list_clients(protocols, releases)
    wanted = {one.client_id for one in clients if not one.is_silent}
    with contextlib.ExitStack() as stack:
        servers = {
            protocol: stack.enter_context(proxied(site, protocol))
            for protocol in protocols
        }
        reader = PushReader(SimpleNamespace(bootstrap_servers=site.servers), site.topic)
        stack.callback(reader.close)
        processes = [
            stack.enter_context(java_clients(java, site, servers, release, log))
            for release in releases
        ]
        with librdkafka_clients(site, servers):
            reader.read_until(
                lambda: all(
                    len(reader.clients[name].headers) >= PUSHES for name in wanted
                )
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
def java_clients(java, site, servers, release, log):
    """Run the clients of one release in one process, which a line ends."""
    files = [
        write_properties(site, servers[protocol], protocol, release, kind)
        for protocol in servers
        for kind in JAVA_KINDS[release]
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
    if kind == "streams":
        values |= {
            "application.id": name,
            "state.dir": str(site.folder / "state"),
            "dsl.store.suppliers.class": "org.apache.kafka.streams.state."
            "BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers",
        }
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return str(path)


@contextlib.contextmanager
def librdkafka_clients(site, servers):
    """Use librdkafka's clients, all in one thread, during a block."""
    used = []
    for protocol, one in servers.items():
        config = {"bootstrap.servers": one, **site.librdkafka_config(protocol)}
        for kind in LIBRDKAFKA_KINDS:
            name = name_client(protocol, LIBRDKAFKA, kind)
            used.append(USES[kind](site, kind, {**config, "client.id": name}))
    is_over, errors = threading.Event(), []

    def use():
        try:
            while not is_over.is_set():
                for step, _ in used:
                    step()
            for _, close in used:
                close()
        except Exception as error:  # noqa: BLE001 - told where the block ends
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(PATIENCE_S)
    assert errors == []


def use_producer(site, _kind, config):
    """Return what uses a client once, and what closes it; so do the others."""
    producer = Producer(config, logger=QUIET)

    def step():
        producer.produce(site.data, b"value")
        producer.poll(0.01)

    return step, lambda: producer.flush(PATIENCE_S)


def use_consumer(site, kind, config):
    group = {"group.id": config["client.id"], "group.protocol": kind}
    consumer = Consumer(config | group, logger=QUIET)
    consumer.subscribe([site.data])
    return lambda: consumer.poll(0.01), consumer.close


def use_share_consumer(site, _kind, config):
    consumer = ShareConsumer(config | {"group.id": config["client.id"]}, logger=QUIET)
    consumer.subscribe([site.data])
    return lambda: consumer.poll(0.01), consumer.close


def use_admin(_site, _kind, config):
    admin = AdminClient(config, logger=QUIET)
    return lambda: admin.list_topics(timeout=PATIENCE_S), lambda: None


USES = {
    "producer": use_producer,
    "classic": use_consumer,
    "consumer": use_consumer,
    "share": use_share_consumer,
    "admin": use_admin,
}


def count_points(spark, settings, contract):
    """Return data points by client id and by what rows say of that client."""
    from pipelines.table_locations import identify_table

    table = spark.table(identify_table(spark, settings.tables, contract))
    columns = ("client_software_name", "client_software_version", "principal")
    grouped = table.groupBy("client_id", *columns, "listener").count().collect()
    counts = defaultdict(dict)
    for client_id, *identity, count in map(tuple, grouped):
        counts[client_id][tuple(identity)] = count
    return dict(counts)
