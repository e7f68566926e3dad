"""Records of the telemetry topic as the bridge writes them."""

INSTANCE = "tpzDWnpUR5Cqacwr1O5FOA"
HEADERS = {
    "client_instance_id": INSTANCE,
    "client_id": "orders",
    "client_software_name": "apache-kafka-java",
    "client_software_version": "3.9.2",
    "principal": "User:alice",
    "listener": "PLAINTEXT",
    "client_source_address": "10.0.0.7",
    "client_source_port": "51234",
    "bridge_id": "bridge-1",
    "cluster_id": "4L6g3nShT-eMCtK--X86sw",
    "broker_id": "3",
    "received_at_ms": "1700000000123",
    "push_id": "push-1",
    "subscription_id": "-5",
    "push_interval_ms": "30000",
    "compression_type": "zstd",
    "terminating": "false",
}


def make_headers(without=(), **changes):
    """Return (name, bytes) pairs; a change may be text, bytes or None."""
    texts = {k: v for k, v in (HEADERS | changes).items() if k not in without}
    return [
        (k, v.encode("utf-8") if isinstance(v, str) else v) for k, v in texts.items()
    ]
