"""Handlers of DescribeClientConfigs and AlterClientConfigs.

Order of checks: who asks, whether the store has been read, what is asked. A client may
ask what applies to itself, and say which keys it takes; all else is for admins.
Source: KIP-649. With the proposal's letter, CLUSTER authorisation for both requests, no
ordinary client could fetch its own.
"""

from collections.abc import Callable, Iterable
from functools import partial

from pipelines.bridge.core.client_identity import bound_identity
from pipelines.bridge.core.handlers import Connection, ServedRequest, WriteReply, expect
from pipelines.bridge.protocol.client_configs import (
    AlterRequest,
    alter_client_configs_api,
    answer_alterations,
    answer_describe,
    describe_client_configs_api,
)
from pipelines.bridge.protocol.requests import Request
from pipelines.kafka_client.client_configs import (
    Altered,
    Component,
    Described,
    DescribedEntity,
    DescribeRequest,
    Match,
)
from pipelines.settings.dynamic_config_settings import DynamicConfigSettings
from udfs.dynamic_configs import SupportedRecord
from udfs.dynamic_configs.records import CLIENT_ID, USER
from udfs.sensitive.client_ids import HIDDEN_CLIENT_ID, find_client_id_rule
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .refusals import LOADING, NOT_AN_ADMIN, refuse_all, refuse_description
from .registration_limits import RegistrationLimits
from .rules import judge_filter
from .state import DynamicState
from .writing import AlterJob, StoreWriter

_ERROR_CODE_AT = 4
"""Byte of a description where its error code stands, behind the throttle time."""
_PRINCIPAL_TYPE = "User:"


class DynamicConfigHandlers:
    """Answers the requests of all connections about dynamic client configs."""

    def __init__(
        self,
        *,
        settings: DynamicConfigSettings,
        admin_principals: Iterable[str],
        rules: SensitiveKeyRules,
        state: DynamicState,
        writer: StoreWriter,
        now_ms: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._admin_principals = frozenset(admin_principals)
        self._rules = rules
        self._state = state
        self._writer = writer
        self._now_ms = now_ms
        self._limits = RegistrationLimits(
            per_connection=settings.max_registrations_per_connection,
            per_hour=settings.max_registrations_per_hour,
            now_ms=now_ms,
        )

    def served(self) -> list[ServedRequest]:
        """Return the APIs answered here."""
        return [
            ServedRequest(
                api=describe_client_configs_api(self._settings.describe_api_key),
                handle=self._answer_describe,
                error_code_at=_ERROR_CODE_AT,
            ),
            ServedRequest(
                api=alter_client_configs_api(self._settings.alter_api_key),
                handle=self._answer_alter,
            ),
        ]

    def _answer_describe(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(DescribeRequest, request)
        described = self._describe(body, connection)
        reply(answer_describe(request, described))
        if body.supported_configs is not None and not described.error_code:
            self._register(body.supported_configs, connection)

    def _describe(self, body: DescribeRequest, connection: Connection) -> Described:
        is_admin = connection.identity.principal in self._admin_principals
        is_registration = body.supported_configs is not None and not body.components
        if not (is_admin or body.resolve_entity or is_registration):
            return refuse_description(NOT_AN_ADMIN)
        if not self._state.is_loaded:
            return refuse_description(LOADING)
        if body.resolve_entity:
            return self._resolve(body, connection, is_admin=is_admin)
        if is_registration:
            return Described(0, 0, None, [])
        refusal = judge_filter(body.components)
        if refusal is not None:
            return refuse_description(refusal)
        return Described(0, 0, None, list(self._state.describe(body)))

    def _resolve(
        self, body: DescribeRequest, connection: Connection, *, is_admin: bool
    ) -> Described:
        user_name, client_id = _user_of(connection), connection.identity.client_id
        if is_admin and (named := _find_named(body.components, USER)):
            # Whoever names somebody else says everything of them.
            user_name = named
            client_id = _find_named(body.components, CLIENT_ID)
        values = self._state.resolve(user_name, client_id)
        entity: list[tuple[str, str | None]] = [(USER, user_name)]
        if client_id:
            entity.append((CLIENT_ID, client_id))
        return Described(0, 0, None, [DescribedEntity(tuple(entity), values)])

    def _register(self, keys: Iterable[str], connection: Connection) -> None:
        """Note which of the keys that may be set a client can take."""
        client_id = connection.identity.client_id
        if client_id and find_client_id_rule(client_id, self._rules) is not None:
            client_id = HIDDEN_CLIENT_ID
        written = bound_identity(connection.identity)
        is_hidden = client_id == HIDDEN_CLIENT_ID
        record = SupportedRecord(
            user_name=written.principal.removeprefix(_PRINCIPAL_TYPE),
            client_id=(client_id if is_hidden else written.client_id) or None,
            client_software_name=written.client_software_name,
            client_software_version=written.client_software_version,
            # Others are never set; whatever a client says here would be kept.
            config_keys=tuple(sorted(self._writer.keys & {*keys})),
            registered_at_ms=self._now_ms(),
        )
        self._writer.register(record, partial(self._limits.is_allowed, connection))

    def _answer_alter(
        self, request: Request, connection: Connection, reply: WriteReply
    ) -> None:
        body = expect(AlterRequest, request)
        finish = partial(_finish_alter, request, reply)
        if connection.identity.principal not in self._admin_principals:
            finish(refuse_all(body.alterations, NOT_AN_ADMIN))
        elif not self._state.is_loaded:
            finish(refuse_all(body.alterations, LOADING))
        else:
            self._writer.alter(AlterJob(body, connection.identity.principal, finish))


def _finish_alter(
    request: Request, reply: WriteReply, altered: Iterable[Altered]
) -> None:
    reply(answer_alterations(request, altered))


def _user_of(connection: Connection) -> str:
    return connection.identity.principal.removeprefix(_PRINCIPAL_TYPE)


def _find_named(components: Iterable[Component], entity_type: str) -> str | None:
    """Return the name that a filter has for a type; None where it names nobody."""
    for one in components:
        if (one.entity_type, one.match_type) == (entity_type, Match.EXACT):
            return one.match or None
    return None
