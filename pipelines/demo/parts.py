"""What the demo and the site have in common: the bridge in this process, and words."""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from pipelines.bridge.server import BridgeServer
from pipelines.settings.places import ROOT_PATH
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

ROOT = ROOT_PATH
_STARTED = time.monotonic()


SETTINGS_FILE = "settings.toml"
"""Name of the file that later commands load with --config."""


def write_settings(
    folder: Path,
    bootstrap_servers: str,
    jobs: Iterable[str],
    bridge: Mapping[str, str] | None = None,
) -> None:
    """Write the settings by which later commands find what a demo made.

    Args:
        folder: Directory of the demo; paths in the file are relative to it.
        jobs: Streaming jobs that were run.
        bridge: More settings of the bridge, texts.
    """
    lines = [
        "# Settings of this demo, for --config.",
        "[kafka]",
        f'bootstrap_servers = "{bootstrap_servers}"',
        "[bridge]",
        "http_port = 0",
        *(f'{name} = "{value}"' for name, value in (bridge or {}).items()),
        "[tables]",
        'root_path = "tables"',
        "[watching]",
        "jobs_http_port = 0",
        "# A demo has no nightly maintenance.",
        "max_run_age_hours = 0",
    ]
    for job in jobs:
        lines += [f"[{job}]", f'checkpoint_location = "checkpoints/{job}"']
    text = "\n".join([*lines, ""])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS_FILE).write_text(text, encoding="utf-8")


def quieten() -> None:
    """Keep the parts' own logs off the screen; what matters reaches it as errors."""
    logging.getLogger("pipelines").setLevel(logging.CRITICAL)


def say(text: str) -> None:
    """Print progress with the time since the start, next to the results."""
    elapsed_s = time.monotonic() - _STARTED
    print(f"[{elapsed_s:4.0f} s] {text}", file=sys.stderr, flush=True)


@contextmanager
def running_bridge(settings: Settings) -> Iterator[str]:
    """Run the bridge in a thread of its own; yield where its proxy listens.

    Raises: PipelineError, as the bridge raised it.
    """
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    ready: Future[str] = Future()
    server = BridgeServer(settings, SecretReader(environ={}))

    def serve() -> None:
        try:
            loop.run_until_complete(
                server.serve(stop, lambda *_: ready.set_result(_find_proxy(server)))
            )
        except BaseException as error:
            # Whatever it is, the demo waits for it to be said.
            if ready.done():
                raise
            ready.set_exception(error)
        finally:
            loop.close()

    thread = threading.Thread(target=serve, name="bridge")
    thread.start()
    try:
        yield ready.result()
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        thread.join()


def _find_proxy(server: BridgeServer) -> str:
    """Return where clients find the cluster, as bootstrap.servers."""
    if server.proxy is None:
        raise ValueError("the demo's bridge is a proxy")
    return server.proxy.bootstrap_servers
