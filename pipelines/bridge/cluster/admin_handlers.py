"""Handlers of the APIs that show and change CLIENT_METRICS resources.

Strategy: for admin principals only; what they ask is judged as a broker judges it, and
then asked of the cluster with the bridge's own rights. Whatever else they ask for, and
whatever others ask for, is refused here and never reaches the cluster.
Source: Kafka, KafkaApis.scala, ConfigHelper.scala, ControllerApis.scala.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kio.schema.describe_configs.v4.request import DescribeConfigsRequest
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import (
    IncrementalAlterConfigsRequest,
)
from kio.schema.incremental_alter_configs.v1.response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.list_config_resources.v1.response import ListConfigResourcesResponse
from kio.static.primitive import i8
from kio.static.protocol import Payload

from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply, expect
from pipelines.bridge.protocol.admin_requests import (
    DESCRIBE_CONFIGS_API,
    INCREMENTAL_ALTER_CONFIGS_API,
    LIST_CONFIG_RESOURCES_API,
    encode_answer,
)
from pipelines.bridge.protocol.requests import Request
from pipelines.kafka_wire.cluster_requests import CLIENT_METRICS
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE

from .admin_rules import Refusal, judge_change, judge_listing, judge_resource

Forward = Callable[[Payload, Callable[[Payload | ClusterFault], None]], None]
"""Asks the cluster, and says once, later, what it answers or why there is nothing."""
Outcomes = Mapping[str, ErrorCode]
"""Name of a resource to what came of changing it."""
NoteChange = Callable[[str, Outcomes], None]
"""Takes the principal that wanted changes, and their outcomes."""

_LEFT_OUT = Refusal(
    ErrorCode.unknown_server_error, "The cluster did not answer for this resource."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """What tells one API of many resources from another."""

    # kio has a class for each message, and nothing that they share.
    request: type[Any]
    judge: Callable[..., Refusal | None]
    list_answers: Callable[[Any], Sequence[Any]]
    refuse: Callable[[Any, Refusal], Any]
    respond: Callable[[tuple[Any, ...]], Payload]


def _refuse_result(resource: Any, refusal: Refusal) -> DescribeConfigsResult:  # noqa: ANN401 - see _Form
    return DescribeConfigsResult(
        error_code=refusal.error_code,
        error_message=refusal.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=(),
    )


def _refuse_change(resource: Any, refusal: Refusal) -> AlterConfigsResourceResponse:  # noqa: ANN401 - see _Form
    return AlterConfigsResourceResponse(
        error_code=refusal.error_code,
        error_message=refusal.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


_DESCRIBE = _Form(
    request=DescribeConfigsRequest,
    judge=judge_resource,
    list_answers=lambda response: response.results,
    refuse=_refuse_result,
    respond=lambda results: DescribeConfigsResponse(
        throttle_time=NO_THROTTLE, results=results
    ),
)
_ALTER = _Form(
    request=IncrementalAlterConfigsRequest,
    judge=judge_change,
    list_answers=lambda response: response.responses,
    refuse=_refuse_change,
    respond=lambda results: IncrementalAlterConfigsResponse(
        throttle_time=NO_THROTTLE, responses=results
    ),
)


class OfAdmins:
    """What handlers of admin principals share: who that is, and whom to ask."""

    def __init__(self, *, admin_principals: Iterable[str], forward: Forward) -> None:
        self._admin_principals = frozenset(admin_principals)
        self._forward = forward

    def _is_admin(self, connection: Connection) -> bool:
        return connection.identity.principal in self._admin_principals


class ChangesOfAdmins(OfAdmins):
    """What handlers of admin principals that change something share, too."""

    def __init__(
        self,
        *,
        admin_principals: Iterable[str],
        forward: Forward,
        note_change: NoteChange,
    ) -> None:
        super().__init__(admin_principals=admin_principals, forward=forward)
        self._note_change = note_change


class AdminHandlers(ChangesOfAdmins):
    """Answers the config requests of all connections."""

    def served(self) -> list[ServedRequest]:
        """Return the APIs answered here."""
        return [
            ServedRequest(api=DESCRIBE_CONFIGS_API, handle=self._answer_describe),
            ServedRequest(api=INCREMENTAL_ALTER_CONFIGS_API, handle=self._answer_alter),
            ServedRequest(api=LIST_CONFIG_RESOURCES_API, handle=self._answer_list),
        ]

    def _answer_list(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(ListConfigResourcesRequest, request)
        refusal = judge_listing(
            body.resource_types, is_admin=self._is_admin(connection)
        )
        if refusal is not None:
            reply(encode_answer(request, _refuse_list(refusal.error_code)))
            return
        # No types mean all of them, and here that is the one that is served.
        listing = ListConfigResourcesRequest(resource_types=(i8(CLIENT_METRICS),))
        self._forward(listing, partial(_finish_list, request, reply))

    def _answer_describe(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        self._answer(
            _DESCRIBE, request, connection, partial(write_answer, request, reply)
        )

    def _answer_alter(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(IncrementalAlterConfigsRequest, request)
        is_noted = self._is_admin(connection) and not body.validate_only

        def finish(response: Payload) -> None:
            if is_noted:
                answers = _ALTER.list_answers(response)
                outcomes = {one.resource_name: one.error_code for one in answers}
                self._note_change(connection.identity.principal, outcomes)
            write_answer(request, reply, response)

        self._answer(_ALTER, request, connection, finish)

    def _answer(
        self,
        form: _Form,
        request: Request,
        connection: Connection,
        finish: Callable[[Payload], None],
    ) -> None:
        """Ask the cluster about the resources that nothing speaks against."""
        body = expect(form.request, request)
        is_admin = self._is_admin(connection)
        judged = [(one, form.judge(one, is_admin=is_admin)) for one in body.resources]
        asked = tuple(resource for resource, refusal in judged if refusal is None)

        def assemble(answer: Payload | ClusterFault) -> None:
            finish(form.respond(_assemble(form, judged, answer)))

        if asked:
            self._forward(replace(body, resources=asked), assemble)
        else:
            assemble(form.respond(()))


def _assemble(
    form: _Form,
    judged: Sequence[tuple[Any, Refusal | None]],
    answer: Payload | ClusterFault,
) -> tuple[Any, ...]:
    """Put the cluster's answers and our refusals in the order of the request."""
    missing, answers = _LEFT_OUT, {}
    if isinstance(answer, ClusterFault):
        missing = Refusal(answer.error_code, str(answer))
    else:
        answers = {
            (one.resource_type, one.resource_name): one
            for one in form.list_answers(answer)
        }
    assembled = []
    for resource, refusal in judged:
        key = (resource.resource_type, resource.resource_name)
        found = answers.get(key) if refusal is None else None
        assembled.append(found or form.refuse(resource, refusal or missing))
    return tuple(assembled)


def _finish_list(
    request: Request, reply: WriteReply, answer: Payload | ClusterFault
) -> None:
    if isinstance(answer, ClusterFault):
        answer = _refuse_list(answer.error_code)
    write_answer(request, reply, answer)


def _refuse_list(error_code: ErrorCode) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(
        throttle_time=NO_THROTTLE, error_code=error_code, config_resources=()
    )


def write_answer(request: Request, reply: WriteReply, response: Payload) -> None:
    """Answer a request in its own version."""
    reply(encode_answer(request, response))
