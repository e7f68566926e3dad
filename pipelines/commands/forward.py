"""forward: pushes go on to a collector, or to Prometheus."""

import logging
import signal
import threading

from .call import Call
from .options import CONFIG, ENV, SET, Command


def run(call: Call) -> int:
    """Forward until SIGINT or SIGTERM; what is not committed is sent again."""
    from pipelines.forwarder.run import Forwarder

    forwarder = Forwarder(call.read_settings(), call.make_secret_reader())
    logging.getLogger("pipelines.forwarder").setLevel(logging.INFO)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    forwarder.run(stop)
    return 0


COMMAND = Command(
    name="forward",
    help="Forward pushes to an OpenTelemetry collector or Prometheus",
    options=(ENV, CONFIG, SET),
    run=run,
)
