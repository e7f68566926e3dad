"""SaslHandshake and SaslAuthenticate: how they are read, and their answers.

Strategy: own readers for what peers send, as in requests.py; kio's types and writers
for answers. What comes back when bytes are short or bad: MalformedBytes.
Source: Kafka, SaslHandshakeRequest.json, SaslAuthenticateRequest.json; KIP-43,
KIP-152, KIP-368.
"""

from collections.abc import Sequence
from datetime import timedelta

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.static.primitive import i64Timedelta

from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from pipelines.kafka_wire.messages import encode_body, fill_response

from .api_keys import ServedApi
from .replies import encode_reply
from .requests import Request

SASL_HANDSHAKE = 17
SASL_AUTHENTICATE = 36
_FIRST_FLEXIBLE_AUTHENTICATE = 2
_SIZE_BYTES = 4


def _read_handshake(cursor: Cursor, _api_version: int) -> SaslHandshakeRequest:
    mechanism = cursor.read_legacy_string()
    if mechanism is None:
        raise MalformedBytes("SaslHandshake with a null mechanism")
    return SaslHandshakeRequest(mechanism=mechanism)


def _read_authenticate(cursor: Cursor, api_version: int) -> SaslAuthenticateRequest:
    is_flexible = api_version >= _FIRST_FLEXIBLE_AUTHENTICATE
    auth_bytes = (
        cursor.read_compact_bytes() if is_flexible else cursor.read_legacy_bytes()
    )
    if auth_bytes is None:
        raise MalformedBytes("SaslAuthenticate with null bytes")
    if is_flexible:
        cursor.skip_tagged_fields()
    return SaslAuthenticateRequest(auth_bytes=auth_bytes)


SASL_HANDSHAKE_API = ServedApi(
    api_key=SASL_HANDSHAKE,
    versions=range(2),
    # No version of it is flexible.
    first_flexible_version=2,
    read_body=_read_handshake,
)
SASL_AUTHENTICATE_API = ServedApi(
    api_key=SASL_AUTHENTICATE,
    versions=range(3),
    first_flexible_version=_FIRST_FLEXIBLE_AUTHENTICATE,
    read_body=_read_authenticate,
)


def reply_handshake(
    request: Request, error_code: ErrorCode, mechanisms: Sequence[str]
) -> bytes:
    """Return the whole reply to SaslHandshake."""
    return encode_reply(
        request,
        encode_body(
            fill_response(
                SASL_HANDSHAKE,
                request.api_version,
                error_code=error_code,
                mechanisms=tuple(mechanisms),
            )
        ),
    )


def reply_authenticate(
    request: Request,
    *,
    auth_bytes: bytes = b"",
    error_code: ErrorCode = ErrorCode.none,
    error_message: str | None = None,
    session_lifetime_ms: int = 0,
) -> bytes:
    """Return the whole reply to SaslAuthenticate.

    Units: session_lifetime_ms is in milliseconds; 0 is no limit, or not yet.
    """
    lifetime = timedelta(milliseconds=session_lifetime_ms)
    return encode_reply(
        request,
        encode_body(
            fill_response(
                SASL_AUTHENTICATE,
                request.api_version,
                error_code=error_code,
                error_message=error_message,
                auth_bytes=auth_bytes,
                session_lifetime=i64Timedelta.parse(lifetime),
            )
        ),
    )


def frame_raw_token(token: bytes) -> bytes:
    """Return a token as it goes to a client that came with SaslHandshake 0."""
    return len(token).to_bytes(_SIZE_BYTES, "big") + token
