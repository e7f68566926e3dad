"""The rules with a client in front of them; the clock is a number."""

import uuid

import pytest
from kio.schema.errors import ErrorCode

from pipelines.bridge.telemetry.instances import ClientInstances, TelemetryLimits
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscriptions import parse_subscription

NOW = 1_700_000_000_000
NONE = ErrorCode.none


class Broker:
    def __init__(self, identity, push_request, *, limit=10, max_instances=10):
        self.identity, self.push_request = identity, push_request
        self.registry = SubscriptionRegistry()
        self.subscribe("s", metrics="a.", interval=1_000)
        self.made_ids = iter(())
        self.instances = ClientInstances(
            limits=TelemetryLimits(
                telemetry_max_bytes=limit,
                accepted_compression_types=(4,),
                max_client_instances=max_instances,
            ),
            registry=self.registry,
            make_uuid=lambda: next(self.made_ids, None) or uuid.uuid4(),
        )
        self.last = None

    def subscribe(self, name, *, metrics, interval, match=""):
        properties = {"metrics": metrics, "interval.ms": str(interval), "match": match}
        self.registry.put(parse_subscription(name, properties))

    def get(self, at, instance_id=None, connection_id=1):
        response = self.instances.get(
            instance_id, self.identity, connection_id=connection_id, now_ms=NOW + at
        )
        if response.error_code is NONE:
            self.last = response
        return response.error_code

    @property
    def id(self):
        return self.last.client_instance_id

    def request(self, *, subscription_id=None, instance_id=None, **content):
        current = self.last.subscription_id if self.last else 0
        return self.push_request(
            instance_id or self.id,
            current if subscription_id is None else subscription_id,
            **content,
        )

    def push(self, at, *, connection_id=1, **content):
        error, _ = self.instances.push(
            self.request(**content),
            self.identity,
            connection_id=connection_id,
            now_ms=NOW + at,
        )
        return error


@pytest.fixture
def make_broker(identity, push_request):
    """Build the rules: make_broker(limit=…, max_instances=…)."""
    return lambda **limits: Broker(identity, push_request, **limits)


@pytest.fixture
def broker(make_broker):
    return make_broker()
