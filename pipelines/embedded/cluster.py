"""A real Apache Kafka for demo and tests: KRaft, loopback, a folder of its own."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from pipelines.errors import EmbeddedKafkaError

from .broker import Broker
from .certificates import CA_NAME
from .cluster_options import ClusterOptions
from .installation import CACHE_PATH, JARS_PATH, find_installation
from .log_lines import is_port_clash, last_useful_lines
from .ports import LOOPBACK
from .server_properties import PLAINTEXT
from .starting import (
    Credentials,
    make_credentials,
    make_folder,
    pick_cluster_ports,
    wait_until_ready,
)
from .storage import new_kafka_uuid, write_storage

_START_ATTEMPTS = 5
# A broker that will start again hands its partitions over and closes its log.
_RESTART_TIMEOUT_S = 15.0
# Brokers that stop together have lost their quorum and would wait 5 s for it; what
# they would save is about to be removed.
_STOP_TIMEOUT_S = 2.0


class EmbeddedKafka:
    """A cluster of brokers, each a controller of the quorum too.

    Use it as a context manager. The brokers end with the process that started them,
    however that ends.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        security_protocol: str = PLAINTEXT,
        users: Mapping[str, str] | None = None,
        folder: Path | None = None,
        port: int = 0,
        java: str = "java",
        jars_path: Path = JARS_PATH,
        cache_path: Path = CACHE_PATH,
        broker_properties: Mapping[str, str] | None = None,
    ) -> None:
        """Check the arguments, which ClusterOptions explains; nothing starts yet.

        Raises: EmbeddedKafkaError, naming the argument that cannot be used.
        """
        self.options = ClusterOptions(
            brokers=brokers,
            security_protocol=security_protocol,
            users=users or {},
            folder=folder,
            port=port,
            java=java,
            jars_path=jars_path,
            cache_path=cache_path,
            broker_properties=broker_properties or {},
        )
        self._ids = range(1, brokers + 1)
        self._folder: Path | None = None
        self._credentials = Credentials(bootstrap=b"")
        self._brokers: dict[int, Broker] = {}

    @property
    def folder(self) -> Path:
        """Folder of the cluster, from its start until its stop."""
        if self._folder is None:
            raise EmbeddedKafkaError("embedded Kafka: it has not been started")
        return self._folder

    @property
    def bootstrap_servers(self) -> str:
        """Clients' listeners, as host:port,host:port."""
        return _join_servers(one.ports.client for one in self._brokers.values())

    @property
    def controller_bootstrap_servers(self) -> str:
        """Listeners of the quorum, plain text, as host:port,host:port."""
        return _join_servers(one.ports.controller for one in self._brokers.values())

    @property
    def log_path(self) -> Path:
        """File that all brokers write their warnings and errors to."""
        return self.folder / "kafka.log"

    @property
    def ca_path(self) -> Path:
        """PEM file that clients of SASL_SSL trust."""
        return self.folder / CA_NAME

    @property
    def pids(self) -> dict[int, int]:
        """Process ids of the JVMs that run, by broker id."""
        return {number: one.pid for number, one in self._brokers.items() if one.pid}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start all brokers; return when each serves and knows the others.

        Raises: EmbeddedKafkaError, with the last lines of the log.
        """
        if self._folder is not None:
            raise EmbeddedKafkaError("embedded Kafka: it has been started already")
        try:
            self._prepare()
            self._start_brokers()
        except OSError as error:
            self.stop()
            place = error.filename or "a file"
            raise EmbeddedKafkaError(
                f"embedded Kafka: {place}: {error.strerror}"
            ) from None
        except BaseException:
            self.stop()
            raise

    def _prepare(self) -> None:
        options = self.options
        installation = find_installation(
            options.java, options.jars_path, options.cache_path
        )
        self._folder = make_folder(options.folder)
        self._credentials = make_credentials(installation, self._folder, options.users)
        cluster_id = new_kafka_uuid()
        for number in self._ids:
            path = self._folder / f"broker-{number}"
            write_storage(path, number, cluster_id, self._credentials.bootstrap)
            self._brokers[number] = Broker(installation, path, self.log_path)

    def _start_brokers(self) -> None:
        """Start all; with ports of our choice again when another process took one."""
        attempts_left = 1 if self.options.port else _START_ATTEMPTS
        while True:
            attempts_left -= 1
            self._configure()
            self.log_path.write_bytes(b"")
            for broker in self._brokers.values():
                broker.start(remove_path=self._removable_path)
            fault = wait_until_ready(self._brokers, self._ids, self._credentials.tls)
            if fault is None:
                return
            self._kill_all()
            if not attempts_left or not is_port_clash(self._read_log()):
                raise self._failure(fault)

    def _configure(self) -> None:
        cluster = pick_cluster_ports(self._ids, self.options.port)
        for ports in cluster:
            self._brokers[ports.broker_id].configure(
                ports,
                cluster,
                self._credentials.keystore,
                self.options.broker_properties,
            )

    @property
    def _removable_path(self) -> Path | None:
        """The folder, if it is ours to remove."""
        return self._folder if self.options.folder is None else None

    def check(self) -> None:
        """Raise EmbeddedKafkaError if a broker has ended that nobody asked to end."""
        for number, broker in self._brokers.items():
            if broker.has_failed():
                fault = f"broker {number} ended with {broker.exit_code}"
                raise self._failure(fault)

    def kill(self, broker: int) -> None:
        """End one broker as a power cut would (SIGKILL); its data stays."""
        self._brokers[broker].kill()

    def restart(self, broker: int, properties: Mapping[str, str] | None = None) -> None:
        """Start one broker again on its ports and data, ended in order before.

        Args:
            broker: Its id.
            properties: Broker configs that this one has from now on, beside those of
                the cluster.
        Raises: EmbeddedKafkaError, when it is not ready in time.
        """
        one = self._brokers[broker]
        one.terminate()
        one.wait(_RESTART_TIMEOUT_S)
        if properties is not None:
            one.configure(
                one.ports,
                [each.ports for each in self._brokers.values()],
                self._credentials.keystore,
                {**self.options.broker_properties, **properties},
            )
        one.start(remove_path=self._removable_path)
        fault = wait_until_ready(self._brokers, [broker], self._credentials.tls)
        if fault is not None:
            one.kill()
            raise self._failure(fault)

    def stop(self) -> None:
        """End all brokers and remove the temporary folder; safe to call again."""
        try:
            for broker in self._brokers.values():
                broker.terminate()
            for broker in self._brokers.values():
                broker.wait(_STOP_TIMEOUT_S)
        finally:
            self._kill_all()
            if self._removable_path is not None:
                shutil.rmtree(self._removable_path, ignore_errors=True)
            self._brokers = {}
            self._folder = None

    def _kill_all(self) -> None:
        for broker in self._brokers.values():
            broker.kill()

    def _read_log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def _failure(self, fault: str) -> EmbeddedKafkaError:
        keystore = self._credentials.keystore
        secrets = [
            *self.options.users.values(),
            *([keystore.password] if keystore else []),
        ]
        lines = last_useful_lines(self._read_log(), secrets)
        return EmbeddedKafkaError(f"embedded Kafka: {fault}; its log ends: {lines}")


def _join_servers(ports: Iterable[int]) -> str:
    return ",".join(f"{LOOPBACK}:{port}" for port in ports)
