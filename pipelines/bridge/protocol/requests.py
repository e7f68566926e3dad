"""Requests out of frames.

Strategy: `parse_request` reads header and body by API key and version. Whole requests
come back as kio's message types. Bytes behind a request's last field are ignored, as
Apache Kafka's brokers do (seen on 4.3.1). A bad request raises MalformedBytes, one
that is not served raises UnsupportedRequest; both are the end of that connection only.
Source: Kafka protocol guide, "Request Header"; KIP-482; KIP-511; KIP-714.
"""

import struct
from typing import NamedTuple, cast

from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.metadata.v13.request import MetadataRequest, MetadataRequestTopic
from kio.schema.types import TopicName

from pipelines.kafka_client.primitives import Cursor, MalformedBytes

from .api_keys import (
    API_VERSIONS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    METADATA,
    ServedApi,
    ServedApis,
    index_apis,
)
from .errors import UnsupportedRequest
from .push_telemetry import PUSH_TELEMETRY_API
from .software import api_versions_api

_HEADER = struct.Struct(">hhi")
_FIRST_FLEXIBLE_METADATA = 9
_FIRST_METADATA_WITH_NULL_TOPICS = 1
_FIRST_METADATA_WITH_AUTO_CREATION = 4
_METADATA_WITH_CLUSTER_OPERATIONS = range(8, 11)
_FIRST_METADATA_WITH_TOPIC_OPERATIONS = 8
_FIRST_METADATA_WITH_TOPIC_IDS = 10
_SMALLEST_TOPIC_BYTES = 2
MAX_METADATA_TOPICS = 2_000
"""Topics of one request; each costs some microseconds, and others wait meanwhile."""
_MAX_NAME_BYTES = 2**15 - 1


class Request(NamedTuple):
    """One request, header and body; a tuple, for many are made."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    is_flexible: bool
    """Whether this version has compact lengths and tagged fields."""
    body: object
    """None for ApiVersions below version 3 and for a version of it not served,
    UNREADABLE for one whose body does not fit its version."""


UNREADABLE = object()
"""Body of an ApiVersions that is answered, but cannot be read."""


def parse_request(frame: bytes, apis: ServedApis) -> Request:
    """Read one frame of an API that is served.

    A client that uses another layout of ApiVersions can still fall back to an older
    version, so that only its header must be readable.

    Raises: MalformedBytes, UnsupportedRequest.
    """
    if len(frame) < _HEADER.size:
        raise MalformedBytes(f"a request of {len(frame)} bytes has no header")
    api_key, api_version, correlation_id = _HEADER.unpack_from(frame)
    api = apis.get(api_key)
    is_readable = api is not None and api_version in api.versions
    if api is None or not (is_readable or api_key == API_VERSIONS):
        raise UnsupportedRequest(f"API key {api_key} version {api_version}")
    cursor = Cursor(frame, _HEADER.size)
    client_id = cursor.read_legacy_string()
    is_flexible = api_version >= api.first_flexible_version
    body: object = None
    try:
        if is_flexible:
            cursor.skip_tagged_fields()
        if is_readable:
            body = api.read_body(cursor, api_version)
    except MalformedBytes:
        if api_key != API_VERSIONS:
            raise
        body = UNREADABLE
    return Request(api_key, api_version, correlation_id, client_id, is_flexible, body)


def _read_metadata(cursor: Cursor, api_version: int) -> MetadataRequest:
    is_flexible = api_version >= _FIRST_FLEXIBLE_METADATA
    length = cursor.read_array_length(
        is_compact=is_flexible, item_bytes=_SMALLEST_TOPIC_BYTES
    )
    if length is None and api_version < _FIRST_METADATA_WITH_NULL_TOPICS:
        raise MalformedBytes("Metadata 0 with null topics")
    if length is not None and length > MAX_METADATA_TOPICS:
        raise MalformedBytes(f"Metadata of {length} topics")
    topics = (
        None
        if length is None
        else tuple(_read_topic(cursor, api_version) for _ in range(length))
    )
    if api_version >= _FIRST_METADATA_WITH_AUTO_CREATION:
        cursor.read_bool()
    if api_version in _METADATA_WITH_CLUSTER_OPERATIONS:
        cursor.read_bool()
    if api_version >= _FIRST_METADATA_WITH_TOPIC_OPERATIONS:
        cursor.read_bool()
    if is_flexible:
        cursor.skip_tagged_fields()
    # Version 0 has no null: there, no topics means all topics.
    if api_version < _FIRST_METADATA_WITH_NULL_TOPICS and not topics:
        topics = None
    # No topic is ever made or shown here, so what was asked beside topics is dropped.
    return MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )


def _read_topic(cursor: Cursor, api_version: int) -> MetadataRequestTopic:
    has_topic_id = api_version >= _FIRST_METADATA_WITH_TOPIC_IDS
    is_flexible = api_version >= _FIRST_FLEXIBLE_METADATA
    topic_id = cursor.read_uuid() if has_topic_id else None
    name = cursor.read_compact_string() if is_flexible else cursor.read_legacy_string()
    if name is None and not has_topic_id:
        raise MalformedBytes("Metadata with a null topic name")
    # Bytes that are no UTF-8 grow, and the answer must be able to repeat the name.
    if name is not None and len(name.encode()) > _MAX_NAME_BYTES:
        raise MalformedBytes("Metadata with a topic name that is too long")
    if is_flexible:
        cursor.skip_tagged_fields()
    return MetadataRequestTopic(
        # What TopicName checks at run time is that it is a text.
        topic_id=topic_id,
        name=None if name is None else cast("TopicName", name),
    )


def _read_get_telemetry(
    cursor: Cursor, _api_version: int
) -> GetTelemetrySubscriptionsRequest:
    client_instance_id = cursor.read_uuid()
    cursor.skip_tagged_fields()
    return GetTelemetrySubscriptionsRequest(client_instance_id=client_instance_id)


API_VERSIONS_API = api_versions_api()
METADATA_API = ServedApi(
    api_key=METADATA,
    versions=range(14),
    first_flexible_version=_FIRST_FLEXIBLE_METADATA,
    read_body=_read_metadata,
)
GET_TELEMETRY_SUBSCRIPTIONS_API = ServedApi(
    api_key=GET_TELEMETRY_SUBSCRIPTIONS,
    versions=range(1),
    first_flexible_version=0,
    read_body=_read_get_telemetry,
)
TELEMETRY_APIS = index_apis(
    API_VERSIONS_API,
    METADATA_API,
    GET_TELEMETRY_SUBSCRIPTIONS_API,
    PUSH_TELEMETRY_API,
)
"""What every bridge serves."""
