"""The APIs whose responses name brokers, and the versions that clients may use of them.

Source: Kafka, clients/src/main/resources/common/message/*Response.json; KIP-951.
"""

from collections.abc import Mapping

PRODUCE, FETCH, METADATA, FIND_COORDINATOR = 0, 1, 3, 10
DESCRIBE_CLUSTER, SHARE_FETCH, SHARE_ACKNOWLEDGE = 60, 78, 79
FIRST_PRODUCE_WITH_ENDPOINTS = 10
KNOWN_VERSIONS: Mapping[int, range] = {
    PRODUCE: range(14),
    # 16 adds node endpoints behind the records, and else only what replicas need.
    FETCH: range(16),
    METADATA: range(14),
    FIND_COORDINATOR: range(7),
    DESCRIBE_CLUSTER: range(3),
    SHARE_FETCH: range(1, 3),
    SHARE_ACKNOWLEDGE: range(1, 3),
}
"""The versions that clients may use of each API whose responses may hold addresses."""
