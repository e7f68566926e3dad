"""Which requests are served, in which versions, and how their bodies are read.

Source: Kafka, clients/src/main/resources/common/message/*.json.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pipelines.kafka_client.primitives import Cursor

METADATA = 3
API_VERSIONS = 18
GET_TELEMETRY_SUBSCRIPTIONS = 71
PUSH_TELEMETRY = 72

BodyReader = Callable[[Cursor, int], object]
"""Reads the body of a request of one version; the cursor stands behind the header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApi:
    """One API that a bridge answers, and advertises."""

    api_key: int
    versions: range
    first_flexible_version: int
    """The first version with compact lengths and tagged fields."""
    read_body: BodyReader


ServedApis = Mapping[int, ServedApi]
"""API key to what is served of it."""


def index_apis(*apis: ServedApi) -> ServedApis:
    """Return the table of some APIs, in the order of their keys."""
    return {api.api_key: api for api in sorted(apis, key=lambda api: api.api_key)}
