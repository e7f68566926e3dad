"""Cases of group A: rules over configuration and identity alone."""

from datetime import timedelta

from pipelines.tables.telemetry import CLIENT_INSTANCES
from tests.support.spark.finding_fleet import ago, client, hit, miss, unknown

LIBRDKAFKA = ("librdkafka", "2.15.0")
PYTHON = ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0")
IN_FLIGHT = "max.in.flight.requests.per.connection"
ASSIGNORS = "partition.assignment.strategy"
ACKS, IDEMPOTENCE = "producer-acks-not-all", "producer-idempotence-silently-off"
REORDERS, EARLY = "producer-reorders-on-retry", "producer-gives-up-early"
SESSION, IGNORED = "consumer-session-timeout-short", "group-protocol-ignored-settings"
LATEST = "consumer-offset-reset-latest"
COMMON, SHARED = "group-members-without-common-assignor", "instances-share-an-identity"
DIFFERS, OLD = "config-differs-between-instances", "client-below-kafka-4-baseline"
POLL_SHORT, TOO_SHORT = "consumer-poll-interval-short", "request-timeout-too-short"
SUPPORT = "client-release-out-of-support"
FENCE, EACH_USE = "producers-fence-each-other", "client-recreated-often"
POLL_INTERVAL, REQUEST = "max.poll.interval.ms", "request.timeout.ms"


def producer(config=None, **known):
    return client(config=config, **known)


def consumer(config=None, **known):
    known = {"group_id": "orders"} | known
    return client("", "consumer", config=config, **known)


def default(value):
    return (value, "default")


def member(group, offers, **known):
    return consumer({ASSIGNORS: offers}, group_id=group, **known)


def whole(**config):
    """Return a configuration whose other keys no catalog fills in: it has a default."""
    keys = {name.replace("__", "."): value for name, value in config.items()}
    return {"client.dns.lookup": default("use_all_dns_ips")} | keys


def timeouts(delivery, request, **more):
    return {"delivery.timeout.ms": delivery, "request.timeout.ms": request} | more


def idempotent(**more):
    return {"enable.idempotence": default("true")} | more


CASES = (
    hit(ACKS, producer({"acks": "1"}), severity="warning"),
    hit(ACKS, producer({"acks": "0", "retries": "3"}), severity="error"),
    hit(ACKS, producer({"request.required.acks": "1"}, software=PYTHON)),
    hit(ACKS, producer(wire={"acks": "1"}), severity="warning"),
    # Known by what the proxy has seen alone.
    hit(ACKS, producer(wire={"acks": "0"}, pushes=0)),
    # Known by its pushed configuration alone.
    hit(ACKS, producer({"acks": "1"}, pushes=0)),
    miss(ACKS, producer({"acks": "all"})),
    miss(ACKS, producer({"acks": "-1"}, software=LIBRDKAFKA)),
    miss(ACKS, producer({"acks": "1"}, is_live=False)),
    miss(ACKS, consumer({"acks": "1"})),
    # A default of the catalog, which is -1.
    miss(ACKS, producer({"linger.ms": "7"}, software=LIBRDKAFKA)),
    unknown(ACKS, producer({"acks": (None, "redacted")})),
    unknown(ACKS, producer({"acks": ("9", "invalid_value")})),
    unknown(ACKS, producer()),
    hit(IDEMPOTENCE, producer(idempotent(acks="1")), severity="warning"),
    hit(IDEMPOTENCE, producer(idempotent(retries="0"))),
    hit(
        IDEMPOTENCE,
        producer(
            idempotent(**{IN_FLIGHT: "6"}), software=("apache-kafka-java", "3.9.2")
        ),
    ),
    hit(IDEMPOTENCE, producer(idempotent(), software=("apache-kafka-java", "3.1.0"))),
    hit(
        IDEMPOTENCE,
        client("connector-producer-a-0", config=idempotent(acks="1")),
        severity="advice",
    ),
    miss(IDEMPOTENCE, producer(idempotent(acks="all", retries="5"))),
    # Not from 4.0 on: it would not have started.
    miss(IDEMPOTENCE, producer(idempotent(**{IN_FLIGHT: "6"}))),
    miss(IDEMPOTENCE, producer({"enable.idempotence": "false", "acks": "1"})),
    miss(
        IDEMPOTENCE,
        producer(idempotent(acks="1"), software=("apache-kafka-java", "2.8.0")),
    ),
    # A build of somebody else has a numbering of its own.
    miss(
        IDEMPOTENCE,
        producer(idempotent(acks="1"), software=("apache-kafka-java", "7.1.0-ccs")),
    ),
    unknown(IDEMPOTENCE, producer(whole(acks="1"))),
    hit(
        REORDERS,
        producer({"enable.idempotence": "false", IN_FLIGHT: "5", "retries": "3"}),
        severity="warning",
    ),
    # Plain defaults of librdkafka, by its catalog.
    hit(REORDERS, producer({"acks": "-1"}, software=LIBRDKAFKA), severity="advice"),
    miss(REORDERS, producer({"enable.idempotence": "false", IN_FLIGHT: "1"})),
    miss(
        REORDERS,
        producer({"enable.idempotence": "false", IN_FLIGHT: "5", "retries": "0"}),
    ),
    miss(REORDERS, producer({"enable.idempotence": "true", IN_FLIGHT: "5"})),
    miss(
        REORDERS,
        producer(
            {"enable.idempotence": "false", IN_FLIGHT: "5"}, transactional_id="tx-1"
        ),
    ),
    unknown(REORDERS, producer(whole(enable__idempotence="false"))),
    hit(EARLY, producer(timeouts("35000", "30000")), severity="warning"),
    hit(EARLY, producer(timeouts("120000", "30000", retries="0")), severity="error"),
    hit(EARLY, producer(timeouts("120000", "30000", retries="3")), severity="warning"),
    hit(
        EARLY,
        producer(timeouts(default("120000"), "90000")),
        severity="advice",
    ),
    hit(
        EARLY,
        producer(
            {"message.timeout.ms": "5000", "socket.timeout.ms": "60000"},
            software=LIBRDKAFKA,
        ),
    ),
    miss(EARLY, producer(timeouts("120000", "30000"))),
    # To librdkafka, 0 is without end; and its own request.timeout.ms is another thing.
    miss(
        EARLY,
        producer({"message.timeout.ms": "0", "acks": "-1"}, software=LIBRDKAFKA),
    ),
    miss(EARLY, producer({"request.timeout.ms": "900000"}, software=LIBRDKAFKA)),
    unknown(EARLY, producer(whole(delivery__timeout__ms="1000"))),
    hit(SESSION, consumer({"session.timeout.ms": "10000"}), severity="warning"),
    hit(
        SESSION,
        consumer({"session.timeout.ms": "45000", "heartbeat.interval.ms": "20000"}),
    ),
    hit(SESSION, consumer(wire={"session.timeout.ms": "6000"})),
    miss(SESSION, consumer({"session.timeout.ms": "45000"})),
    miss(
        SESSION,
        consumer({"session.timeout.ms": "45000", "heartbeat.interval.ms": "15000"}),
    ),
    miss(
        SESSION,
        consumer({"session.timeout.ms": "10000", "group.protocol": "CONSUMER"}),
    ),
    miss(SESSION, consumer({"session.timeout.ms": "10000"}, group_id=None)),
    unknown(SESSION, consumer(whole(auto__offset__reset="latest"))),
    hit(
        IGNORED,
        consumer({"group.protocol": "consumer", "session.timeout.ms": "10000"}),
        severity="warning",
    ),
    hit(
        IGNORED,
        consumer({"group.protocol": "classic", "group.remote.assignor": "range"}),
    ),
    miss(
        IGNORED,
        consumer(
            {"group.protocol": "consumer", "session.timeout.ms": default("45000")}
        ),
    ),
    miss(
        IGNORED, consumer({"group.protocol": "classic", "session.timeout.ms": "45000"})
    ),
    unknown(IGNORED, consumer(whole(session__timeout__ms="10000"))),
    hit(LATEST, consumer({"auto.offset.reset": "latest"}), severity="advice"),
    hit(
        LATEST,
        consumer(
            {"auto.offset.reset": default("largest"), "enable.auto.commit": "true"},
            software=LIBRDKAFKA,
        ),
    ),
    hit(
        LATEST,
        consumer({"auto.offset.reset": "latest", "group.id": "g"}, group_id=None),
    ),
    miss(LATEST, consumer({"auto.offset.reset": "earliest"})),
    miss(LATEST, consumer({"auto.offset.reset": "latest"}, group_id=None)),
    miss(
        LATEST, consumer({"auto.offset.reset": "latest"}, group_id="console-consumer-7")
    ),
    miss(
        LATEST,
        consumer(
            {"auto.offset.reset": default("latest"), "enable.auto.commit": "false"}
        ),
    ),
    unknown(LATEST, consumer({"auto.offset.reset": (None, "redacted")})),
    hit(
        COMMON,
        member("none", "org.apache.kafka.clients.consumer.RangeAssignor"),
        member("none", "cooperative-sticky", software=LIBRDKAFKA),
        subject="group/none",
        severity="error",
    ),
    hit(
        COMMON,
        member("half", "cooperative-sticky"),
        member("half", "range, cooperative-sticky"),
        subject="group/half",
        severity="warning",
    ),
    # What a member has not said itself is the default of another release.
    hit(
        COMMON,
        consumer(
            {"auto.offset.reset": "earliest"},
            group_id="assumed",
            software=("apache-kafka-java", "2.8.0"),
        ),
        member("assumed", "roundrobin"),
        subject="group/assumed",
        severity="warning",
    ),
    miss(
        COMMON,
        member("rolling", "cooperative-sticky", first_seen=ago(minutes=20)),
        member("rolling", "range,cooperative-sticky"),
        subject="group/rolling",
    ),
    miss(
        COMMON,
        member(
            "mixed",
            "org.apache.kafka.clients.consumer.RangeAssignor,"
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        ),
        member("mixed", "range,roundrobin", software=LIBRDKAFKA),
        subject="group/mixed",
    ),
    miss(COMMON, member("alone", "cooperative-sticky"), subject="group/alone"),
    unknown(COMMON, consumer(whole(group__id="g"))),
    hit(
        SHARED,
        producer(transactional_id="orders-tx"),
        producer(transactional_id="orders-tx"),
        subject="transactional.id/orders-tx",
        severity="error",
    ),
    hit(
        SHARED,
        consumer(group_instance_id="pod"),
        consumer(group_instance_id="pod"),
        subject="group.instance.id/orders/pod",
    ),
    # A rolling restart: the old one's last push lies before the new one's first.
    miss(
        SHARED,
        producer(transactional_id="rolled"),
        producer(transactional_id="rolled", first_seen=ago(seconds=20)),
        subject="transactional.id/rolled",
    ),
    miss(
        SHARED,
        consumer(group_instance_id="pod-1"),
        consumer(group_instance_id="pod-2"),
        subject="group.instance.id/orders/pod-1",
    ),
    hit(
        DIFFERS,
        client("shop", config={"acks": "all", "client.id": "a"}),
        client("shop", config={"acks": "1", "client.id": "b"}),
        severity="warning",
    ),
    miss(
        DIFFERS,
        client("rolled", config={"acks": "all"}),
        client("rolled", config={"acks": "1"}, first_seen=ago(minutes=30)),
    ),
    # A default that client_configs only refers to; and the same values pushed again.
    hit(
        DIFFERS,
        client("refers", config={"acks": default("all")}, references=True),
        client("refers", config={"acks": "1"}),
    ),
    hit(
        DIFFERS,
        client("again", config={"acks": "all"}, pushed_again=True),
        client("again", config={"acks": "1"}, pushed_again=True),
    ),
    # Two versions, and the default of each.
    miss(
        DIFFERS,
        client("versions", config={"linger.ms": default("0")}),
        client("versions", config={"linger.ms": default("5")}),
    ),
    miss(
        DIFFERS,
        client("producer-1", config={"acks": "all"}),
        client("producer-1", config={"acks": "1"}),
    ),
    miss(
        DIFFERS,
        client("ended", config={"acks": "all"}),
        client("ended", config={"acks": "1"}, is_live=False),
    ),
    hit(OLD, producer(software=("unknown", "unknown")), severity="error"),
    hit(OLD, producer(software=("apache-kafka-java", "2.0.1"))),
    # Brokers of another cluster are newer.
    hit(
        OLD,
        producer(software=("apache-kafka-java", "2.0.1"), cluster_id="old brokers"),
        severity="warning",
    ),
    hit(OLD, producer(software=("confluent-kafka-python", "1.5.0-rdkafka-1.5.0"))),
    hit(OLD, producer(software=("unknown", "unknown"), wire={"acks": "1"}, pushes=0)),
    miss(OLD, producer(software=("apache-kafka-java", "2.4.0"))),
    miss(OLD, producer(software=("sarama", "1.46.0"))),
    # The second connection of a client that has said who it is by its first.
    miss(
        OLD,
        client("go", software=("unknown", "unknown"), client_source_address="10.9.9.9"),
        client("go", software=("kgo", "v1.20.0"), client_source_address="10.9.9.9"),
    ),
    hit(POLL_SHORT, consumer({POLL_INTERVAL: "6000"}), severity="warning"),
    hit(
        POLL_SHORT,
        consumer(
            wire={POLL_INTERVAL: "6000", "group.id": "orders"},
            software=PYTHON,
            pushes=0,
        ),
    ),
    miss(POLL_SHORT, consumer({POLL_INTERVAL: "300000"})),
    miss(POLL_SHORT, consumer({POLL_INTERVAL: "6000"}, group_id=None)),
    unknown(POLL_SHORT, consumer({POLL_INTERVAL: (None, "redacted")})),
    hit(TOO_SHORT, producer({REQUEST: "5"}), severity="error"),
    # Its telemetry does not arrive either: only the proxy knows it.
    hit(TOO_SHORT, producer(wire={REQUEST: "3"}, pushes=0), severity="error"),
    hit(TOO_SHORT, producer({"socket.timeout.ms": "5"}, software=LIBRDKAFKA)),
    miss(TOO_SHORT, producer({REQUEST: "5000"})),
    unknown(TOO_SHORT, producer({REQUEST: (None, "redacted")})),
    hit(SUPPORT, producer(software=("apache-kafka-java", "3.7.0")), severity="advice"),
    miss(SUPPORT, producer(software=("apache-kafka-java", "4.3.1"))),
    miss(SUPPORT, producer(software=LIBRDKAFKA)),
    hit(FENCE, subject="transactional.id/fenced", severity="error"),
    miss(FENCE, subject="transactional.id/restarted"),
    hit(EACH_USE, subject="client/User:maker/producer-*/producer", severity="warning"),
    # Each on a host of its own; and some that live on.
    miss(EACH_USE, subject="client/User:maker/pods/producer"),
    miss(EACH_USE, subject="client/User:maker/lasting/producer"),
)


def _short(number, client_id, address="10.7.0.1", *, ended=True, **fields):
    """Return an instance that began some minutes ago, and ended soon."""
    begun = ago(minutes=20, seconds=-number)
    return {
        "client_instance_id": f"short {client_id} {number} {fields}",
        "client_id": client_id,
        "principal": "User:maker",
        "client_source_address": address,
        "client_type": "producer",
        "client_software_name": "apache-kafka-java",
        "client_software_version": "4.3.1",
        "cluster_id": "cluster-1",
        "push_interval_ms": 5_000,
        "first_seen": begun,
        "terminated_at": begun + timedelta(seconds=2) if ended else None,
    } | fields


MORE = (
    (
        CLIENT_INSTANCES,
        *(_short(one, "tx", transactional_id="fenced") for one in range(5)),
        *(_short(one, "tx", transactional_id="restarted") for one in range(2)),
        *(_short(one, f"producer-{one}") for one in range(25)),
        *(_short(one, "pods", f"10.7.1.{one}") for one in range(25)),
        *(_short(one, "lasting", ended=one < 5) for one in range(25)),
    ),
)
"""Instances that have ended."""
