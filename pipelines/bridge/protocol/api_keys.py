"""Which requests are served, in which versions.

Source: Kafka, clients/src/main/resources/common/message/*.json.
"""

METADATA = 3
API_VERSIONS = 18
GET_TELEMETRY_SUBSCRIPTIONS = 71
PUSH_TELEMETRY = 72

SERVED_VERSIONS: dict[int, range] = {
    METADATA: range(14),
    API_VERSIONS: range(5),
    GET_TELEMETRY_SUBSCRIPTIONS: range(1),
    PUSH_TELEMETRY: range(1),
}
"""API key to the versions that are read and answered, and advertised."""

FIRST_FLEXIBLE_VERSION: dict[int, int] = {
    METADATA: 9,
    API_VERSIONS: 3,
    GET_TELEMETRY_SUBSCRIPTIONS: 0,
    PUSH_TELEMETRY: 0,
}
"""API key to the first version with compact lengths and tagged fields."""


def is_served(api_key: int, api_version: int) -> bool:
    """Say whether a request of this key and version is answered."""
    return api_version in SERVED_VERSIONS.get(api_key, ())
