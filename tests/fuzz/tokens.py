"""Valid requests as lists of tokens, made from kio's schemas.

A token knows what it is: a number, a length or count, content, tagged fields.
"""

import dataclasses
import struct
import typing
import uuid

from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema

NUMBER, LENGTH, COMPACT_LENGTH, CONTENT, TAGS = range(5)
_FIXED_SIZES = {
    "bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8,
    "float64": 8, "uuid": 16, "error_code": 2, "timedelta_i32": 4,
    "timedelta_i64": 8, "datetime_i64": 8,
}  # fmt: skip
TEXTS = [
    b"", b"a", b"app-1", b"apache-kafka-java", b"4.3.1", b"1.2-rc", b"telemetry",
    b"bad name!", "é漢".encode(), b"\xff\xfe", b"\x00", b"*", b"a" * 300, b"a" * 600,
    b"client_id=a.*", b"interval.ms", b"metrics", b"match", b"..", b"-",
]  # fmt: skip
KEY_AND_VERSION = struct.Struct(">hh")


def uvarint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


class TokenWriter:
    """Makes random but valid requests of one API in one version."""

    def __init__(self, api, api_version, chance):
        self._api, self._version, self._chance = api, api_version, chance
        self._is_flexible = api_version >= api.first_flexible_version

    def make(self):
        """Return the tokens of a request without its size."""
        head = KEY_AND_VERSION.pack(self._api.api_key, self._version)
        client_id = self._chance.choice([None, b"app-1", b""])
        tokens = [(NUMBER, head), (NUMBER, self._chance.randbytes(4))]
        length = -1 if client_id is None else len(client_id)
        tokens += [(LENGTH, struct.pack(">h", length)), (CONTENT, client_id or b"")]
        if self._is_flexible:
            tokens.append(self._tags())
        return tokens + self._body()

    def _body(self):
        extra = EXTRA_SEEDS.get((self._api.api_key, self._version))
        if extra is not None:
            return extra(self)
        try:
            schema = load_request_schema(self._api.api_key, self._version)
        except (UnknownAPIKey, UnknownEntity):
            return [self._fixed("int32"), *self._text(is_nullable=True), self._tags()]
        return self._entity(schema)

    def software(self, *, has_cluster, has_instance_id):
        """Return ApiVersions as a client sends it."""
        tokens = self._text(is_nullable=False) + self._text(is_nullable=False)
        if has_cluster:
            tokens += [*self._text(is_nullable=True), self._fixed("int32")]
        if has_instance_id:
            tokens.append(self._fixed("uuid"))
        return [*tokens, self._tags()]

    def configs(self):
        """Return PushConfig 0 with some entries."""
        count = self._chance.choice([0, 1, 1, 2, 11])
        tokens = [self._length(count, ">i")]
        for _ in range(count):
            tokens += self._text(is_nullable=False) + self._text(is_nullable=False)
            tokens += [self._fixed("int8"), self._fixed("bool"), self._tags()]
        return [*tokens, self._tags()]

    def description(self):
        """Return DescribeClientConfigs 0."""
        tokens = self._several(
            lambda: [
                *self._text(is_nullable=False),
                self._fixed("int8"),
                *self._text(is_nullable=True),
            ]
        )
        tokens += self._several(lambda: self._text(is_nullable=False))
        return [*tokens, self._fixed("bool"), self._fixed("bool")]

    def alterations(self):
        """Return AlterClientConfigs 0."""
        tokens = self._several(
            lambda: [
                *self._several(
                    lambda: [
                        *self._text(is_nullable=False),
                        *self._text(is_nullable=True),
                    ]
                ),
                *self._several(
                    lambda: [
                        *self._text(is_nullable=False),
                        *self._text(is_nullable=False),
                        self._fixed("bool"),
                    ]
                ),
            ]
        )
        return [*tokens, self._fixed("bool")]

    def _several(self, make_item):
        count = self._chance.choice([0, 1, 1, 2, 5])
        tokens = [self._length(count, ">i")]
        for _ in range(count):
            tokens += make_item()
        return tokens

    def _entity(self, schema):
        hints = typing.get_type_hints(schema)
        tokens = []
        for one in dataclasses.fields(schema):
            if "tag" not in one.metadata:
                tokens += self._value(hints[one.name], one.metadata)
        return [*tokens, self._tags()] if self._is_flexible else tokens

    def _value(self, hint, metadata):
        parts = typing.get_args(hint)
        is_nullable = type(None) in parts
        if is_nullable:
            parts = tuple(part for part in parts if part is not type(None))
            hint = parts[0] if len(parts) == 1 else hint
        if typing.get_origin(hint) is tuple:
            item = typing.get_args(hint)[0]
            return self._array(item, metadata, is_nullable=is_nullable)
        if dataclasses.is_dataclass(hint):
            return self._entity(hint)
        kind = metadata["kafka_type"]
        if kind in _FIXED_SIZES:
            return [self._fixed(kind)]
        return self._text(is_nullable=is_nullable, is_bytes=kind != "string")

    def _array(self, item, metadata, *, is_nullable):
        if is_nullable and self._chance.random() < 0.2:
            return [self._length(None, ">i")]
        count = self._chance.choice([0, 1, 1, 2, 3])
        tokens = [self._length(count, ">i")]
        for _ in range(count):
            tokens += self._value(item, metadata)
        return tokens

    def _text(self, *, is_nullable, is_bytes=False):
        layout = ">i" if is_bytes else ">h"
        if is_nullable and self._chance.random() < 0.2:
            return [self._length(None, layout)]
        content = self._chance.choice(TEXTS)
        return [self._length(len(content), layout), (CONTENT, content)]

    def _fixed(self, kind):
        size = _FIXED_SIZES[kind]
        if kind == "uuid" and self._chance.random() < 0.5:
            return NUMBER, uuid.UUID(int=self._chance.choice([0, 1, 5, 6, 7])).bytes
        if self._chance.random() < 0.7:
            return NUMBER, self._chance.randrange(8).to_bytes(size)
        return NUMBER, self._chance.randbytes(size)

    def _length(self, length, layout):
        if self._is_flexible:
            return COMPACT_LENGTH, uvarint(0 if length is None else length + 1)
        return LENGTH, struct.pack(layout, -1 if length is None else length)

    def _tags(self):
        if self._chance.random() < 0.8:
            return TAGS, b"\x00"
        return TAGS, make_tags(self._chance)


def make_tags(chance):
    """Return tagged fields that no reader knows."""
    count = chance.randrange(1, 4)
    fields = []
    for _ in range(count):
        content = chance.randbytes(chance.choice([0, 1, 5, 200]))
        tag = uvarint(chance.choice([0, 1, 2, 9, 10_000]))
        fields += [tag, uvarint(len(content)), content]
    return uvarint(count) + b"".join(fields)


EXTRA_SEEDS = {
    (18, 5): lambda writer: writer.software(has_cluster=True, has_instance_id=False),
    (18, 6): lambda writer: writer.software(has_cluster=True, has_instance_id=True),
    (10_050, 0): TokenWriter.description,
    (10_051, 0): TokenWriter.alterations,
    (10_071, 0): TokenWriter.configs,
}
"""(API key, version) to what makes the tokens of a body, where kio has no schema."""
