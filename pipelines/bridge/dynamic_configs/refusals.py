"""Why a request about dynamic client configs is not followed, and the answers then."""

from collections.abc import Iterable
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from pipelines.bridge.protocol.client_configs import (
    AlterRequest,
    answer_alterations,
    answer_describe,
)
from pipelines.bridge.protocol.requests import Request
from pipelines.kafka_client.client_configs import Alteration, Altered, Described


class Refusal(NamedTuple):
    """Why something is not done."""

    error_code: ErrorCode
    message: str


NOT_AN_ADMIN = Refusal(
    ErrorCode.cluster_authorization_failed, "Cluster authorization failed."
)
LOADING = Refusal(
    ErrorCode.coordinator_load_in_progress,
    "This bridge has not read all dynamic client configs yet; ask again.",
)


def invalid(message: str) -> Refusal:
    """Return INVALID_REQUEST with a text."""
    return Refusal(ErrorCode.invalid_request, message)


def refuse_all(alterations: Iterable[Alteration], refusal: Refusal) -> list[Altered]:
    """Answer for each entity, as brokers do."""
    return [
        Altered(refusal.error_code, refusal.message, one.entity) for one in alterations
    ]


def refuse_request(request: Request, refusal: Refusal) -> bytes:
    """Return the reply to one of both requests that nobody looks at."""
    if isinstance(request.body, AlterRequest):
        altered = refuse_all(request.body.alterations, refusal)
        return answer_alterations(request, altered)
    return answer_describe(request, refuse_description(refusal))


def refuse_description(refusal: Refusal) -> Described:
    """Answer that nothing is described."""
    return Described(0, refusal.error_code, refusal.message, None)
