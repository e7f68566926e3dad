"""Bytes of one metadata record to its fields, and back.

Strategy: one table of fields (record_fields) is interpreted both ways, so that what is
written is what is read. A record is small and comes seldom; a snapshot of other types
is never read here (feed/record_batches.py passes over it).
What comes back when bytes are short or bad: a frame_error, never an exception. Every
length is compared with the bytes that are left before anything is made of it.
Deliberate differences from Kafka's generated readers: a tagged field that is absent is
None instead of its default; a tagged field must fill exactly the size that it states,
and tags must ascend, as KIP-482 says. As in Kafka, a tag that a later version has is
refused in an earlier one, unknown tags are passed over, every byte but zero is true,
and bytes that are no UTF-8 become U+FFFD.
Source: MetadataRecordSerde, AbstractApiMessageSerde of Kafka 4.3.1; KIP-482.
"""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from udfs.wire.primitives import (
    Cursor,
    MalformedBytes,
    TruncatedBytes,
    write_compact_string,
    write_uvarint,
)

from . import record_fields as f

TRUNCATED = "truncated"
UNKNOWN_FRAME_VERSION = "unknown_frame_version"
UNKNOWN_RECORD = "unknown_record"
UNKNOWN_VERSION = "unknown_version"
MALFORMED = "malformed"
TRAILING_BYTES = "trailing_bytes"

_MAX_STRING_BYTES = 0x7FFF
_UUID_BYTES = 16
_UUID_CHARACTERS = 22
_UUID_PADDING = "=="
_FRAME_PARTS = 3
_KNOWN: Mapping[str, f.RecordFields] = {**f.RECORD_FIELDS, **f.TOPIC_FIELDS}

_NUMBERS = {
    f.BOOL: struct.Struct(">?"),
    f.INT8: struct.Struct(">b"),
    f.INT16: struct.Struct(">h"),
    f.UINT16: struct.Struct(">H"),
    f.INT32: struct.Struct(">i"),
    f.INT64: struct.Struct(">q"),
    f.FLOAT64: struct.Struct(">d"),
    f.PROTOCOL: struct.Struct(">h"),
}

Fields = dict[str, Any]


class MetadataRecord(NamedTuple):
    """What one value of the log says."""

    record_type: str | None = None
    """Kafka's name of the record without `Record`; None where its frame is unreadable,
    `record-<API key>` where Kafka 4.3.1 has no such record."""
    version: int | None = None
    frame_error: str | None = None
    """None, or why fields is None."""
    fields: Fields | None = None
    """By the names of record_fields; what the version lacks is None."""
    has_unknown_tags: bool = False


class _Reader(Cursor):
    """A position in the bytes of one record."""

    __slots__ = ("has_unknown_tags",)

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.has_unknown_tags = False

    def read_value(self, field: f.Field) -> object:
        """Read a field, whatever it is."""
        if field.is_array:
            return self._read_array(field)
        return self._read_plain(field)

    def _read_plain(self, field: f.Field) -> object:
        kind = field.kind
        if kind == f.STRING:
            return self._read_string(is_nullable=field.is_nullable)
        if kind == f.UUID:
            return format_uuid(self.take(_UUID_BYTES))
        value = self.unpack(_NUMBERS[kind])[0]
        return name_protocol(value) if kind == f.PROTOCOL else value

    def _read_string(self, *, is_nullable: bool) -> str | None:
        length = self.read_uvarint() - 1
        if length < 0:
            if not is_nullable:
                raise MalformedBytes("a null string")
            return None
        if length > _MAX_STRING_BYTES:
            raise MalformedBytes("a string that is too long")
        return self.take(length).decode("utf-8", "replace")

    def _read_array(self, field: f.Field) -> list[object] | None:
        length = self.read_array_length(is_compact=True, item_bytes=_min_bytes(field))
        if length is None:
            if not field.is_nullable:
                raise MalformedBytes("a null array")
            return None
        if not field.items:
            return [self._read_plain(field) for _ in range(length)]
        return [self._read_item(field.items) for _ in range(length)]

    def _read_item(self, fields: Sequence[f.Field]) -> Fields:
        item = {one.name: self.read_value(one) for one in fields}
        self.read_tags({}, frozenset())
        return item

    def read_tags(
        self, known: Mapping[int, f.Field], refused: frozenset[int]
    ) -> Fields:
        """Read the tagged fields.

        Args:
            known: Tag to field, of this version.
            refused: Tags that only a later version has.
        Returns: Those that are there.
        """
        found: Fields = {}
        last = -1
        for _ in range(self.read_uvarint()):
            tag = self.read_uvarint()
            content = self.take(self.read_uvarint())
            if tag <= last or tag in refused:
                raise MalformedBytes("a tag out of order, or of another version")
            last = tag
            if tag in known:
                found[known[tag].name] = _read_whole(content, known[tag])
            else:
                self.has_unknown_tags = True
        return found


def _read_whole(content: bytes, field: f.Field) -> object:
    """Read a tagged field, which must end where its size says."""
    reader = _Reader(content)
    try:
        value = reader.read_value(field)
    except TruncatedBytes:
        raise MalformedBytes("a tagged field that ends early") from None
    if reader.remaining_bytes:
        raise MalformedBytes("a tagged field with trailing bytes")
    return value


def _name_fault(error: MalformedBytes) -> str:
    return TRUNCATED if isinstance(error, TruncatedBytes) else MALFORMED


class _Layout(NamedTuple):
    """The fields of one version of a record."""

    plain: tuple[f.Field, ...]
    tagged: dict[int, f.Field]
    refused: frozenset[int]
    absent: Fields
    """Each field of any version: None."""


@cache
def _layout(record_type: str, version: int) -> _Layout:
    fields = _KNOWN[record_type].fields
    there = [one for one in fields if one.since <= version]
    return _Layout(
        plain=tuple(one for one in there if one.tag is None),
        tagged={one.tag: one for one in there if one.tag is not None},
        refused=frozenset(
            one.tag for one in fields if one.tag is not None and one.since > version
        ),
        absent=dict.fromkeys(one.name for one in fields),
    )


@cache
def _min_bytes(field: f.Field) -> int:
    """Return the fewest bytes that one item of an array takes."""
    if field.items:
        return 1 + sum(_min_bytes(one) for one in field.items)
    if field.kind == f.STRING:
        return 1
    return _UUID_BYTES if field.kind == f.UUID else _NUMBERS[field.kind].size


def read_record(value: bytes | None) -> MetadataRecord:
    """Read one framed record.

    Args:
        value: Of a record of the metadata log, or of the cluster's topic.
    Returns: Its fields, or what is wrong.
    Nulls: None, like no bytes, is truncated.
    Errors: unknown_frame_version, unknown_record, unknown_version as the frame says;
        truncated (the bytes end before what they state), malformed (a null that may
        not be, a string beyond 32,767 bytes, a variable-length integer beyond 31 bits,
        a tag out of order, of another version or of another size), trailing_bytes.
    """
    return _read(value, f.RECORD_FIELDS)


def read_topic_record(value: bytes | None) -> MetadataRecord:
    """Read a Topic or RemoveTopic record; same result as read_record otherwise."""
    return _read(value, f.TOPIC_FIELDS)


def _read(value: bytes | None, known: Mapping[str, f.RecordFields]) -> MetadataRecord:
    reader = _Reader(value or b"")
    record = _read_head(reader, known)
    if record.frame_error or record.record_type is None or record.version is None:
        return record
    try:
        fields = _read_fields(reader, _layout(record.record_type, record.version))
    except MalformedBytes as error:
        return record._replace(frame_error=_name_fault(error))
    if reader.remaining_bytes:
        return record._replace(frame_error=TRAILING_BYTES)
    return record._replace(fields=fields, has_unknown_tags=reader.has_unknown_tags)


def _read_head(reader: _Reader, known: Mapping[str, f.RecordFields]) -> MetadataRecord:
    """Read frame version, API key and version, as far as they are there."""
    parts: list[int] = []
    fault = None
    try:
        while len(parts) < _FRAME_PARTS:
            parts.append(reader.read_uvarint())
    except MalformedBytes as error:
        fault = _name_fault(error)
    padded: list[int | None] = [*parts, None, None, None]
    frame_version, api_key, version = padded[:_FRAME_PARTS]
    if frame_version not in (None, f.FRAME_VERSION):
        return MetadataRecord(frame_error=UNKNOWN_FRAME_VERSION)
    name = None if api_key is None else f.name_record(api_key)
    fault = fault or _find_unknown(known.get(name or ""), version)
    return MetadataRecord(name, version, fault)


def _find_unknown(known: f.RecordFields | None, version: int | None) -> str | None:
    """Return why a record whose head is whole is not read; None where it is."""
    if known is None:
        return UNKNOWN_RECORD
    return UNKNOWN_VERSION if (version or 0) > known.latest else None


def _read_fields(reader: _Reader, layout: _Layout) -> Fields:
    read = {one.name: reader.read_value(one) for one in layout.plain}
    return {**layout.absent, **read, **reader.read_tags(layout.tagged, layout.refused)}


def write_record(record_type: str, version: int, fields: Mapping[str, Any]) -> bytes:
    """Write one framed record.

    Args:
        record_type: A key of RECORD_FIELDS or TOPIC_FIELDS.
        version: One that it has.
        fields: As read_record returns them; what the version lacks is not looked at.
    Returns: Its bytes, as Kafka writes them but for empty tagged arrays, which stay.
    Nulls: A tagged field that is None is not written.
    """
    layout = _layout(record_type, version)
    api_key = _KNOWN[record_type].api_key
    head = [write_uvarint(one) for one in (f.FRAME_VERSION, api_key, version)]
    body = [_write(one, fields[one.name]) for one in layout.plain]
    tagged = {
        tag: _write(one, fields[one.name])
        for tag, one in sorted(layout.tagged.items())
        if fields.get(one.name) is not None
    }
    tags = [
        write_uvarint(tag) + write_uvarint(len(content)) + content
        for tag, content in tagged.items()
    ]
    return b"".join([*head, *body, write_uvarint(len(tags)), *tags])


def _write(field: f.Field, value: Any) -> bytes:  # noqa: ANN401 - as the field says
    if not field.is_array:
        return _WRITERS[field.kind](value)
    if value is None:
        return write_uvarint(0)
    written = [write_uvarint(len(value) + 1)]
    for one in value:
        if field.items:
            written += [_write(part, one[part.name]) for part in field.items]
            written.append(write_uvarint(0))  # no tagged fields
        else:
            written.append(_WRITERS[field.kind](one))
    return b"".join(written)


def format_uuid(raw: bytes) -> str:
    """Return 16 bytes as Kafka prints a Uuid."""
    return urlsafe_b64encode(raw)[:_UUID_CHARACTERS].decode()


def parse_uuid(text: str) -> bytes:
    """Return the 16 bytes that a text of format_uuid stands for."""
    return urlsafe_b64decode(text + _UUID_PADDING)


_WRITERS: dict[str, Callable[[Any], bytes]] = {
    **{kind: layout.pack for kind, layout in _NUMBERS.items()},
    f.STRING: write_compact_string,
    f.UUID: parse_uuid,
    f.PROTOCOL: lambda name: _NUMBERS[f.PROTOCOL].pack(_protocol_id(name)),
}


def name_protocol(protocol: int) -> str:
    """Return Kafka's name of a security protocol; of an unknown id its digits."""
    is_known = 0 <= protocol < len(f.SECURITY_PROTOCOLS)
    return f.SECURITY_PROTOCOLS[protocol] if is_known else str(protocol)


def _protocol_id(name: str) -> int:
    is_known = name in f.SECURITY_PROTOCOLS
    return f.SECURITY_PROTOCOLS.index(name) if is_known else int(name)
