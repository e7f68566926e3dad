"""Answers to Metadata: one node, which is this one, and no topics.

librdkafka starts telemetry only with a broker that it has learnt from Metadata, so
the answer must name the address that clients reach.
Source: Kafka, KafkaApis.scala, handleTopicMetadataRequest; seen on a broker 4.3.1.
"""

import re
import uuid
from dataclasses import dataclass

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v13.request import MetadataRequest
from kio.static.constants import EntityType
from kio.static.protocol import Entity

from .api_keys import METADATA
from .replies import NO_THROTTLE, encode_body, fill, fill_response

_FIRST_VERSION_BY_TOPIC_ID = 12
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
    module = load_payload_module(METADATA, api_version, EntityType.response)
    topics = tuple(
        fill(
            module.MetadataResponseTopic,
            error_code=answer.error_code,
            name=answer.name,
            topic_id=answer.topic_id,
            is_internal=False,
            partitions=(),
            topic_authorized_operations=_NO_AUTHORIZED_OPERATIONS,
        )
        for answer in answers
    )
    brokers: tuple[Entity, ...] = ()
    if node is not None:
        broker = module.MetadataResponseBroker
        brokers = (fill(broker, node_id=node.node_id, host=node.host, port=node.port),)
    return encode_body(
        fill_response(
            METADATA,
            api_version,
            throttle_time=NO_THROTTLE,
            brokers=brokers,
            cluster_id=node.cluster_id if node else None,
            controller_id=node.node_id if node else _NO_CONTROLLER,
            topics=topics,
            cluster_authorized_operations=_NO_AUTHORIZED_OPERATIONS,
            error_code=ErrorCode.none,
        )
    )
