"""Requests out of frames.

Strategy: `parse_request` reads header and body by API key and version. Whole requests
come back as kio's message types. Bytes behind a request's last field are ignored, as
Apache Kafka's brokers do (seen on 4.3.1). A bad request raises MalformedRequest, one
that is not served raises UnsupportedRequest; both are the end of that connection only.
Source: Kafka protocol guide, "Request Header"; KIP-482; KIP-511; KIP-714.
"""

import struct
import uuid
from dataclasses import dataclass
from typing import cast

from kio.schema.api_versions.v4.request import ApiVersionsRequest
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.metadata.v13.request import MetadataRequest, MetadataRequestTopic
from kio.schema.push_telemetry.v0.request import PushTelemetryRequest
from kio.schema.types import TopicName

from .api_keys import (
    API_VERSIONS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    METADATA,
    PUSH_TELEMETRY,
    ServedApi,
    ServedApis,
    index_apis,
)
from .cursor import Cursor
from .errors import MalformedRequest, UnsupportedRequest

_HEADER = struct.Struct(">hhi")
_PUSH = struct.Struct(">16siBb")
MAX_METADATA_TOPICS = 5_000
"""None is here, and each takes microseconds; no client of a bridge asks for so many."""
_FIRST_VERSION_WITH_SOFTWARE_NAME = 3
_FIRST_FLEXIBLE_METADATA = 9
_FIRST_METADATA_WITH_NULL_TOPICS = 1
_FIRST_METADATA_WITH_AUTO_CREATION = 4
_METADATA_WITH_CLUSTER_OPERATIONS = range(8, 11)
_FIRST_METADATA_WITH_TOPIC_OPERATIONS = 8
_FIRST_METADATA_WITH_TOPIC_IDS = 10
_SMALLEST_TOPIC_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, header and body."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    is_flexible: bool
    """Whether this version has compact lengths and tagged fields."""
    body: object
    """None for ApiVersions below version 3 and for a version of it not served."""


def parse_request(frame: bytes, apis: ServedApis) -> Request:
    """Read one frame of an API that is served.

    Errors: ApiVersions in a version not served has no body; its answer says so.
    Raises: MalformedRequest, UnsupportedRequest.
    """
    cursor = Cursor(frame)
    api_key, api_version, correlation_id = cursor.unpack(_HEADER)
    api = apis.get(api_key)
    is_readable = api is not None and api_version in api.versions
    if api is None or not (is_readable or api_key == API_VERSIONS):
        raise UnsupportedRequest(f"API key {api_key} version {api_version}")
    client_id = cursor.read_legacy_string()
    is_flexible = api_version >= api.first_flexible_version
    if is_flexible:
        cursor.skip_tagged_fields()
    return Request(
        api_key=api_key,
        api_version=api_version,
        correlation_id=correlation_id,
        client_id=client_id,
        is_flexible=is_flexible,
        body=api.read_body(cursor, api_version) if is_readable else None,
    )


def _read_api_versions(cursor: Cursor, api_version: int) -> ApiVersionsRequest | None:
    if api_version < _FIRST_VERSION_WITH_SOFTWARE_NAME:
        return None
    name, version = cursor.read_compact_string(), cursor.read_compact_string()
    if name is None or version is None:
        raise MalformedRequest("ApiVersions with a null software name or version")
    cursor.skip_tagged_fields()
    return ApiVersionsRequest(
        client_software_name=name, client_software_version=version
    )


def _read_metadata(cursor: Cursor, api_version: int) -> MetadataRequest:
    is_flexible = api_version >= _FIRST_FLEXIBLE_METADATA
    length = cursor.read_array_length(
        is_compact=is_flexible, item_bytes=_SMALLEST_TOPIC_BYTES
    )
    if length is not None and length > MAX_METADATA_TOPICS:
        raise MalformedRequest(
            f"Metadata of {length} topics; at most {MAX_METADATA_TOPICS}"
        )
    if length is None and api_version < _FIRST_METADATA_WITH_NULL_TOPICS:
        raise MalformedRequest("Metadata 0 with null topics")
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
        raise MalformedRequest("Metadata with a null topic name")
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


def _read_push_telemetry(cursor: Cursor, _api_version: int) -> PushTelemetryRequest:
    instance_id, subscription_id, terminating, compression_type = cursor.unpack(_PUSH)
    # librdkafka before 2.10.1 sends null where it has nothing to say.
    metrics = cursor.read_compact_bytes() or b""
    cursor.skip_tagged_fields()
    # kio's own types for numbers would check again what has just been read.
    return PushTelemetryRequest(
        client_instance_id=uuid.UUID(bytes=instance_id) if any(instance_id) else None,
        subscription_id=subscription_id,
        terminating=terminating != 0,
        compression_type=compression_type,
        metrics=metrics,
    )


API_VERSIONS_API = ServedApi(
    api_key=API_VERSIONS,
    versions=range(5),
    first_flexible_version=_FIRST_VERSION_WITH_SOFTWARE_NAME,
    read_body=_read_api_versions,
)
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
PUSH_TELEMETRY_API = ServedApi(
    api_key=PUSH_TELEMETRY,
    versions=range(1),
    first_flexible_version=0,
    read_body=_read_push_telemetry,
)
TELEMETRY_APIS = index_apis(
    API_VERSIONS_API,
    METADATA_API,
    GET_TELEMETRY_SUBSCRIPTIONS_API,
    PUSH_TELEMETRY_API,
)
"""What every bridge serves."""
