"""Prints the memory of many remembered client instances, and what one request costs.

`python tests/bench/client_instances.py [--instances N]`: each instance has a client id,
an address and a connection of its own; all have pushed once. Linux only.
"""

import argparse
import gc
import os
import sys
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.bridge.core.client_identity import ClientIdentity  # noqa: E402 - path
from pipelines.bridge.protocol.push_telemetry import PushRequest  # noqa: E402 - path
from pipelines.bridge.telemetry.instances import ClientInstances, TelemetryLimits  # noqa: E402 - path
from pipelines.bridge.telemetry.selections import SubscriptionRegistry  # noqa: E402 - path
from pipelines.bridge.telemetry.subscriptions import parse_subscription  # noqa: E402 - path

NOW_MS = 1_800_000_000_000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def read_resident_bytes():
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def make_identity(number):
    """Return an identity that shares with others only what real ones share."""
    return ClientIdentity(
        client_id=f"service-{number:08}-producer-1",
        client_software_name="apache-kafka-java",
        client_software_version="4.3.1",
        principal="User:service",
        listener="PLAINTEXT",
        client_source_address=f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
        client_source_port=20_000 + number % 40_000,
    )


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--instances", type=int, default=1_000_000)
    count = parser.parse_args().instances
    subscription = parse_subscription("s", {"metrics": "a.,b.", "interval.ms": "60000"})
    instances = ClientInstances(
        limits=TelemetryLimits(
            telemetry_max_bytes=1 << 20,
            accepted_compression_types=(4, 3, 1, 2),
            max_client_instances=count,
        ),
        registry=SubscriptionRegistry([subscription]),
        make_uuid=uuid.uuid4,
    )
    gc.collect()
    before_bytes, began_s = read_resident_bytes(), time.process_time()
    for number in range(count):
        identity = make_identity(number)
        answer = instances.get(None, identity, connection_id=number, now_ms=NOW_MS)
        push = PushRequest(
            client_instance_id=answer.client_instance_id.bytes,
            subscription_id=answer.subscription_id,
            terminating=False,
            compression_type=4,
            metrics=b"",
        )
        instances.push(push, identity, connection_id=number, now_ms=NOW_MS + 1)
    cost_s = time.process_time() - began_s
    held_bytes = read_resident_bytes() - before_bytes
    print(
        f"{len(instances):,} instances: {held_bytes / 1e6:,.0f} MB resident, "
        f"{held_bytes / count:,.0f} bytes each; "
        f"{cost_s / count * 1e6:.1f} us for a GET and a push of each"
    )


if __name__ == "__main__":
    main()
