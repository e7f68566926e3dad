"""feed: the cluster metadata export, without a bridge."""

import logging
import sys
from typing import TYPE_CHECKING

from pipelines.errors import InvalidSetting
from pipelines.settings.cluster_settings import OFF

from .bridge import ACCEPT_CLUSTER_ID, stop_on_signals
from .call import Call
from .options import CONFIG, ENV, SET, Command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.bridge.operations.pages import MakePage
    from pipelines.feed.part import FeedPart
    from pipelines.settings.records import BridgeSettings

_HTTP_KEYS = "bridge.http_host and bridge.http_port"
_NO_HTTP_PORT = -1


def run(call: Call) -> int:
    """Export cluster metadata until SIGINT or SIGTERM.

    Raises: InvalidSetting, MissingService, UnresolvedSecret.
    """
    import asyncio

    from pipelines.bridge.operations.logs import make_handler
    from pipelines.feed.part import FeedPart
    from pipelines.log_times import read_clock_ms
    from pipelines.settings.clients_cluster import find_clients_cluster
    from pipelines.settings.kafka import publisher_config

    settings, secrets = call.read_settings(), call.make_secret_reader()
    if settings.cluster.source == OFF:
        raise InvalidSetting(
            "cluster.source: must name a source, got off. Set admin_api or metadata_log"
        )
    section, clients_kafka = find_clients_cluster(settings)
    part = FeedPart(
        settings,
        secrets,
        kafka=publisher_config(settings.kafka, secrets),
        connection=publisher_config(clients_kafka, secrets, key_prefix=f"{section}."),
        now_ms=read_clock_ms,
        accepted_cluster_id=call.arguments.accept_cluster_id,
    )
    handler = make_handler(settings.bridge.log_format, sys.stderr)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    asyncio.run(_serve(part, settings.bridge))
    return 0


async def _serve(part: "FeedPart", bridge: "BridgeSettings") -> None:
    import asyncio
    from contextlib import ExitStack

    from pipelines.bridge.front.listening import bind_listener
    from pipelines.bridge.operations.pages import HttpListener

    stop = asyncio.Event()
    stop_on_signals(stop)
    http = HttpListener(_make_pages(part))
    with ExitStack() as bound:
        if bridge.http_port != _NO_HTTP_PORT:
            listener = bind_listener(
                bridge.http_host, bridge.http_port, keys=_HTTP_KEYS
            )
            await http.start(bound.enter_context(listener))
            host, port = listener.getsockname()[:2]
            print(f"metrics and health: http://{host}:{port}/", flush=True)
        try:
            await part.prepare()
            async with asyncio.TaskGroup() as group:
                running = group.create_task(part.run())
                await stop.wait()
                running.cancel()
        finally:
            await part.close()
            http.close()


def _make_pages(part: "FeedPart") -> "Mapping[str, MakePage]":
    from http import HTTPStatus

    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
    from prometheus_client.process_collector import ProcessCollector

    from pipelines.bridge.operations.pages import Page
    from pipelines.bridge.operations.watch import Collected

    process = ProcessCollector(registry=None)

    async def make_metrics(_accept: str) -> Page:
        families = Collected([*part.metrics(), *process.collect()])
        return Page(
            status=HTTPStatus.OK,
            body=generate_latest(families),
            content_type=CONTENT_TYPE_LATEST,
        )

    async def make_health(_accept: str) -> Page:
        return Page(status=HTTPStatus.OK, body=b"ok\n")

    return {"/metrics": make_metrics, "/healthz": make_health, "/readyz": make_health}


COMMAND = Command(
    name="feed",
    help="Export cluster metadata to its topic, without a bridge",
    options=(ENV, CONFIG, SET, ACCEPT_CLUSTER_ID),
    run=run,
)
