"""Requests about configs, quotas and SCRAM credentials that clients may send.

Bodies come out in the newest version known, whatever version was sent. Their items
are few, so that a stranger's request costs little before anyone knows who it is.
"""

from collections.abc import Callable

from kio.index import load_request_schema
from kio.static.primitive import i16
from kio.static.protocol import Payload

from pipelines.kafka_client.primitives import Cursor
from pipelines.kafka_wire.cluster_requests import (
    ALTER_CLIENT_QUOTAS,
    DESCRIBE_CLIENT_QUOTAS,
    DESCRIBE_CONFIGS,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    INCREMENTAL_ALTER_CONFIGS,
    KNOWN_VERSIONS,
    LIST_CONFIG_RESOURCES,
    adapt,
    newest,
)
from pipelines.kafka_wire.entities import ItemBudget, read_entity
from pipelines.kafka_wire.messages import encode_body

from .api_keys import ServedApi
from .replies import encode_reply
from .requests import Request

MAX_REQUEST_ITEMS = 1_000
"""Resources or entities, their keys and their values, in all."""


def _serve(api_key: int, *, first_flexible_version: int) -> ServedApi:
    return ServedApi(
        api_key=api_key,
        versions=KNOWN_VERSIONS[api_key],
        first_flexible_version=first_flexible_version,
        read_body=_make_reader(api_key),
    )


def _make_reader(api_key: int) -> Callable[[Cursor, int], object]:
    def read_body(cursor: Cursor, api_version: int) -> object:
        schema = load_request_schema(i16(api_key), i16(api_version))
        body: Payload = read_entity(cursor, schema, ItemBudget(MAX_REQUEST_ITEMS))
        return newest(body)

    return read_body


DESCRIBE_CONFIGS_API = _serve(DESCRIBE_CONFIGS, first_flexible_version=4)
INCREMENTAL_ALTER_CONFIGS_API = _serve(
    INCREMENTAL_ALTER_CONFIGS, first_flexible_version=1
)
LIST_CONFIG_RESOURCES_API = _serve(LIST_CONFIG_RESOURCES, first_flexible_version=0)
DESCRIBE_CLIENT_QUOTAS_API = _serve(DESCRIBE_CLIENT_QUOTAS, first_flexible_version=1)
ALTER_CLIENT_QUOTAS_API = _serve(ALTER_CLIENT_QUOTAS, first_flexible_version=1)
DESCRIBE_USER_SCRAM_CREDENTIALS_API = _serve(
    DESCRIBE_USER_SCRAM_CREDENTIALS, first_flexible_version=0
)


def encode_answer(request: Request, response: Payload) -> bytes:
    """Write the answer to a request in the request's version."""
    return encode_reply(request, encode_body(adapt(response, request.api_version)))
