"""The types of clients, and which keys they have that catalogs do not tell apart.

Source: ShareConsumerConfig of Apache Kafka 4.3.1.
"""

PRODUCER, CONSUMER, SHARE_CONSUMER = "producer", "consumer", "share_consumer"
ADMIN, STREAMS = "admin", "streams"
CLIENT_TYPES = (PRODUCER, CONSUMER, SHARE_CONSUMER, ADMIN, STREAMS)
NOT_OF_SHARE_CONSUMERS = frozenset(
    {
        "auto.offset.reset",
        "enable.auto.commit",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "interceptor.classes",
        "isolation.level",
        "partition.assignment.strategy",
        "session.timeout.ms",
    }
)
"""Keys of a consumer that a share consumer refuses."""
OF_SHARE_CONSUMERS_ONLY = "share."
"""How the keys begin that the catalogs list among a consumer's, and no consumer has."""
