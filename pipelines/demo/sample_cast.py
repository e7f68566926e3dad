"""Named clients of the sample fleet, each of which shows one situation.

Events are at fractions of the time range, so two hours show the same as two days.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from .sample_fleet import (
    BARCELONA,
    BROKERS,
    CONSUMER,
    FRANZ_GO,
    JAVA,
    LIBRDKAFKA,
    PARTITIONS,
    PRODUCER,
    Instance,
    SampleFleet,
)

SHARED_LIMIT = 1_000.0
"""Quota of the named clients, in bytes per second and broker."""
CLOCK_AHEAD = timedelta(days=5 * 365)
FAR_BEHIND = 1_000_000.0
"""Lag in records, of one partition of 20."""
Make = Callable[..., Instance]
_OTHER_WORKER = 2
"""Index of the worker that differs from its peers."""
_SAFE: dict[str, str | None] = {"acks": "all", "linger.ms": "5"}


def list_cast(fleet: SampleFleet) -> Iterator[Instance]:
    """Return the instances of the named clients, without numbers."""
    made = partial(Instance, started=fleet.since, ended=fleet.until)
    writes = partial(made, client_type=PRODUCER, family=JAVA)
    reads = partial(made, client_type=CONSUMER, family=JAVA)
    yield from _list_shop(fleet, writes, reads)
    yield from _list_limited(fleet, writes)
    yield from _list_odd(fleet, writes, reads)
    yield from _list_gone(fleet, writes, reads)


def _list_shop(fleet: SampleFleet, writes: Make, reads: Make) -> Iterator[Instance]:
    """Return busy clients, some of which have equal names in both clusters."""
    shop = {"principal": "User:shop"}
    # Always 10 records per second; only its push interval changes.
    yield writes(
        **shop,
        client_id="steady",
        shortened=fleet.at(0.5),
        pushed=_SAFE,
        wire={"acks": "all", "compression.type": "none"},
    )
    yield writes(
        **shop,
        client_id="orders",
        records_per_s=40.0,
        wave=0.3,
        topics=("orders", "payments"),
        pushed={**_SAFE, "sasl.jaas.config": None},
        wire={"acks": "all", "compression.type": "zstd"},
    )
    yield writes(
        **shop,
        client_id="orders",
        cluster_id=BARCELONA,
        family=LIBRDKAFKA,
        slow_brokers={1: 900.0},
        pushed={"acks": "1", "linger.ms": "50"},
    )
    # One partition of 20 lags; each of the four instances reads 100 bytes per second.
    share = PARTITIONS // 4
    for place in range(4):
        yield reads(
            **shop,
            client_id="billing",
            group_id="billing",
            records_per_s=1.0,
            partitions=tuple(range(place * share, (place + 1) * share)),
            lags={7: FAR_BEHIND} if place == 1 else {},
            rebalances_per_hour=0.5,
            pushed={"auto.offset.reset": "earliest", "session.timeout.ms": "45000"},
        )
    for place in range(2):
        yield reads(
            **shop,
            client_id="billing",
            cluster_id=BARCELONA,
            group_id="billing",
            records_per_s=2.0,
            partitions=(place * 2, place * 2 + 1),
            pushed={"auto.offset.reset": "latest"},
        )
    for place in range(3):
        yield reads(
            principal="User:lab",
            client_id="restless",
            group_id="restless",
            partitions=(place,),
            lags={place: 400.0},
            rebalances_per_hour=12.0,
        )
    # Brokers answer at different speeds.
    yield writes(
        principal="User:web",
        client_id="clicks",
        topics=("clicks",),
        slow_brokers={1: 900.0, 2: 3.0, 3: 3.0},
        broker_parts={1: 0.5, 2: 0.25, 3: 0.25},
        connects_per_hour=60.0,
        errors_per_hour=30.0,
        pushed={"acks": "all", "linger.ms": "0"},
    )
    for place in range(6):
        # Six peers, one of which differs.
        yield writes(
            principal="User:data",
            client_id=f"worker-{place + 1}",
            topics=("events",),
            pushed={"acks": "1" if place == _OTHER_WORKER else "all", "linger.ms": "5"},
        )


def _list_limited(fleet: SampleFleet, writes: Make) -> Iterator[Instance]:
    """Return clients with a quota of 1,000 bytes per second and broker."""
    brokers = len(BROKERS)
    for place in range(4):
        # Together 120 % of the limit of three brokers; the cluster has no proxy.
        yield writes(
            principal="User:loaders",
            client_id=f"loader-{place + 1}",
            cluster_id=BARCELONA,
            records_per_s=0.3 * brokers,
            record_bytes=SHARED_LIMIT,
            throttled={fleet.span(0.6, 1.0): 120.0},
        )
    for place in range(4):
        # Together 60 % on average and 110 % at broker 2, as the proxy counts.
        yield writes(
            principal="User:export",
            client_id=f"export-{place + 1}",
            records_per_s=0.15 * brokers,
            record_bytes=SHARED_LIMIT,
            broker_parts={1: 7 / 36, 2: 22 / 36, 3: 7 / 36},
        )
    yield writes(
        principal="User:bulk",
        client_id="bulk-import",
        records_per_s=1.3 * brokers,
        record_bytes=SHARED_LIMIT,
        throttled={fleet.span(0.6, 1.0): 120.0},
    )
    yield writes(
        principal="User:single",
        client_id="single",
        cluster_id=BARCELONA,
        records_per_s=0.8 * brokers,
        record_bytes=SHARED_LIMIT,
    )
    yield writes(
        principal="User:lab",
        client_id="was-throttled",
        family=FRANZ_GO,
        throttled={fleet.span(0.2, 0.5): 80.0},
    )
    yield writes(
        principal="User:lab",
        client_id="was-throttled-java",
        throttled={fleet.span(0.2, 0.5): 80.0},
        idle=fleet.span(0.5, 1.1),
    )


def _list_odd(fleet: SampleFleet, writes: Make, reads: Make) -> Iterator[Instance]:
    """Return clients with unusual telemetry."""
    yield writes(principal="User:lab", client_id="clock-ahead", clock_ahead=CLOCK_AHEAD)
    yield reads(
        principal="User:lab",
        client_id="infinite",
        group_id="infinite",
        partitions=(0, 1),
        infinite=fleet.at(0.9),
    )
    yield writes(
        principal="User:lab",
        client_id="cumulative",
        is_cumulative=True,
        reset=fleet.at(0.6),
        failed_logins=1.0,
        errors_per_hour=6.0,
    )
    yield writes(principal="User:lab", client_id="svc-$a_$b")
    yield writes(
        principal="User:lab", client_id=None, cluster_id=None, family=LIBRDKAFKA
    )
    yield reads(
        principal="User:lab",
        client_id="old-reader",
        family=LIBRDKAFKA,
        version="2.6.1",
        group_id="old-reader",
        partitions=(3,),
        rebalances_per_hour=2.0,
        pushed={"auto.offset.reset": "latest"},
    )
    yield reads(
        principal="User:lab", client_id="go-reader", family=FRANZ_GO, group_id="go"
    )
    yield writes(
        principal="User:lab", client_id="old-go", family=FRANZ_GO, version="v1.20.2"
    )
    for place in range(2):
        yield writes(
            principal="User:bank",
            client_id=f"ledger-{place + 1}",
            transactional_id="ledger",
            pushed={"acks": "all", "enable.idempotence": "true"},
        )


def _list_gone(fleet: SampleFleet, writes: Make, reads: Make) -> Iterator[Instance]:
    """Return clients that started, stopped, changed, or never pushed telemetry."""
    # A restart with a new version that fixes the configuration.
    before = {"acks": "0", "linger.ms": "0"}
    yield writes(
        principal="User:data",
        client_id="restarted",
        version="3.9.2",
        topics=("events",),
        ended=fleet.at(0.5),
        is_terminated=True,
        pushed=before,
    )
    yield writes(
        principal="User:data",
        client_id="restarted",
        topics=("events",),
        started=fleet.at(0.51),
        pushed=_SAFE,
    )
    yield writes(
        principal="User:data",
        client_id="changed",
        topics=("events",),
        pushed=_SAFE,
        repushed={**_SAFE, "linger.ms": "100"},
    )
    yield writes(
        principal="User:web",
        client_id="silent",
        family=LIBRDKAFKA,
        ended=fleet.at(0.75),
    )
    yield writes(principal="User:web", client_id="expired", ended=fleet.at(0.1))
    yield reads(
        principal="User:web",
        client_id="finished",
        group_id="finished",
        partitions=(0,),
        ended=fleet.at(0.8),
        is_terminated=True,
    )
    yield writes(principal="User:web", client_id="came", started=fleet.at(0.7))
    yield writes(
        principal="User:old",
        client_id="only-wire",
        version="2.8.2",
        has_telemetry=False,
        wire={"acks": "0", "compression.type": "none"},
    )
    yield reads(
        principal="User:old",
        client_id="only-configs",
        version="3.6.2",
        group_id="only-configs",
        has_telemetry=False,
        started=fleet.at(0.75),
        pushed={"auto.offset.reset": "earliest", "session.timeout.ms": "6000"},
    )
