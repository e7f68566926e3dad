import pytest
from kio.schema.push_telemetry.v0.request import PushTelemetryRequest


@pytest.fixture(scope="session")
def push_request():
    """Build a push to be written by kio: push_request(client_instance_id, …)."""

    def build(instance_id, subscription_id=0, **values):
        fields = {"terminating": False, "compression_type": 0, "metrics": b"abc"}
        return PushTelemetryRequest(
            client_instance_id=instance_id,
            subscription_id=subscription_id,
            **{**fields, **values},
        )

    return build
