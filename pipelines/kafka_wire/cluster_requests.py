"""Requests of ours to a cluster, and its answers, as kio has them.

Strategy: the rest of the bridge knows one version of each message, the newest of
KNOWN_VERSIONS. `adapt` makes it anew in the version that a broker and we share.
Source: Kafka protocol guide; KIP-511; Kafka, clients/src/main/resources/common/message.
"""

import dataclasses
import functools
import struct
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from kio.index import load_payload_module
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32
from kio.static.protocol import Entity, Payload

from pipelines.kafka_client.messages import METADATA
from pipelines.kafka_client.primitives import Cursor, MalformedBytes

from .entities import ItemBudget, read_entity
from .messages import NO_THROTTLE, encode_body

DESCRIBE_CONFIGS = 32
DESCRIBE_DELEGATION_TOKEN = 41
INCREMENTAL_ALTER_CONFIGS = 44
DESCRIBE_CLIENT_QUOTAS = 48
ALTER_CLIENT_QUOTAS = 49
DESCRIBE_USER_SCRAM_CREDENTIALS = 50
DESCRIBE_CLUSTER = 60
LIST_CONFIG_RESOURCES = 74
"""Named ListClientMetricsResources in version 0."""
CLIENT_METRICS = 16
"""ConfigResource.Type of client-metrics subscriptions."""
Resources = Mapping[str, Mapping[str, str]]
"""Name of a CLIENT_METRICS resource to the properties that are set."""

KNOWN_VERSIONS: Mapping[int, range] = {
    METADATA: range(1, 13),
    DESCRIBE_CONFIGS: range(1, 5),
    DESCRIBE_DELEGATION_TOKEN: range(1, 4),
    INCREMENTAL_ALTER_CONFIGS: range(2),
    DESCRIBE_CLIENT_QUOTAS: range(2),
    ALTER_CLIENT_QUOTAS: range(2),
    DESCRIBE_USER_SCRAM_CREDENTIALS: range(1),
    DESCRIBE_CLUSTER: range(3),
    LIST_CONFIG_RESOURCES: range(2),
}
MAX_RESPONSE_ITEMS = 1_000_000
_SIZE = struct.Struct(">i")
_NOT_IN_OLDER_VERSIONS: Mapping[str, object] = {
    "documentation": None,
    # Before there was the word, a fenced broker was not listed.
    "is_fenced": False,
    "throttle_time": NO_THROTTLE,
    "token_requester_principal_name": "",
    "token_requester_principal_type": "",
    "topic_id": None,
}
_Message = TypeVar("_Message", bound=Payload)


def encode_request(
    request: Payload, *, correlation_id: int, client_id: str | None
) -> bytes:
    """Write size, header and body of one request."""
    header = request.__header_schema__(  # type: ignore[call-arg] # kio has one type for all headers
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(correlation_id),
        client_id=client_id,
    )
    message = encode_body(header) + encode_body(request)
    return _SIZE.pack(len(message)) + message


def decode_response(request: Payload, body: bytes) -> Payload:
    """Read the body of the answer to a request.

    Raises: MalformedBytes.
    """
    module = _load_module(request.__api_key__, request.__version__, EntityType.response)
    schema = getattr(module, type(request).__name__.replace("Request", "Response"))
    try:
        response: Payload = read_entity(
            Cursor(body), schema, ItemBudget(MAX_RESPONSE_ITEMS)
        )
    except MalformedBytes as error:
        text = f"{schema.__name__} {request.__version__}: {error}"
        raise MalformedBytes(text) from None
    return response


def adapt(message: _Message, api_version: int) -> _Message:
    """Make a message in another version of its API.

    Nulls: A field that only the new version has takes its default.
    """
    if message.__version__ == api_version:
        return message
    kind = EntityType(message.__type__)
    module = _load_module(message.__api_key__, api_version, kind)
    adapted: _Message = _adapt(message, module)  # type: ignore[assignment] # another version of it
    return adapted


def newest(message: _Message) -> _Message:
    """Make a message in the newest version known here."""
    return adapt(message, KNOWN_VERSIONS[message.__api_key__][-1])


def share_version(api_key: int, served: Mapping[int, range]) -> int | None:
    """Return the newest version of an API that a broker serves and we know."""
    known, versions = KNOWN_VERSIONS[api_key], served.get(api_key, range(0))
    common = range(max(known.start, versions.start), min(known.stop, versions.stop))
    return common[-1] if common else None


def _load_module(api_key: int, api_version: int, kind: EntityType) -> ModuleType:
    return load_payload_module(i16(api_key), i16(api_version), kind)  # type: ignore[arg-type] # a request or a response


def _adapt(message: Entity, module: ModuleType) -> Entity:
    schema = getattr(module, type(message).__name__)
    taken, added = _compare(type(message), schema)
    values = {name: _adapt_value(getattr(message, name), module) for name in taken}
    adapted: Entity = schema(**values, **added)
    return adapted


@functools.cache
def _compare(
    old: type[Entity], new: type[Entity]
) -> tuple[tuple[str, ...], Mapping[str, object]]:
    """Return the fields that both have, and those of the new one without a default."""
    known = {field.name for field in dataclasses.fields(old)}
    fields = dataclasses.fields(new)
    added = {
        field.name: _NOT_IN_OLDER_VERSIONS[field.name]
        for field in fields
        if field.name not in known and field.default is dataclasses.MISSING
    }
    return tuple(field.name for field in fields if field.name in known), added


def _adapt_value(value: object, module: ModuleType) -> object:
    if not isinstance(value, tuple):
        return value
    is_nested = bool(value) and dataclasses.is_dataclass(value[0])
    return tuple(_adapt(item, module) for item in value) if is_nested else value
