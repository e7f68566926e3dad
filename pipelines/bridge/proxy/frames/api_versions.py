"""The cluster's answer to ApiVersions, as clients of the proxy get it.

Strategy: the list of APIs is written anew, what follows it is copied. An API whose
responses hold addresses is limited to the versions that are rewritten here; what the
bridge answers itself is added, or takes the place of the cluster's; everything else is
the cluster's own, versions and keys not known here included.
What comes back when bytes are short or bad: MalformedBytes from the cursor.
Source: Kafka, ApiVersionsResponse.json; KIP-511: the header has no tagged fields.
"""

import functools
import struct
from collections.abc import Iterator, Mapping

from pipelines.bridge.protocol.api_keys import API_VERSIONS
from pipelines.bridge.protocol.requests import API_VERSIONS_API
from pipelines.bridge.protocol.sasl import (
    SASL_AUTHENTICATE,
    SASL_AUTHENTICATE_API,
    SASL_HANDSHAKE,
    SASL_HANDSHAKE_API,
)
from pipelines.kafka_client.primitives import Cursor, write_uvarint

from .versions import KNOWN_VERSIONS

_RANGE = struct.Struct(">hhh")
_COUNT = struct.Struct(">i")
_ERROR_CODE_BYTES = 2
_FIRST_FLEXIBLE_VERSION = 3
_UNSUPPORTED_VERSION = 35
ASKED_VERSION = 3
"""Of ApiVersions, for a client that says more than brokers know; all brokers since
Kafka 2.4 do. Its answer and those of later versions look alike."""
_MOST_APIS = 1_000

Versions = tuple[int, int]
"""The oldest and the newest version of an API."""
_KNOWN: Mapping[int, range] = {
    **KNOWN_VERSIONS,
    # Who the client is, is read from these.
    API_VERSIONS: API_VERSIONS_API.versions,
    SASL_HANDSHAKE: SASL_HANDSHAKE_API.versions,
    SASL_AUTHENTICATE: SASL_AUTHENTICATE_API.versions,
}


@functools.lru_cache(maxsize=128)
def limit_api_versions(
    api_version: int, response: bytes, own: tuple[tuple[int, Versions], ...]
) -> bytes:
    """Return the body of an answer to ApiVersions for a client of the proxy.

    The bridge's own version of ApiVersions is told of where the cluster's reach to it,
    since a client may use all between.

    Args:
        api_version: The version that was asked.
        response: The body that the broker has sent.
        own: What the bridge answers itself: API keys and their versions.
    Returns: The body; one that lists nothing but an error stays as it is.
    Raises: MalformedBytes when the bytes are no such answer.
    """
    cursor = Cursor(response)
    error_code = cursor.read_int16()
    is_flexible = (
        api_version >= _FIRST_FLEXIBLE_VERSION and error_code != _UNSUPPORTED_VERSION
    )
    count = cursor.read_array_length(is_compact=is_flexible, item_bytes=_RANGE.size)
    offered: dict[int, Versions] = {}
    for _ in range(min(count or 0, _MOST_APIS)):
        api_key, oldest, newest = cursor.unpack(_RANGE)
        offered[api_key] = oldest, newest
        if is_flexible:
            cursor.skip_tagged_fields()
    rest = response[len(response) - cursor.remaining_bytes :]
    apis = dict(_limit(offered))
    if not error_code:
        apis = dict(sorted(_add(apis, own).items()))
    length = write_uvarint(len(apis) + 1) if is_flexible else _COUNT.pack(len(apis))
    tags = b"\0" if is_flexible else b""
    items = b"".join(
        _RANGE.pack(api_key, *versions) + tags for api_key, versions in apis.items()
    )
    return response[:_ERROR_CODE_BYTES] + length + items + rest


def _add(
    apis: Mapping[int, Versions], own: tuple[tuple[int, Versions], ...]
) -> Mapping[int, Versions]:
    """Return the cluster's APIs and the bridge's, which take the place of those."""
    added = dict(own)
    newest_of_cluster = apis.get(API_VERSIONS, (0, -1))[1]
    if newest_of_cluster < added.get(API_VERSIONS, (0, 0))[1] - 1:
        added.pop(API_VERSIONS, None)
    return {**apis, **added}


def _limit(offered: Mapping[int, Versions]) -> Iterator[tuple[int, Versions]]:
    """Yield what may be used of the cluster's APIs; an API of no use is left out."""
    for api_key, (oldest, newest) in offered.items():
        known = _KNOWN.get(api_key, range(oldest, newest + 1))
        shared = range(max(oldest, known.start), min(newest + 1, known.stop))
        if shared:
            yield api_key, (shared.start, shared.stop - 1)
