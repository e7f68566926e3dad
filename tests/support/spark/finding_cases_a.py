"""Cases of group A: rules over configuration and identity alone."""

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
)
