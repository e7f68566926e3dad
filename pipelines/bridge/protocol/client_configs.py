"""DescribeClientConfigs and AlterClientConfigs 0, as a bridge reads and answers.

Strategy: hand-written over the bounded Cursor, since kio has no such messages; what is
read, and the writers of answers, are those of the client's side. The items of a request
are few, so that a stranger's costs little before anyone knows who it is.
What comes back when bytes are short or bad: MalformedBytes, and nothing else.
Source: KIP-649, Network Protocol; neither message is flexible.
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pipelines.kafka_client.client_configs import (
    CLIENT_CONFIGS_VERSION,
    MAX_STRING_BYTES,
    Alteration,
    Altered,
    Component,
    Described,
    DescribeRequest,
    Op,
    write_altered,
    write_described,
)
from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from pipelines.kafka_wire.entities import ItemBudget

from .api_keys import BodyReader, ServedApi
from .replies import encode_reply
from .requests import Request

MAX_REQUEST_ITEMS = 4_000
"""Components and keys to register, or entities, their parts and their keys, in all."""
_MATCH_TYPE = struct.Struct(">b")
_SMALLEST_COMPONENT_BYTES = 5
_SMALLEST_ALTERATION_BYTES = 8
_SMALLEST_PART_BYTES = 4
_SMALLEST_OP_BYTES = 5
_SMALLEST_STRING_BYTES = 2
_NEVER_FLEXIBLE = CLIENT_CONFIGS_VERSION + 1
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class AlterRequest:
    """What AlterClientConfigs asks."""

    alterations: tuple[Alteration, ...]
    validate_only: bool


def describe_client_configs_api(api_key: int) -> ServedApi:
    """Return the API that describes, under the number that clients use."""
    return _serve(api_key, lambda cursor, _version: read_describe(cursor))


def alter_client_configs_api(api_key: int) -> ServedApi:
    """Return the API that alters, under the number that clients use."""
    return _serve(api_key, lambda cursor, _version: read_alterations(cursor))


def read_describe(cursor: Cursor) -> DescribeRequest:
    """Read the body of DescribeClientConfigs v0. Raises: MalformedBytes."""
    items = _Items(cursor)
    components = items.read(_read_component, _SMALLEST_COMPONENT_BYTES)
    supported = items.read_nullable(_read_string, _SMALLEST_STRING_BYTES)
    return DescribeRequest(
        components, supported, cursor.read_bool(), cursor.read_bool()
    )


def read_alterations(cursor: Cursor) -> AlterRequest:
    """Read the body of AlterClientConfigs v0. Raises: MalformedBytes."""
    items = _Items(cursor)

    def read_alteration(_cursor: Cursor) -> Alteration:
        entity = items.read(_read_part, _SMALLEST_PART_BYTES)
        return Alteration(entity, items.read(_read_op, _SMALLEST_OP_BYTES))

    alterations = items.read(read_alteration, _SMALLEST_ALTERATION_BYTES)
    return AlterRequest(alterations, cursor.read_bool())


def answer_describe(request: Request, described: Described) -> bytes:
    """Write the answer to a request that describes."""
    return encode_reply(request, write_described(described))


def answer_alterations(request: Request, altered: Iterable[Altered]) -> bytes:
    """Write the answer to a request that alters; the entries in its order."""
    return encode_reply(request, write_altered(0, altered))


def _serve(api_key: int, read_body: BodyReader) -> ServedApi:
    return ServedApi(
        api_key=api_key,
        versions=range(CLIENT_CONFIGS_VERSION, CLIENT_CONFIGS_VERSION + 1),
        first_flexible_version=_NEVER_FLEXIBLE,
        read_body=read_body,
    )


class _Items:
    """Reads the arrays of one request, and counts what is in all of them."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor, self._budget = cursor, ItemBudget(MAX_REQUEST_ITEMS)

    def read(
        self, read_item: Callable[[Cursor], _Item], smallest_bytes: int
    ) -> tuple[_Item, ...]:
        items = self.read_nullable(read_item, smallest_bytes)
        if items is None:
            raise MalformedBytes("a null array in a request about client configs")
        return items

    def read_nullable(
        self, read_item: Callable[[Cursor], _Item], smallest_bytes: int
    ) -> tuple[_Item, ...] | None:
        length = self._cursor.read_array_length(
            is_compact=False, item_bytes=smallest_bytes
        )
        if length is None:
            return None
        self._budget.take(length)
        return tuple([read_item(self._cursor) for _ in range(length)])


def _read_component(cursor: Cursor) -> Component:
    entity_type = _read_string(cursor)
    (match_type,) = cursor.unpack(_MATCH_TYPE)
    return Component(entity_type, match_type, _read_nullable_string(cursor))


def _read_part(cursor: Cursor) -> tuple[str, str | None]:
    return _read_string(cursor), _read_nullable_string(cursor)


def _read_op(cursor: Cursor) -> Op:
    return Op(_read_string(cursor), _read_string(cursor), cursor.read_bool())


def _read_string(cursor: Cursor) -> str:
    text = _read_nullable_string(cursor)
    if text is None:
        raise MalformedBytes("a null text in a request about client configs")
    return text


def _read_nullable_string(cursor: Cursor) -> str | None:
    text = cursor.read_legacy_string()
    # Bytes that are no UTF-8 grow, and an answer must be able to repeat the name.
    if text is not None and len(text.encode()) > MAX_STRING_BYTES:
        raise MalformedBytes("a text in a request about client configs is too long")
    return text
