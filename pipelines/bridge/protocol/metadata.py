"""Answers to Metadata: one node, which is this one, and no topics.

librdkafka starts telemetry only with a broker that it has learnt from Metadata, so
the answer must name the address that clients reach.
Source: Kafka, KafkaApis.scala, handleTopicMetadataRequest; seen on a broker 4.3.1.
"""

import functools
import re
import uuid
from dataclasses import dataclass

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v13.request import MetadataRequest
from kio.static.constants import EntityType
from kio.static.protocol import Entity

from pipelines.kafka_client.primitives import write_uvarint
from pipelines.kafka_wire.messages import NO_THROTTLE, encode_body, fill, fill_response

from .api_keys import METADATA

_FIRST_VERSION_BY_TOPIC_ID = 12
_FIRST_VERSION_WITH_IS_INTERNAL = 1
_FIRST_VERSION_WITH_TOPIC_OPERATIONS = 8
_FIRST_FLEXIBLE_VERSION = 9
_FIRST_VERSION_WITH_TOPIC_IDS = 10
_FIRST_VERSION_WITH_ERROR = 13
_VERSIONS_WITH_CLUSTER_OPERATIONS = range(8, 11)
# Broken bytes grow when they are read as text; this still fits a 16-bit length.
_MAX_ECHOED_CHARACTERS = 8_191
_NO_AUTHORIZED_OPERATIONS = -(2**31)
_NO_CONTROLLER = -1
_MAX_TOPIC_NAME_LENGTH = 249
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_RESERVED_TOPIC_NAMES = frozenset({".", ".."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvertisedNode:
    """What clients are told about this bridge."""

    node_id: int
    host: str
    """Host name or address that clients connect to."""
    port: int
    cluster_id: str


@dataclass(frozen=True, slots=True)
class _TopicAnswer:
    error_code: ErrorCode
    name: str | None
    topic_id: uuid.UUID | None = None


def answer_metadata(
    request: MetadataRequest, api_version: int, node: AdvertisedNode
) -> bytes:
    """Return the body of the answer.

    Shape: One topic out per different topic asked for; none for null topics.
    Errors: UNKNOWN_TOPIC_OR_PARTITION(3), INVALID_TOPIC_EXCEPTION(17) for a name that
        no topic can have, UNKNOWN_TOPIC_ID(100) for ids; INVALID_REQUEST(42) without
        nodes for ids below version 12 and topics without name and id.
    """
    asked = request.topics or ()
    is_by_id = any(topic.topic_id is not None for topic in asked)
    has_nameless = any(topic.name is None and topic.topic_id is None for topic in asked)
    if has_nameless or (is_by_id and api_version < _FIRST_VERSION_BY_TOPIC_ID):
        invalid = ErrorCode.invalid_request
        answers = [_TopicAnswer(invalid, one.name or "", one.topic_id) for one in asked]
        return _encode(api_version, None, answers)
    if is_by_id:
        ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id)
        answers = [_TopicAnswer(ErrorCode.unknown_topic_id, None, one) for one in ids]
        return _encode(api_version, node, answers)
    names = dict.fromkeys(topic.name for topic in asked)
    answers = [_TopicAnswer(_judge_name(name or ""), name) for name in names]
    return _encode(api_version, node, answers)


def _judge_name(name: str) -> ErrorCode:
    is_valid = (
        len(name) <= _MAX_TOPIC_NAME_LENGTH
        and name not in _RESERVED_TOPIC_NAMES
        and _TOPIC_NAME.fullmatch(name) is not None
    )
    if not is_valid:
        return ErrorCode.invalid_topic_exception
    return ErrorCode.unknown_topic_or_partition


def _encode(
    api_version: int, node: AdvertisedNode | None, answers: list[_TopicAnswer]
) -> bytes:
    """Put the topics into an answer without any.

    They are written by hand: kio takes 30 microseconds for each, and who asks for
    thousands must not keep the others waiting.
    """
    head, tail = _encode_frame(api_version, node)
    is_flexible = api_version >= _FIRST_FLEXIBLE_VERSION
    count = (
        write_uvarint(len(answers) + 1)
        if is_flexible
        else len(answers).to_bytes(4, "big")
    )
    topics = [_encode_topic(api_version, answer) for answer in answers]
    return b"".join((head, count, *topics, tail))


@functools.lru_cache(maxsize=256)
def _encode_frame(api_version: int, node: AdvertisedNode | None) -> tuple[bytes, bytes]:
    """Return what stands before the array of topics, and what stands behind it."""
    module = load_payload_module(METADATA, api_version, EntityType.response)
    brokers: tuple[Entity, ...] = ()
    if node is not None:
        broker = module.MetadataResponseBroker
        brokers = (fill(broker, node_id=node.node_id, host=node.host, port=node.port),)
    body = encode_body(
        fill_response(
            METADATA,
            api_version,
            throttle_time=NO_THROTTLE,
            brokers=brokers,
            cluster_id=node.cluster_id if node else None,
            controller_id=node.node_id if node else _NO_CONTROLLER,
            topics=(),
            cluster_authorized_operations=_NO_AUTHORIZED_OPERATIONS,
            error_code=ErrorCode.none,
        )
    )
    is_flexible = api_version >= _FIRST_FLEXIBLE_VERSION
    behind = 4 if api_version in _VERSIONS_WITH_CLUSTER_OPERATIONS else 0
    behind += 2 if api_version >= _FIRST_VERSION_WITH_ERROR else 0
    behind += 1 if is_flexible else 0
    end = len(body) - behind
    return body[: end - (1 if is_flexible else 4)], body[end:]


def _encode_topic(api_version: int, answer: _TopicAnswer) -> bytes:
    """Write one topic that has no partitions."""
    is_flexible = api_version >= _FIRST_FLEXIBLE_VERSION
    name = (
        None if answer.name is None else answer.name[:_MAX_ECHOED_CHARACTERS].encode()
    )
    parts = [answer.error_code.value.to_bytes(2, "big", signed=True)]
    if is_flexible:
        parts.append(b"\0" if name is None else write_uvarint(len(name) + 1))
    else:
        length = -1 if name is None else len(name)
        parts.append(length.to_bytes(2, "big", signed=True))
    parts.append(name or b"")
    if api_version >= _FIRST_VERSION_WITH_TOPIC_IDS:
        parts.append(answer.topic_id.bytes if answer.topic_id else bytes(16))
    if api_version >= _FIRST_VERSION_WITH_IS_INTERNAL:
        parts.append(b"\0")
    parts.append(b"\x01" if is_flexible else bytes(4))
    if api_version >= _FIRST_VERSION_WITH_TOPIC_OPERATIONS:
        parts.append(_NO_AUTHORIZED_OPERATIONS.to_bytes(4, "big", signed=True))
    if is_flexible:
        parts.append(b"\0")
    return b"".join(parts)
