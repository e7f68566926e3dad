"""A bridge beside a real Kafka, in a thread of its own."""

import asyncio
import threading
import uuid
from contextlib import contextmanager

import uvloop

from pipelines.bridge.server import BridgeServer
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader

PATIENCE_S = 180


def make_settings(kafka, *changes):
    return load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.telemetry=telemetry-{uuid.uuid4()}",
            "topics.partitions=1",
            "bridge.listen_port=0",
            "subscriptions=[]",
            *changes,
        ],
    )


@contextmanager
def running_bridge(settings, *, accepted_cluster_id=None, **environ):
    """Run a bridge in a thread of its own; yields it and its endpoint."""
    server = BridgeServer(
        settings,
        SecretReader(environ=environ),
        accepted_cluster_id=accepted_cluster_id,
    )
    endpoints = []
    is_ready = threading.Event()
    stops = []

    async def serve():
        stops.append((asyncio.get_running_loop(), asyncio.Event()))

        def on_ready(host, port):
            endpoints.append(f"{host}:{port}")
            is_ready.set()

        await server.serve(stops[0][1], on_ready)

    # The bridge command uses uvloop, too. The loop of asyncio drops a connection, with
    # a warning, if its listener closes right after it was accepted.
    thread = threading.Thread(target=uvloop.run, args=(serve(),))
    thread.start()
    try:
        assert is_ready.wait(PATIENCE_S)
        yield server, endpoints[0]
    finally:
        loop, stop = stops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
