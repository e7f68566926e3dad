"""Handlers of SASL requests on connections that have no need of them.

An authenticated client begins again with SaslHandshake where its session has an end;
everywhere else both requests are answered with ILLEGAL_SASL_STATE, as in Kafka.
Source: Kafka, KafkaApis.scala, handleSaslHandshakeRequest and
handleSaslAuthenticateRequest.
"""

from kio.schema.errors import ErrorCode

from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply
from pipelines.bridge.protocol.requests import Request
from pipelines.bridge.protocol.sasl import (
    SASL_AUTHENTICATE_API,
    SASL_HANDSHAKE_API,
    reply_authenticate,
    reply_handshake,
)

_TOO_LATE = "SaslAuthenticate request received after successful authentication"


def serve_sasl() -> list[ServedRequest]:
    """Return what answers SASL requests of authenticated connections."""
    return [
        ServedRequest(
            api=SASL_HANDSHAKE_API, handle=_answer_handshake, error_code_at=0
        ),
        ServedRequest(
            api=SASL_AUTHENTICATE_API, handle=_answer_authenticate, error_code_at=0
        ),
    ]


def _answer_handshake(
    request: Request, connection: Connection, reply: WriteReply
) -> None:
    begin = connection.reauthenticate
    if begin is None or not begin(request, reply):
        reply(reply_handshake(request, ErrorCode.illegal_sasl_state, ()))


def _answer_authenticate(
    request: Request, _connection: Connection, reply: WriteReply
) -> None:
    reply(
        reply_authenticate(
            request,
            error_code=ErrorCode.illegal_sasl_state,
            error_message=_TOO_LATE,
        )
    )
