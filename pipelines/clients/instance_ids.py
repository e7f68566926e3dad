"""Client instance ids, and the text that Kafka prints of them."""

import base64
import binascii
import uuid


def make_instance_id() -> uuid.UUID:
    """Return a new id; as Kafka has it, its text does not begin with a dash."""
    while instance_id_text(made := uuid.uuid4()).startswith("-"):
        pass
    return made


def instance_id_text(client_instance_id: uuid.UUID) -> str:
    """Return base64url without padding, 22 characters, as Kafka prints a Uuid."""
    return base64.urlsafe_b64encode(client_instance_id.bytes).decode().rstrip("=")


def read_instance_id(text: str) -> uuid.UUID:
    """Read an id as Kafka prints it.

    Raises: ValueError where it is none.
    """
    try:
        read = uuid.UUID(bytes=base64.b64decode(f"{text}==", "-_", validate=True))
    except binascii.Error:
        raise ValueError("no base64url") from None
    if instance_id_text(read) != text:
        raise ValueError("not as Kafka prints it")
    return read
