"""bridge: the endpoint that clients push to, and the proxy."""

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pipelines.errors import PipelineError
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

from .call import Call
from .failures import EXIT_INTERRUPTED, EXIT_TERMINATED
from .options import CONFIG, ENV, SET, Command, option

if TYPE_CHECKING:
    import asyncio

_BESIDE_PROXY = " (only for pushes: to produce or consume, use bootstrap.servers above)"
ACCEPT_CLUSTER_ID = option(
    "--accept-cluster-id",
    "Publish this cluster ID even if the address had another cluster before",
    metavar="ID",
)
RARE_COLLECTIONS = (50_000, 100, 1_000)
"""Thresholds of Python's garbage collector, by generation."""


def run(call: Call) -> int:
    """Serve clients until SIGINT or SIGTERM; the second one does not wait for them."""
    from pipelines.bridge.operations.logs import make_handler
    from pipelines.bridge.proxy.rules.plan import plan_proxy
    from pipelines.bridge.workers import run_workers

    settings, secrets = call.read_settings(), call.make_secret_reader()
    handler = make_handler(settings.bridge.log_format, sys.stderr)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)

    def say_bootstrap(servers: str) -> None:
        print(f"bootstrap.servers={servers}", flush=True)

    def say_endpoint(host: str, port: int) -> None:
        use = _BESIDE_PROXY if settings.proxy.enabled else ""
        print(f"bridge: {host}:{port}{use}", flush=True)

    def say_pages(url: str) -> None:
        print(f"metrics and health: {url}", flush=True)

    def say_both(host: str, port: int) -> None:
        if settings.proxy.enabled:
            plan = plan_proxy(settings)
            say_bootstrap(plan.bootstrap_servers(plan.base_port))
        say_endpoint(host, port)

    accepted = call.arguments.accept_cluster_id
    if settings.bridge.workers > 1:
        worker = partial(_run_worker, secrets, accepted)
        return run_workers(settings, worker, say_both)
    return _run_one(
        secrets,
        accepted,
        settings,
        say_endpoint,
        on_bootstrap=say_bootstrap,
        on_pages=say_pages,
    )


def _run_worker(
    secrets: SecretReader,
    accepted_cluster_id: str | None,
    settings: Settings,
    on_ready: Callable[[str, int], None],
) -> int:
    """Serve clients from a process that was forked; nobody catches what it raises."""
    try:
        return _run_one(secrets, accepted_cluster_id, settings, on_ready)
    except PipelineError as error:
        print(f"kafka-clientele: {error}", file=sys.stderr)
        return error.exit_code


def _run_one(
    secrets: SecretReader,
    accepted_cluster_id: str | None,
    settings: Settings,
    on_ready: Callable[[str, int], None],
    *,
    on_bootstrap: Callable[[str], None] = lambda _servers: None,
    on_pages: Callable[[str], None] = lambda _url: None,
) -> int:
    """Serve clients from this process until SIGINT or SIGTERM."""
    import asyncio

    from pipelines.bridge.server import BridgeServer

    server = BridgeServer(
        settings,
        secrets,
        on_bootstrap=on_bootstrap,
        on_pages=on_pages,
        accepted_cluster_id=accepted_cluster_id,
    )

    async def serve() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        await server.serve(stop, on_ready)

    import uvloop

    # A look through a million client instances would stop the loop for a second, and
    # requests leave next to nothing behind that only such a look could find.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)
    # A connection takes half the memory that asyncio's own loop needs.
    uvloop.run(serve())
    return 0


def stop_on_signals(stop: "asyncio.Event") -> None:
    """Set stop at SIGINT or SIGTERM; the second signal exits at once."""
    import asyncio

    def end(exit_code: int) -> None:
        if stop.is_set():
            os._exit(exit_code)
        stop.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, end, EXIT_INTERRUPTED)
    loop.add_signal_handler(signal.SIGTERM, end, EXIT_TERMINATED)


COMMAND = Command(
    name="bridge",
    help="Run the endpoint that clients push telemetry to",
    options=(ENV, CONFIG, SET, ACCEPT_CLUSTER_ID),
    run=run,
)
