"""Handlers of the APIs that show and change quotas of clients (KIP-546).

Strategy: for admin principals only; what they ask is asked of the cluster with the
bridge's own rights, which judges it, and its answer is theirs. Nothing that others ask
for reaches the cluster.
Source: Kafka, KafkaApis.scala, ControllerApis.scala, AlterClientQuotasRequest.java.
"""

from functools import partial

from kio.schema.alter_client_quotas.v1 import response as altered
from kio.schema.alter_client_quotas.v1.request import AlterClientQuotasRequest
from kio.schema.describe_client_quotas.v1.request import DescribeClientQuotasRequest
from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
from kio.static.protocol import Payload

from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply, expect
from pipelines.bridge.protocol.admin_requests import (
    ALTER_CLIENT_QUOTAS_API,
    DESCRIBE_CLIENT_QUOTAS_API,
)
from pipelines.bridge.protocol.requests import Request
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE
from udfs.cluster.record_keys import quota_entity_path

from .admin_handlers import ChangesOfAdmins, write_answer
from .admin_rules import NOT_AN_ADMIN, Refusal


class QuotaHandlers(ChangesOfAdmins):
    """Answers the quota requests of all connections.

    Changes are noted by KIP-55's path of an entity.
    """

    def served(self) -> list[ServedRequest]:
        """Return the APIs answered here."""
        return [
            ServedRequest(api=DESCRIBE_CLIENT_QUOTAS_API, handle=self._answer_describe),
            ServedRequest(api=ALTER_CLIENT_QUOTAS_API, handle=self._answer_alter),
        ]

    def _answer_describe(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(DescribeClientQuotasRequest, request)
        if not self._is_admin(connection):
            write_answer(request, reply, _refuse_to_describe(NOT_AN_ADMIN))
            return
        self._forward(body, partial(_finish_describe, request, reply))

    def _answer_alter(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(AlterClientQuotasRequest, request)
        if not self._is_admin(connection):
            write_answer(request, reply, _refuse_to_alter(body, NOT_AN_ADMIN))
            return

        def finish(answer: Payload | ClusterFault) -> None:
            if not isinstance(answer, altered.AlterClientQuotasResponse):
                answer = _refuse_to_alter(body, _as_refusal(answer))
            if not body.validate_only:
                self._note(connection, answer)
            write_answer(request, reply, answer)

        self._forward(body, finish)

    def _note(
        self, connection: Connection, answer: altered.AlterClientQuotasResponse
    ) -> None:
        outcomes = {_path_of(one): one.error_code for one in answer.entries}
        self._note_change(connection.identity.principal, outcomes)


def _path_of(entry: altered.EntryData) -> str:
    return quota_entity_path(
        [(part.entity_type, part.entity_name) for part in entry.entity]
    )


def _finish_describe(
    request: Request, reply: WriteReply, answer: Payload | ClusterFault
) -> None:
    if isinstance(answer, ClusterFault):
        answer = _refuse_to_describe(_as_refusal(answer))
    write_answer(request, reply, answer)


def _as_refusal(answer: Payload | ClusterFault) -> Refusal:
    if isinstance(answer, ClusterFault):
        return Refusal(answer.error_code, str(answer))
    raise TypeError(f"{type(answer).__name__} is no answer about quotas")


def _refuse_to_describe(refusal: Refusal) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        throttle_time=NO_THROTTLE,
        error_code=refusal.error_code,
        error_message=refusal.message,
        entries=None,
    )


def _refuse_to_alter(
    body: AlterClientQuotasRequest, refusal: Refusal
) -> altered.AlterClientQuotasResponse:
    """Answer for each entity, as brokers do."""
    return altered.AlterClientQuotasResponse(
        throttle_time=NO_THROTTLE,
        entries=tuple(
            altered.EntryData(
                error_code=refusal.error_code,
                error_message=refusal.message,
                entity=tuple(
                    altered.EntityData(
                        entity_type=part.entity_type, entity_name=part.entity_name
                    )
                    for part in entry.entity
                ),
            )
            for entry in body.entries
        ),
    )
