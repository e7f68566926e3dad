"""Requests as lists of tokens, made from kio's schemas, and mutations of them.

A token knows what it is: a number, a length or count, content, tagged fields. So a
mutation can lie about a length and leave the rest whole. Blind mutations work on the
joined bytes.
"""

import dataclasses
import struct
import typing
import uuid

from kio.index import load_request_schema

NUMBER, LENGTH, COMPACT_LENGTH, CONTENT, TAGS = range(5)
_FIXED_SIZES = {
    "bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8,
    "float64": 8, "uuid": 16, "error_code": 2, "timedelta_i32": 4,
    "timedelta_i64": 8, "datetime_i64": 8,
}  # fmt: skip
_TEXTS = [
    b"", b"a", b"app-1", b"apache-kafka-java", b"4.3.1", b"1.2-rc", b"telemetry",
    b"bad name!", "é漢".encode(), b"\xff\xfe", b"\x00", b"*", b"a" * 300, b"a" * 600,
    b"client_id=a.*", b"interval.ms", b"metrics", b"match", b"..", b"-",
]  # fmt: skip
_LIES = [0, 1, 2, 3, 127, 128, 255, 16_383, 16_384, 32_767, 65_535, 2**31 - 1, 2**31,
         2**32 - 1]  # fmt: skip
_ODD_VARINTS = [
    b"\x80", b"\x80\x00", b"\x81\x80\x80\x80\x00", b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\x01", b"\x80" * 12,
]  # fmt: skip
_SIZE = struct.Struct(">i")
_KEY_AND_VERSION = struct.Struct(">hh")
_MAX_INT16, _MAX_INT32 = 2**15 - 1, 2**31 - 1

EXTRA_SEEDS = {}
"""(API key, version) to a function of a random.Random that returns the tokens of a
body; for APIs that kio has no schema of."""


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
        head = _KEY_AND_VERSION.pack(self._api.api_key, self._version)
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
            return extra(self._chance)
        try:
            schema = load_request_schema(self._api.api_key, self._version)
        except (KeyError, ValueError, ModuleNotFoundError):
            return [self._fixed("int32"), *self._text(is_nullable=True), self._tags()]
        return self._entity(schema)

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
        content = self._chance.choice(_TEXTS)
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


# ------------------------------------------------------------------ with the protocol


def lie_about_length(tokens, chance):
    where = _find(tokens, chance, LENGTH, COMPACT_LENGTH)
    kind, old = tokens[where]
    lie = chance.choice(_LIES)
    if kind == COMPACT_LENGTH:
        tokens[where] = kind, uvarint(lie % 2**32)
    else:
        tokens[where] = kind, (lie % 2 ** (8 * len(old))).to_bytes(len(old))


def break_varint(tokens, chance):
    where = _find(tokens, chance, COMPACT_LENGTH, TAGS)
    tokens[where] = tokens[where][0], chance.choice(_ODD_VARINTS)


def change_tags(tokens, chance):
    where = _find(tokens, chance, TAGS)
    tags = make_tags(chance)
    cut = chance.randrange(len(tags) + 1) if chance.random() < 0.3 else len(tags)
    tokens[where] = TAGS, tags[:cut]


def change_number(tokens, chance):
    where = _find(tokens, chance, NUMBER)
    size = len(tokens[where][1]) or 1
    value = chance.choice([0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1)])
    tokens[where] = NUMBER, value.to_bytes(size)


def change_content(tokens, chance):
    where = _find(tokens, chance, CONTENT)
    tokens[where] = CONTENT, chance.choice(_TEXTS)


def drop_token(tokens, chance):
    if len(tokens) > 1:
        del tokens[chance.randrange(len(tokens))]


def repeat_token(tokens, chance):
    where = chance.randrange(len(tokens))
    tokens[where:where] = [tokens[where]] * chance.choice([1, 1, 2, 50])


def swap_tokens(tokens, chance):
    one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]


def change_version(tokens, chance):
    key = chance.choice([0, 1, 3, 17, 18, 22, 32, 36, 44, 60, 71, 72, 74, 10_071, -1])
    if chance.random() < 0.7:
        key = _KEY_AND_VERSION.unpack(tokens[0][1].ljust(4, b"\x00")[:4])[0]
    version = chance.choice([-1, 0, 1, 2, 3, 4, 5, 6, 9, 12, 13, 14, 99, _MAX_INT16])
    tokens[0] = NUMBER, _KEY_AND_VERSION.pack(key, version)


def _find(tokens, chance, *kinds):
    found = [index for index, (kind, _) in enumerate(tokens) if kind in kinds]
    return chance.choice(found) if found else chance.randrange(len(tokens))


KNOWING = (
    lie_about_length, break_varint, change_tags, change_number, change_content,
    drop_token, repeat_token, swap_tokens, change_version,
)  # fmt: skip


# ------------------------------------------------------------------ blind


def flip_bits(data, chance):
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut_short(data, chance):
    return data[: chance.randrange(len(data) + 1)]


def cut_out(data, chance):
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randrange(1, 9) :]


def put_in(data, chance):
    start = chance.randrange(len(data) + 1)
    return data[:start] + chance.randbytes(chance.choice([1, 2, 4, 64])) + data[start:]


def trail(data, chance):
    return data + chance.randbytes(chance.choice([1, 16, 1_000]))


def replace_all(data, chance):
    return chance.randbytes(chance.randrange(len(data) + 64))


BLIND = (flip_bits, flip_bits, cut_short, cut_out, put_in, trail, replace_all)


def mutate(tokens, chance):
    """Return one frame without its size; about one in six stays as it was."""
    tokens = list(tokens)
    draw = chance.random()
    if draw < 0.55:
        for _ in range(chance.choice([1, 1, 2, 3])):
            chance.choice(KNOWING)(tokens, chance)
    frame = b"".join([content for _, content in tokens])
    if draw > 0.72:
        for _ in range(chance.choice([1, 1, 2])):
            frame = chance.choice(BLIND)(frame, chance)
    return frame


def with_size(frame, chance):
    """Put a size before a frame; one in a hundred is wrong."""
    if chance.random() >= 0.01:
        return _SIZE.pack(len(frame)) + frame
    lie = chance.choice([-1, 0, 1, len(frame) + 1, _MAX_INT32, -_MAX_INT32])
    return _SIZE.pack(lie) + frame
