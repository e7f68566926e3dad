"""Cases of group B: rules over telemetry alone; and of releases with known faults."""

from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from pipelines.tables.traffic import CLIENT_TRAFFIC
from tests.support.spark.finding_fleet import (
    PREFIX,
    ago,
    client,
    hit,
    miss,
    unknown,
)
from udfs.otlp.labels import parse_node

LIBRDKAFKA = ("librdkafka", "2.15.0")
PYTHON = ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0")
KGO = ("kgo", "v1.21.5")
FAULTS = "client-known-fault"
FAILING, RETRIES = "producer-records-failing", "producer-retries-often"
MEMORY, WAITS = "producer-blocked-on-memory", "producer-waits-in-client"
BROKER, REOPENS = "broker-slower-for-many-clients", "connections-keep-reopening"
LOGIN, UNSTABLE = "authentication-failing", "consumer-group-unstable"
SLOW, IDLE = "consumer-waits-for-its-application", "consumer-without-partitions"
LAG, SILENT = "consumer-lag-growing", "client-went-silent"
ERRORS, SENT = "producer.record.error.total", "producer.record.send.total"
RETRIED, NODE = "producer.record.retry.total", "producer.node.request.latency.avg"
QUEUE, LATENCY = "producer.record.queue.time.avg", "producer.request.latency.avg"
CREATED = "connection.creation.total"
POLL = "consumer.poll.idle.ratio.avg"
MAX_LAG = "consumer.fetch.manager.records.lag.max"
ASSIGNED = "consumer.coordinator.assigned.partitions"
REBALANCES = "consumer.coordinator.rebalance.total"
LONGEST = "consumer.coordinator.rebalance.latency.max"
SPENT = "consumer.coordinator.rebalance.latency.total"
LOGINS = "producer.failed.authentication.total"
ASSIGNORS = "partition.assignment.strategy"
MISSES, EXPIRY = "consumer-misses-poll-interval", "producer-records-near-expiry"
QUEUE_MAX = "producer.record.queue.time.max"
EXPIRES = {"message.timeout.ms": "10000"}
NAN = float("nan")


def producer(metrics=(), **known):
    return client(metrics=dict(metrics), **known)


def consumer(metrics=(), **known):
    return client("", "consumer", metrics=dict(metrics), **known)


def member(group, metrics, **known):
    return consumer(metrics, group_id=group, **known)


def memory(ratio=0.0, free=0.5, **more):
    own = {f"producer.{k.replace('_', '.')}": v for k, v in more.items()}
    return producer(
        {
            "producer.bufferpool.wait.ratio": ratio,
            "producer.buffer.available.bytes": 32e6 * free,
            "producer.buffer.total.bytes": 32e6,
        }
        | own
    )


def to_nodes(*latencies, form="node-{}", **known):
    """Return a producer that has waited so long for each broker."""
    points = tuple(
        {
            "metric": f"{PREFIX}{NODE}",
            "kind": "gauge",
            "node_id": str(node.node_id),
            "node_role": node.role,
            "value_double": float(value),
        }
        for number, value in latencies
        for node in [parse_node(form.format(number))]
    )
    return client(points=points, **known)


def slow_first(*first, node=1, others=10.0, form="node-{}", **known):
    return tuple(
        to_nodes((node, one), (2, others), (3, others), form=form, **known)
        for one in first
    )


def faulty(version, client_type="producer", name="librdkafka", **known):
    return client("", client_type, software=(name, version), **known)


CASES = (
    hit(FAULTS, faulty("2.10.0"), severity="error"),
    hit(FAULTS, faulty("2.10.0-rdkafka-2.10.0", name="confluent-kafka-python")),
    hit(FAULTS, faulty("3.1.0", name="apache-kafka-java"), severity="error"),
    hit(FAULTS, faulty("2.14.1", "consumer"), severity="warning"),
    miss(FAULTS, faulty("3.1.0", "admin", name="apache-kafka-java")),
    miss(FAULTS, faulty("3.1.1", "consumer", name="apache-kafka-java")),
    hit(FAULTS, faulty("v1.19.0", name="kgo"), severity="error"),
    # Only with a value; where it is not known the fault is a step less severe.
    hit(
        FAULTS,
        faulty("2.14.2", "consumer", config={"group.protocol": "consumer"}),
        severity="warning",
    ),
    miss(FAULTS, faulty("2.14.2", "consumer", config={"group.protocol": "classic"})),
    hit(FAULTS, faulty("2.14.2", "consumer"), severity="advice"),
    miss(FAULTS, faulty("2.16.1-rdkafka-2.16.0", name="confluent-kafka-python")),
    miss(FAULTS, faulty("unknown", name="unknown")),
    miss(FAULTS, faulty("7.1.0-ccs", name="apache-kafka-java")),
    hit(FAILING, producer({ERRORS: [0, 7, 9, 0], SENT: [1_000] * 4}), severity="error"),
    hit(FAILING, producer({ERRORS: [25, 25], SENT: [0] * 4}, client_id="never sent")),
    # One push with failures, and too few of many.
    miss(FAILING, producer({ERRORS: [0, 700, 0, 0], SENT: [1_000] * 4})),
    miss(FAILING, producer({ERRORS: [1, 1, 1, 1], SENT: [100_000] * 4})),
    miss(FAILING, consumer({ERRORS: [7] * 4, SENT: [9] * 4})),
    unknown(FAILING, producer({SENT: [1_000] * 4})),
    unknown(FAILING, producer({ERRORS: [7] * 2, SENT: [9] * 2}, pushes=2)),
    hit(RETRIES, producer({RETRIED: [50, 0, 60, 40], SENT: [1_000] * 4})),
    # A broker was started anew.
    miss(RETRIES, producer({RETRIED: [900, 0, 0, 0], SENT: [1_000] * 4})),
    miss(RETRIES, producer({RETRIED: [9] * 4, SENT: [10] * 4})),
    unknown(RETRIES, producer({SENT: [1_000] * 4})),
    # Only NaN: nothing happened.
    miss(RETRIES, producer({SENT: [1_000] * 4, RETRIED: [NAN] * 4})),
    hit(MEMORY, memory(ratio=0.2), severity="warning"),
    hit(MEMORY, memory(buffer_exhausted_total=[0, 0, 3, 0]), severity="error"),
    hit(MEMORY, memory(free=0.01, waiting_threads=2)),
    # A load that runs as fast as it can.
    miss(MEMORY, memory(free=0.01, waiting_threads=0)),
    miss(MEMORY, memory(free=0.5, waiting_threads=1, buffer_exhausted_total=[0] * 4)),
    unknown(MEMORY, producer({"producer.bufferpool.wait.ratio": 0.9})),
    hit(WAITS, producer({QUEUE: 5_000, LATENCY: 40})),
    hit(WAITS, producer({QUEUE: 5_000, LATENCY: 40}, software=LIBRDKAFKA)),
    # It lingers as long, fills a transaction, or waits for brokers.
    miss(WAITS, producer({QUEUE: 5_000, LATENCY: 4}, config={"linger.ms": "4000"})),
    miss(WAITS, producer({QUEUE: 5_000, LATENCY: 4}, transactional_id="t1")),
    miss(WAITS, producer({QUEUE: 5_000, LATENCY: 4_000})),
    miss(WAITS, producer({QUEUE: [10, 10, 10, 5_000], LATENCY: 4})),
    unknown(WAITS, producer({LATENCY: 40}, software=PYTHON)),
    hit(BROKER, *slow_first(200, 300, 400), subject="broker/1"),
    hit(
        BROKER,
        *slow_first(200, 300, form="{}", node=5, software=PYTHON, cluster_id="slow-2"),
        *slow_first(500, form="{}", node=5, software=KGO, cluster_id="slow-2"),
        *slow_first(10, 10, 10, form="{}", node=5, cluster_id="slow-2"),
        subject="broker/5",
    ),
    # Too few, not much slower, a release with wrong averages, one broker alone.
    miss(
        BROKER,
        *slow_first(900, 900, cluster_id="quick", node=4),
        *slow_first(40, 45, cluster_id="quick", node=4),
        *slow_first(900, software=("kgo", "v1.21.3"), cluster_id="quick", node=4),
        to_nodes((4, 900), cluster_id="quick"),
        to_nodes((2_147_483_646, 900), (-1, 900), (4, 1), cluster_id="quick"),
        subject="broker/4",
    ),
    hit(REOPENS, producer({f"producer.{CREATED}": [90, 100, 80, 90]})),
    hit(REOPENS, consumer({f"consumer.{CREATED}": [90] * 4}, software=KGO)),
    # It has just begun, or has lost its connections once.
    miss(
        REOPENS,
        producer({f"producer.{CREATED}": [400, 0, 0, 0]}, first_seen=ago(minutes=20)),
    ),
    miss(REOPENS, producer({f"producer.{CREATED}": [0, 9, 0, 0]})),
    unknown(REOPENS, producer({SENT: [1_000] * 4})),
    hit(LOGIN, producer({LOGINS: [1, 0, 2, 0]}), severity="error"),
    hit(
        LOGIN,
        consumer(
            {
                "consumer.failed.authentication.total": [0] * 4,
                "consumer.failed.reauthentication.total": [1] * 4,
            }
        ),
    ),
    # A broker that was not ready.
    miss(LOGIN, producer({LOGINS: [0, 4, 0, 0]})),
    # A cumulative counter that has not moved for hours; one that begins anew.
    miss(LOGIN, producer({LOGINS: (7, 7, 7, 7)})),
    hit(LOGIN, producer({LOGINS: (5, 6, 1, 2)}, client_id="restarted counter")),
    # A push every 15 minutes.
    hit(LOGIN, producer({LOGINS: [1, 0, 2, 0]}, push_interval_ms=900_000)),
    unknown(LOGIN, producer({SENT: [1_000] * 4})),
    hit(
        UNSTABLE,
        member("stable", {REBALANCES: [2] * 4, LONGEST: 900}),
        member("stable", {REBALANCES: [1] * 4, LONGEST: 41_000}),
        subject="group/stable",
        severity="warning",
    ),
    hit(
        UNSTABLE,
        member("scaled", {REBALANCES: [2] * 4, LONGEST: 900}),
        member("scaled", {REBALANCES: [2] * 4}, first_seen=ago(minutes=15)),
        subject="group/scaled",
        severity="advice",
    ),
    hit(
        UNSTABLE,
        member("binding", {SPENT: [10, 0, 7, 8], LONGEST: 90}, software=PYTHON),
        subject="group/binding",
    ),
    miss(
        UNSTABLE,
        member("calm", {REBALANCES: [1, 0, 0, 0], LONGEST: 900}),
        member("calm", {SPENT: [90, 0, 0, 0]}, software=LIBRDKAFKA),
        subject="group/calm",
    ),
    miss(
        UNSTABLE,
        member("new", {REBALANCES: [9] * 4}, first_seen=ago(minutes=5)),
        subject="group/new",
    ),
    unknown(UNSTABLE, member("untold", {POLL: 0.5})),
    hit(SLOW, consumer({POLL: 0.02, MAX_LAG: 50_000}), severity="warning"),
    hit(SLOW, consumer({POLL: 0.02}, software=LIBRDKAFKA), severity="advice"),
    # It keeps up, catches up, polls without waiting, or tells a wrong ratio.
    miss(SLOW, consumer({POLL: 0.02, MAX_LAG: 90})),
    miss(SLOW, consumer({POLL: 0.02, MAX_LAG: [90_000, 70_000, 50_000, 30_000]})),
    miss(
        SLOW,
        consumer({POLL: 0.0, "consumer.fetch.manager.records.consumed.rate": 0}),
    ),
    unknown(SLOW, consumer({POLL: 0.02}, software=("librdkafka", "2.8.0"))),
    miss(SLOW, consumer({POLL: [0.5, 0.02, 0.02, 0.02], MAX_LAG: 50_000})),
    unknown(SLOW, consumer({MAX_LAG: 50_000})),
    hit(
        IDLE,
        member("wide", {ASSIGNED: 3}),
        member("wide", {ASSIGNED: 0}, software=PYTHON),
        subject="group/wide",
    ),
    # The cause is told already.
    hit(
        "group-members-without-common-assignor",
        *(
            member("apart", {ASSIGNED: n}, config={ASSIGNORS: offers})
            for n, offers in ((3, "range"), (0, "cooperative-sticky"))
        ),
        subject="group/apart",
    ),
    miss(IDLE, subject="group/apart"),
    # All have some; one had some until now; the new protocol does not tell.
    miss(IDLE, *(member("fit", {ASSIGNED: n}) for n in (1, 2)), subject="group/fit"),
    miss(
        IDLE,
        *(member("moved", {ASSIGNED: n}) for n in (4, [2, 1, 0, 0])),
        subject="group/moved",
    ),
    miss(
        IDLE,
        *(member("told", m) for m in ({ASSIGNED: 4}, {POLL: 0.9})),
        subject="group/told",
    ),
    unknown(IDLE, member("untold", {POLL: 0.5})),
    hit(LAG, consumer({MAX_LAG: [2e3, 3e3, 4e3, 5e3, 4.9e3, 9e3]}, pushes=6)),
    # A sawtooth, a small one, and one that ends.
    miss(LAG, consumer({MAX_LAG: [2e3, 9e3, 1e3, 9e3, 1e3, 9e3]}, pushes=6)),
    miss(LAG, consumer({MAX_LAG: [1, 2, 3, 4, 5, 6]}, pushes=6)),
    miss(LAG, consumer({MAX_LAG: [2e3, 3e3, 4e3, 5e3]})),
    miss(LAG, consumer({MAX_LAG: [NAN] * 6}, pushes=6)),
    unknown(LAG, consumer({POLL: 0.5}, pushes=6)),
    hit(
        MISSES,
        member("late", {POLL: 0.01, SPENT: [9, 9, 9, 9]}, software=PYTHON),
        severity="warning",
    ),
    hit(
        MISSES,
        member(
            "late",
            {POLL: 0.01, SPENT: [9, 0, 9, 9]},
            software=LIBRDKAFKA,
            config={"max.poll.interval.ms": "6000"},
        ),
        severity="error",
    ),
    # It waits for records; it has joined once.
    miss(MISSES, member("late", {POLL: 0.6, SPENT: [9] * 4}, software=PYTHON)),
    miss(MISSES, member("late", {POLL: 0.01, SPENT: [9, 0, 0, 0]}, software=PYTHON)),
    unknown(MISSES, member("late", {POLL: 0.01}, software=PYTHON)),
    hit(
        EXPIRY,
        producer({QUEUE_MAX: 9_000}, config=EXPIRES, software=PYTHON),
        severity="warning",
    ),
    miss(EXPIRY, producer({QUEUE_MAX: 3_000}, config=EXPIRES, software=PYTHON)),
    miss(
        EXPIRY,
        producer(
            {QUEUE_MAX: 9e9}, config={"message.timeout.ms": "0"}, software=LIBRDKAFKA
        ),
    ),
    unknown(EXPIRY, producer({LATENCY: 9}, config=EXPIRES, software=PYTHON)),
    hit(SILENT, subject="client/User:quiet/lost", severity="warning"),
    hit(SILENT, subject="client/User:alone/lost", severity="advice"),
    # One of its name works in another cluster.
    miss(SILENT, subject="client/User:moved/lost"),
    # It has ended for the proxy, too; or goes on under another instance id.
    miss(SILENT, subject="client/User:quiet/ended"),
    miss(
        SILENT,
        client("again", principal="User:quiet"),
        subject="client/User:quiet/again",
    ),
)


def _silent(principal, client_id, seen_minutes_ago, seen_in="cluster-1"):
    who = {
        "client_instance_id": f"silent {principal} {client_id}",
        "client_id": client_id,
        "principal": principal,
        "client_type": "producer",
        "client_software_name": "apache-kafka-java",
        "client_software_version": "3.9.0",
        "cluster_id": "cluster-1",
        "push_interval_ms": 60_000,
        "first_seen": ago(hours=9),
    }
    pushes = [
        {
            "client_instance_id": who["client_instance_id"],
            "received_at": ago(hours=8, minutes=minutes),
            "event_date": ago(hours=8, minutes=minutes).date(),
            "push_id": f"{who['client_instance_id']} {minutes}",
        }
        for minutes in range(5)
    ]
    traffic = {
        "cluster_id": seen_in,
        "principal": principal,
        "client_id": client_id,
        "window_start": ago(minutes=seen_minutes_ago + 1),
        "received_at": ago(minutes=seen_minutes_ago),
    }
    return who, pushes, traffic


_SILENT = (
    _silent("User:quiet", "lost", 5),
    _silent("User:alone", "lost", 5),
    _silent("User:quiet", "ended", 60 * 8),
    _silent("User:quiet", "again", 5),
    _silent("User:moved", "lost", 5, seen_in="cluster-2"),
)
MORE = (
    (CLIENT_INSTANCES, *(who for who, _, _ in _SILENT)),
    (CLIENT_PUSHES, *(push for _, pushes, _ in _SILENT for push in pushes)),
    (CLIENT_TRAFFIC, *(traffic for _, _, traffic in _SILENT)),
)
"""Rows of clients that are not live."""
