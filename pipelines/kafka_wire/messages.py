"""Messages of kio: filled with the fields that a version has, and written to bytes."""

import io
from datetime import timedelta
from typing import Any

from kio.index import load_response_schema
from kio.serial import entity_writer
from kio.static.primitive import i32Timedelta
from kio.static.protocol import Entity

NO_THROTTLE = i32Timedelta.parse(timedelta(0))


def encode_body(message: Entity) -> bytes:
    """Write one of kio's messages."""
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def fill_response(api_key: int, api_version: int, **values: object) -> Entity:
    """Make the response of a version from the fields that this version has."""
    return fill(load_response_schema(api_key, api_version), **values)


def fill(schema: Any, **values: object) -> Entity:  # noqa: ANN401 - one of kio's types
    """Make a message from those of the values that its version has."""
    known = {name: values[name] for name in schema.__slots__ if name in values}
    message: Entity = schema(**known)
    return message
