"""Running clients of the site: each in a thread, until it is stopped."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import confluent_kafka

from pipelines.clients import Consumer, Producer
from pipelines.errors import DemoIncomplete
from pipelines.settings.places import ROOT_PATH

from .clients import PRODUCER, expect_error, make_quiet
from .java_clients import JavaClients
from .site_plan import Family, SiteClient

_POLL_S = 0.2
_POLL_MS = 200
_PATIENCE_S = 120
_FLUSH_S = 5.0
_KEYS = 16
"""Different keys of records, so that every partition has some."""

Send = Callable[[str, str], None]


class RunningClient:
    """A client that exchanges records, through the proxy, until it is stopped."""

    def __init__(
        self, client: SiteClient, servers: str, java: JavaClients, folder: Path
    ) -> None:
        """Start it."""
        self.client = client
        self._configs = {
            "bootstrap.servers": servers,
            "client.id": client.client_id,
            **({"group.id": client.group_id} if client.group_id else {}),
            **client.configs,
        }
        self._java, self._folder = java, folder
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._fault: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, name=client.client_id, daemon=True
        )
        self._thread.start()

    def check(self) -> None:
        """Wait until it runs.

        Raises: DemoIncomplete where it does not, or has ended by itself.
        """
        is_running = self._ready.wait(_PATIENCE_S) and self._fault is None
        if not is_running:
            told = "it does not start" if self._fault is None else repr(self._fault)
            raise DemoIncomplete(
                f"the client {self.client.client_id} of the site: {told}"
            ) from self._fault

    def stop(self) -> None:
        """Close it in order."""
        self._stop.set()
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        is_producer = self.client.client_type == PRODUCER
        try:
            if self.client.family is Family.JAVA:
                (self._produce_java if is_producer else self._consume_java)()
            else:
                (self._produce if is_producer else self._consume)()
        except Exception as error:  # noqa: BLE001 - check() says it
            self._fault = error
        finally:
            self._ready.set()

    def _produce(self) -> None:
        is_library = self.client.family is Family.LIBRARY
        producer = (Producer if is_library else confluent_kafka.Producer)(
            {**self._configs, "logger": make_quiet(), "error_cb": expect_error}
        )

        def send(key: str, value: str) -> None:
            try:
                producer.produce(self.client.topic, value, key=key)
            except BufferError:
                # A quota holds it back: what does not fit is not sent.
                producer.poll(_POLL_S)
            producer.poll(0)

        self._send_paced(send)
        producer.flush(_FLUSH_S)

    def _consume(self) -> None:
        is_library = self.client.family is Family.LIBRARY
        consumer = (Consumer if is_library else confluent_kafka.Consumer)(
            {**self._configs, "logger": make_quiet(), "error_cb": expect_error}
        )
        consumer.subscribe([self.client.topic])
        self._ready.set()
        while not self._stop.is_set():
            consumer.poll(_POLL_S)
        consumer.close()

    def _produce_java(self) -> None:
        producer = self._java.make_producer(self._configs)
        try:
            self._tell_configs(producer, lambda: None)
            self._send_paced(
                lambda key, value: self._java.send(
                    producer, self.client.topic, key, value
                )
            )
        finally:
            producer.close()

    def _consume_java(self) -> None:
        consumer = self._java.make_consumer(self._configs, self.client.topic)
        try:
            self._tell_configs(consumer, lambda: self._java.poll(consumer, _POLL_MS))
            self._ready.set()
            while not self._stop.is_set():
                self._java.poll(consumer, _POLL_MS)
        finally:
            consumer.close()

    def _tell_configs(self, client: object, poll: Callable[[], None]) -> None:
        """Push the configuration, as a Java client of KIP-1324 would by itself."""
        deadline = time.monotonic() + _PATIENCE_S
        while (found := self._java.read_instance_id(client, _POLL_MS)) is None:
            if time.monotonic() > deadline:
                raise DemoIncomplete("it is given no client instance id")
            poll()
        path = self._folder / f"{self.client.client_id}.properties"
        lines = (f"{name}={value}\n" for name, value in self._configs.items())
        path.write_text("".join(lines), encoding="latin-1")
        command = [
            *(sys.executable, "-m", "pipelines", "push-config"),
            *("--properties", str(path), "--client-type", self.client.client_type),
            *("--client-instance-id", found),
        ]
        done = subprocess.run(
            command,
            cwd=ROOT_PATH,
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
        )
        if done.returncode:
            raise DemoIncomplete(done.stderr.strip())

    def _send_paced(self, send: Send) -> None:
        """Send records at the client's rate until it is to stop."""
        self._ready.set()
        began, number = time.monotonic(), 0
        padding = "x" * self.client.value_bytes
        while not self._stop.is_set():
            for _ in range(self.client.records_at_once):
                number += 1
                send(f"{number % _KEYS}", f"{number} {padding}")
            due = began + number / self.client.records_per_s
            self._stop.wait(max(due - time.monotonic(), 0))
