"""Fleets as collecting makes them, of any size, without tables."""

import dataclasses
import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from pipelines.report.fleet import (
    CLIENTS,
    SPENT_PARTS,
    Change,
    Detail,
    Example,
    Fleet,
    Line,
    Part,
    Picture,
    RuleFindings,
    TimeAxis,
    Totals,
)
from pipelines.tables.findings import KindCoverage

MADE_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SINCE = MADE_AT - timedelta(hours=24)
STEPS = 48
_SERVICES = ("orders", "billing", "search", "ledger", "mail", "stock", "audit", "maps")
_OTHERS = ("web", "batch", "fraud", "geo", "alerts", "etl")
_SOFTWARE = (
    *[("apache-kafka-java", one) for one in ("3.7.1", "3.9.2", "4.1.1", "4.3.1")],
    *[("librdkafka", one) for one in ("2.6.1", "2.12.1", "2.15.0")],
    *(("franz-go", "v1.21.0"), ("confluent-kafka-python", "2.8.0")),
)
_LONG_WHY = (
    "Java's default has been `all` since 3.0, and librdkafka's is -1. A lower value is a "
    "choice, or left from an old example. A record that only the leader has stored is "
    "lost if that broker fails before its followers have fetched it."
)
_LINES = (
    ("producer.request.latency.avg", "ms"),
    ("producer.record.queue.time.avg", "ms"),
    ("producer.outgoing.byte.rate", "bytes/s"),
    ("producer.record.retry.total", "records"),
    ("producer.produce.throttle.time.max", "ms"),
    ("consumer.fetch.manager.records.lag.max", "records"),
)
_CONFIGS = tuple(
    (key, value, source)
    for source in ("pushed", "wire", "config_defaults", "catalog")
    for key, value in (
        *((f"{source}.acks", "all"), (f"{source}.linger.ms", "5")),
        *((f"{source}.batch.size", "16384"), (f"{source}.retries", "2147483647")),
        *((f"{source}.compression.type", "zstd"), (f"{source}.max.block.ms", "60000")),
    )
)


def make_fleet(clients=40, details=20, hostile=(), seed=7):
    """Return a fleet of that many clients.

    Args:
        hostile: Texts that the first clients have everywhere.
    """
    chance = random.Random(seed)  # noqa: S311 - rows, no secret
    rows = [_make_client(chance, place, hostile) for place in range(clients)]
    columns = [list(one) for one in zip(*rows, strict=True)]
    table = pa.table(columns, schema=CLIENTS)
    return Fleet(
        environment=hostile[0] if hostile else "local",
        made_at=MADE_AT,
        since=SINCE,
        axis=TimeAxis(start=SINCE, end=MADE_AT, steps=STEPS),
        newest_push=MADE_AT - timedelta(minutes=1),
        push_interval_ms=300_000,
        evaluated_at=MADE_AT - timedelta(minutes=5),
        totals=Totals(
            sent_bytes=48_500_000.0,
            consumed_bytes=91_000_000.0,
            largest_lag=1_000_000.0,
            lag_client=_text(hostile, 0, "orders-1"),
            lag_row=0,
            errors=0.25,
            throttled_clients=2,
        ),
        rule_coverage=[
            KindCoverage(
                family="librdkafka",
                client_type="producer",
                clients=12,
                rules=31,
                evaluated=24,
                not_evaluated=[("producer-records-failing", "not for this software")],
            )
        ],
        values={
            "acks=1": range(0, clients, 20),
            "acks=all": [row for row in range(clients) if row % 20],
            _text(hostile, 6, "linger.ms=5"): [0],
        },
        found={"producer-acks-one": range(min(5, clients))},
        clients=table,
        details=[
            _make_detail(chance, place, hostile)
            for place in range(min(details, clients))
        ],
        rules=_make_rules(rows, hostile),
        changes=(
            Change(what="3 clients came", detail=Part()),
            Change(
                what="1 configured value changed",
                moments=[
                    (
                        SINCE + timedelta(hours=9),
                        _text(hostile, 5, "orders-1: linger.ms"),
                    )
                ],
                detail=Part(
                    names=("when", "client", "key", "before", "now"),
                    rows=[
                        (SINCE, _text(hostile, 0, "orders-1"), "linger.ms", "0", "5")
                    ],
                ),
            ),
            Change(
                what="quotas: there is no client_quotas", detail=Part(missing="none")
            ),
        ),
        live=Picture(
            rows=[
                (step, f"User:{_text(hostile, place, name)}", 20 + place * 7 + step % 5)
                for place, name in enumerate((*_SERVICES, *_OTHERS))
                for step in range(STEPS)
            ],
            covered=clients,
        ),
        latency=Picture(
            rows=[
                (_text(hostile, place, f"{name}-1"), broker, 4.0 * times, times)
                for place, name in enumerate(_SERVICES)
                for broker, times in ((1, 1.0), (2, 0.5 + place / 3), (3, 1.2))
            ],
            covered=8,
        ),
        time_spent=Picture(
            rows=[
                (_text(hostile, place, f"{name}-1"), part, ms)
                for place, name in enumerate(_SERVICES)
                for part, ms in (
                    ("waits in the client", 5.0 + 9 * place),
                    ("request", 12.5),
                    ("throttled", 0.0 if place % 3 else 30.0),
                )
            ],
            covered=8,
        ),
        consumers=Picture(
            rows=[
                (
                    _text(hostile, place, f"{_SERVICES[place % 8]}-{place}"),
                    chance.random(),
                    None if place % 9 == 0 else 10 ** (6 * chance.random()),
                    chance.random() * 20_000,
                )
                for place in range(60)
            ],
            covered=60,
        ),
        limits=Part(
            names=("quota-id", "quota key", "used (%)", "limit", "clients"),
            rows=[
                (
                    _text(hostile, place, f"User:{name}:"),
                    "producer_byte_rate",
                    120 - place * 12.5,
                    1_048_576.0,
                    3,
                )
                for place, name in enumerate(_SERVICES)
            ],
        ),
        outliers=Part(
            names=("principal", "type", "key", "nearly all have", "client", "has"),
            rows=[
                (
                    *("User:orders", "producer", "acks", "all"),
                    *(_text(hostile, 1, "orders-7"), _text(hostile, 2, "1")),
                )
            ],
        ),
        brokers=Part(
            names=("broker", "state", "rack", "configs"),
            rows=[(1, "live", "a", 210), (2, "live", "b", 210), (3, "gone", None, 209)],
        ),
        drift=Part(missing="there is no broker_configs; cluster_metadata_to_delta"),
        not_told=(
            ("Clients without telemetry", Part(names=("state",), rows=[("x",)])),
        ),
        health=(("Checks that fail", Part(names=("table",), rows=[])),),
    )


def make_young_fleet(steps=1):
    """Return a fleet whose pictures would have one value, one outlier or nothing.

    Args:
        steps: Steps of five minutes that the axis has.
    """
    fleet = make_fleet(3, 3)
    slow, *others = (f"{name}-1" for name in _SERVICES)
    lines = [
        Line(name="producer.request.latency.avg", unit="ms", points=[(0, 12.5)]),
        Line(name="producer.record.queue.time.avg", unit="ms",
             points=[(step, 96_000.0 if step == 5 else 3.0) for step in range(STEPS)]),
        Line(name="producer.batch.size.avg", unit="bytes",
             points=[(step, 10.0 + step) for step in (0, 1, 2, 40, 41, 42)]),
        Line(name="producer.record.error.total", unit="records", is_per_step=True,
             points=[(step, 0.0) for step in range(STEPS)]),
    ]  # fmt: skip
    software = ["librdkafka"] * 3, ["2.15.0"] * 3
    table = fleet.clients
    for name, column in zip(("software", "version"), software, strict=True):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(column))
    return dataclasses.replace(
        fleet,
        axis=TimeAxis(
            start=MADE_AT - steps * timedelta(minutes=5), end=MADE_AT, steps=steps
        ),
        newest_push=MADE_AT - timedelta(minutes=45),
        clients=table,
        details=[dataclasses.replace(one, lines=lines) for one in fleet.details],
        rules=[dataclasses.replace(fleet.rules[0], clients=3)],
        changes=[Change(what="no client came", detail=Part())],
        live=Picture(rows=[(0, "User:orders", 2)], covered=3),
        latency=Picture(missing="No client has told its latency."),
        time_spent=Picture(
            rows=[
                *((slow, part, ms) for part, ms in zip(SPENT_PARTS, (9e4, 6e3, 0.0), strict=True)),
                *((name, part, 12.0) for name in others for part in SPENT_PARTS),
            ],
            covered=8,
        ),
        consumers=Picture(rows=[("orders-1", 0.25, 12_000.0, 3.5)], covered=1),
        limits=Part(
            names=fleet.limits.names,
            rows=[
                ("orders", "producer_byte_rate", 5_000.0, 1_024.0, 3),
                *((name, "producer_byte_rate", 4.0, 1_024.0, 3) for name in others),
            ],
        ),
    )  # fmt: skip


def _text(hostile, place, usual):
    return hostile[place % len(hostile)] if hostile else usual


def _make_client(chance, place, hostile):
    service = _SERVICES[place % 8]
    software, version = chance.choice(_SOFTWARE)
    is_hostile = place < len(hostile)
    client_id = (
        hostile[place]
        if is_hostile
        else f"{service}-{place:06d}-{chance.randrange(10**6)}"
    )
    kind = chance.choice(("producer", "consumer"))
    seen = int(MADE_AT.timestamp() * 1000) - chance.randrange(1, 9_000_000)
    state = chance.choices(("active", "idle", "terminated", "expired"), (80, 8, 8, 4))[
        0
    ]
    return (
        *("4L6g3nShT-eMCtK--X86sw", f"User:{client_id if is_hostile else service}"),
        *(client_id, kind),
        *(hostile[place] if is_hostile else software, version, 1 + (place % 50 == 0)),
        *(state, "wire" if place % 25 == 9 else "telemetry"),
        *(3, 2 if state == "active" else 0),
        *(seen - chance.randrange(10**10), seen),
        f"{service}-group" if kind == "consumer" else None,
        *(int(place < 5), int(place < 9) * 2, int(chance.random() < 0.1)),
        *(chance.random() if place % 9 == 0 else None, None),
    )


def _make_detail(chance, place, hostile):
    return Detail(
        identity=(("addresses", _text(hostile, place, "10.0.0.7")),),
        instances=Part(
            names=("client instance id", "state", "address", "last push"),
            rows=[
                (f"{chance.getrandbits(128):032x}"[:22], "live", "10.0.0.7", MADE_AT)
                for _ in range(3)
            ],
        ),
        configs=Part(
            names=("key", "value", "source", "status"),
            rows=[
                *((key, value, source, "default") for key, value, source in _CONFIGS),
                ("sasl.jaas.config", None, "pushed", "redacted"),
                *((text, text, text, text) for text in hostile),
            ],
        ),
        history=Part(
            names=("key", "value", "from", "to"),
            rows=[
                ("linger.ms", "0", SINCE, MADE_AT),
                ("linger.ms", "5", MADE_AT, None),
            ],
        ),
        lines=[
            Line(
                name=_text(hostile, place, name),
                unit=_text(hostile, place + 1, unit),
                points=[
                    (step, 20 + 9 * chance.random() + (step > 30) * 40)
                    for step in range(STEPS)
                ],
            )
            for name, unit in _LINES
        ],
        marks={"throttled": [31, 32, 40], "rebalance": [12, 30]},
        quotas=Part(names=("key", "limit"), rows=[("producer_byte_rate", 1048576.0)]),
        findings=Part(
            names=(
                *("severity", "rule", "what is wrong", "set", "is", "to", "why"),
                "since",
            ),
            rows=[
                (
                    *("error", "producer-acks-one"),
                    _text(hostile, place, "It waits for one broker (`acks=1`)."),
                    *("acks", "1", "all"),
                    _text(hostile, place, _LONG_WHY),
                    SINCE,
                )
            ],
        ),
        push_interval_ms=300_000,
        rules_evaluated=24,
        rules_not_evaluated=Part(
            names=("rule", "reason"),
            rows=[("producer-records-failing", "not for this software")],
        ),
    )


def _make_rules(rows, hostile):
    return [
        RuleFindings(
            rule=rule, severity=severity, clients=clients, instances=clients * 2,
            opened=1, since=SINCE, setting="linger.ms",
            suggested_value=_text(hostile, 3, "20"),
            why=_text(hostile, 4, "Each request costs a broker the same."),
            source="KIP-1030",
            examples=[
                Example(
                    row=place, name=str(rows[place][2]), since=SINCE,
                    sentence=_text(hostile, place, "linger.ms is 0, and batches are 1% full"),
                )
                for place in range(min(clients, 10, len(rows)))
            ],
        )
        for rule, severity, clients in (
            ("producer-acks-one", "error", 5), ("batches-tiny", "warning", 9),
            ("fetch-min-bytes", "advice", 40), ("old-version", "advice", 12),
        )
    ]  # fmt: skip
