"""Handler of the API that shows who has SCRAM credentials (KIP-554).

Strategy: as for quotas, with which Kafka's own tool asks for it: for admin principals
only, and answered by the cluster. The answer has mechanisms and iterations, nothing
that would help to log in; requests that set credentials carry that, and are not served.
Source: Kafka, KafkaApis.scala, DescribeUserScramCredentialsRequest.java.
"""

from functools import partial

from kio.schema.describe_user_scram_credentials.v0.request import (
    DescribeUserScramCredentialsRequest,
)
from kio.schema.describe_user_scram_credentials.v0.response import (
    DescribeUserScramCredentialsResponse,
)
from kio.static.protocol import Payload

from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply, expect
from pipelines.bridge.protocol.admin_requests import DESCRIBE_USER_SCRAM_CREDENTIALS_API
from pipelines.bridge.protocol.requests import Request
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE

from .admin_handlers import OfAdmins, write_answer
from .admin_rules import NOT_AN_ADMIN, Refusal


class ScramHandlers(OfAdmins):
    """Answers the requests about SCRAM credentials of all connections."""

    def served(self) -> list[ServedRequest]:
        """Return the API answered here."""
        return [
            ServedRequest(
                api=DESCRIBE_USER_SCRAM_CREDENTIALS_API, handle=self._answer_describe
            )
        ]

    def _answer_describe(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(DescribeUserScramCredentialsRequest, request)
        if self._is_admin(connection):
            self._forward(body, partial(_finish, request, reply))
        else:
            write_answer(request, reply, _refuse(NOT_AN_ADMIN))


def _finish(
    request: Request, reply: WriteReply, answer: Payload | ClusterFault
) -> None:
    if isinstance(answer, ClusterFault):
        answer = _refuse(Refusal(answer.error_code, str(answer)))
    write_answer(request, reply, answer)


def _refuse(refusal: Refusal) -> DescribeUserScramCredentialsResponse:
    """Answer for the whole request, as brokers do: nobody is named."""
    return DescribeUserScramCredentialsResponse(
        throttle_time=NO_THROTTLE,
        error_code=refusal.error_code,
        error_message=refusal.message,
        results=(),
    )
