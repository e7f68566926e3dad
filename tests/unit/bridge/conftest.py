"""Requests as kio writes them: readers here are checked against another's writer."""

import io
import struct
import uuid

import pytest
from kio.index import load_request_schema
from kio.serial import entity_writer

from pipelines.bridge.core.client_identity import ClientIdentity
from pipelines.bridge.protocol.push_telemetry import PushRequest


def encode(*messages):
    buffer = io.BytesIO()
    for message in messages:
        entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def make_frame(body, correlation_id=7, client_id="app-1", *, trailing=b""):
    header = body.__header_schema__(
        request_api_key=body.__api_key__,
        request_api_version=body.__version__,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    payload = encode(header, body) + trailing
    return struct.pack(">i", len(payload)) + payload


@pytest.fixture(scope="session")
def frame():
    """Build one request with its size: frame(body, correlation_id, client_id)."""
    return make_frame


@pytest.fixture(scope="session")
def request_schema():
    """Find kio's request type: request_schema(api_key, api_version)."""
    return load_request_schema


@pytest.fixture
def identity():
    return ClientIdentity(
        client_id="producer-1",
        client_software_name="apache-kafka-java",
        client_software_version="3.5.2",
        principal="User:ANONYMOUS",
        listener="PLAINTEXT",
        client_source_address="127.0.0.1",
        client_source_port=50_123,
    )


@pytest.fixture(scope="session")
def push_request():
    """Build a push: push_request(client_instance_id, subscription_id, …)."""

    def build(
        instance_id,
        subscription_id=0,
        *,
        compression_type=0,
        metrics=b"abc",
        terminating=False,
    ):
        return PushRequest(
            client_instance_id=bytes(16) if instance_id is None else instance_id.bytes,
            subscription_id=subscription_id,
            terminating=terminating,
            compression_type=compression_type,
            metrics=metrics,
        )

    return build


@pytest.fixture(scope="session")
def instance_id():
    return uuid.UUID("b69cc35a-7a54-4790-aa69-cc2bd4ee4538")
