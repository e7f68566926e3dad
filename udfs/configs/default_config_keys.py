"""The keys that each type of client pushes where its user names none.

Names of the Java client, in the order in which they are pushed. The client library has
this file by a link, and it needs the standard library only.
Source: KIP-1324, "Default Configuration". Its `enable.idempotency` means
`enable.idempotence`; for admin clients it names no keys, those are this project's.
"""

PRODUCER_KEYS = (
    "acks",
    "batch.size",
    "buffer.memory",
    "client.id",
    "compression.type",
    "delivery.timeout.ms",
    "enable.idempotence",
    "linger.ms",
    "max.in.flight.requests.per.connection",
    "request.timeout.ms",
    "retries",
)
CONSUMER_KEYS = (
    "auto.offset.reset",
    "client.id",
    "enable.auto.commit",
    "fetch.min.bytes",
    "fetch.max.wait.ms",
    "group.id",
    "isolation.level",
    "max.poll.interval.ms",
    "max.poll.records",
    "session.timeout.ms",
)
SHARE_CONSUMER_KEYS = (
    "client.id",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "max.poll.interval.ms",
    "max.poll.records",
    "share.acknowledgement.mode",
    "share.acquire.mode",
)
ADMIN_KEYS = (
    "client.id",
    "request.timeout.ms",
    "retries",
    "default.api.timeout.ms",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
)
