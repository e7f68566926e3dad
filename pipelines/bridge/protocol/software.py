"""The body of ApiVersions: what a client says about itself, in versions 3 to 6.

Kafka's released version 5 adds the cluster and node that a client means to reach
(KIP-1242). KIP-1324 proposed to add ClientInstanceId in the same version; here it is
the field behind those two in a later version, 6 unless set otherwise, which is served
only where a bridge takes configurations.
Source: Kafka 4.4, ApiVersionsRequest.json; KIP-1324.
"""

import uuid
from dataclasses import dataclass

from pipelines.kafka_client.primitives import Cursor, MalformedBytes

from .api_keys import API_VERSIONS, ServedApi

FIRST_VERSION_WITH_SOFTWARE_NAME = 3
FIRST_VERSION_WITH_CLUSTER_ID = 5
INSTANCE_ID_SEPARATOR = "-cid-"
"""Between a software version and the client instance id that it carries."""
_INSTANCE_ID_DIGITS = 32
_LENGTH_BYTES = 3
"""That the length of so long a text takes."""
_MAX_TEXT_BYTES = 2**15 - 1
"""Of any string; brokers close the connection of who sends a longer one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSoftware:
    """What a client says about itself."""

    client_software_name: str
    client_software_version: str
    client_instance_id: uuid.UUID | None = None


def api_versions_api(instance_id_version: int | None = None) -> ServedApi:
    """Return ApiVersions as a bridge serves it.

    Args:
        instance_id_version: The last version that is served, whose body ends in the
            client instance id; without it, version 5 is the last.
    """

    def read_body(cursor: Cursor, api_version: int) -> ClientSoftware | None:
        if api_version < FIRST_VERSION_WITH_SOFTWARE_NAME:
            return None
        return _read_software(
            cursor, api_version, has_instance_id=api_version == instance_id_version
        )

    last = instance_id_version or FIRST_VERSION_WITH_CLUSTER_ID
    return ServedApi(
        api_key=API_VERSIONS,
        versions=range(last + 1),
        first_flexible_version=FIRST_VERSION_WITH_SOFTWARE_NAME,
        read_body=read_body,
    )


def split_software_version(version: str) -> tuple[str, uuid.UUID | None]:
    """Part a software version from the client instance id at its end.

    A client whose protocol library cannot send an id of its own says it this way:
    `<version>-cid-<32 hex digits>`.
    """
    plain, separator, digits = version.rpartition(INSTANCE_ID_SEPARATOR)
    is_hex = len(digits) == _INSTANCE_ID_DIGITS and set(digits) <= _HEX_DIGITS
    if not (separator and is_hex):
        return version, None
    return plain, uuid.UUID(hex=digits)


_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def _read_software(
    cursor: Cursor, api_version: int, *, has_instance_id: bool
) -> ClientSoftware:
    name, version = _read_text(cursor), _read_text(cursor)
    client_instance_id = None
    if api_version >= FIRST_VERSION_WITH_CLUSTER_ID:
        # Which cluster and node the client means is not held against it: behind a
        # proxy or a load balancer it may well have learnt another's.
        cursor.read_compact_string()
        cursor.read_int32()
    if has_instance_id:
        client_instance_id = cursor.read_uuid()
    if has_instance_id or api_version <= FIRST_VERSION_WITH_CLUSTER_ID:
        # What versions between hold in front of their tagged fields is not known.
        cursor.skip_tagged_fields()
    return ClientSoftware(
        client_software_name=name,
        client_software_version=version,
        client_instance_id=client_instance_id,
    )


def _read_text(cursor: Cursor) -> str:
    before = cursor.remaining_bytes
    text = cursor.read_compact_string()
    if text is None:
        raise MalformedBytes("ApiVersions with a null software name or version")
    if before - cursor.remaining_bytes > _MAX_TEXT_BYTES + _LENGTH_BYTES:
        raise MalformedBytes("ApiVersions with a software name that is too long")
    return text
