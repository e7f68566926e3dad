"""Ordinary clients of the sample fleet: services that write, and groups that read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from .sample_cast import list_cast
from .sample_fleet import (
    AMSTERDAM,
    BARCELONA,
    CONSUMER,
    FRANZ_GO,
    JAVA,
    LIBRDKAFKA,
    PRODUCER,
    Instance,
    SampleFleet,
)

_WORDS = ("cart", "price", "stock", "search", "mail", "fraud", "ads", "geo", "audit")
_TEAMS = ("shop", "web", "bank", "lab", "data", "mobile", "search")
_TOPICS = ("orders", "payments", "clicks", "events")
_BATCH_PART, _FAULTY_PART, _SILENT_PART = 0.25, 0.03, 0.3
_VERSIONS: Mapping[str, Sequence[str]] = {
    JAVA: ("3.7.1", "3.9.2", "4.1.1", "4.3.1", "4.3.1"),
    LIBRDKAFKA: ("2.6.1", "2.12.1", "2.15.0"),
    FRANZ_GO: ("v1.20.2", "v1.21.4"),
}


def list_instances(fleet: SampleFleet) -> list[Instance]:
    """Return all instances of a fleet with their numbers, named clients first."""
    cast = list(list_cast(fleet))
    clients = len({one.client for one in cast})
    crowd = _list_crowd(fleet, max(fleet.clients - clients, 0))
    return [
        replace(
            one,
            number=number,
            rack=one.rack or f"rack-{'abc'[number % 3]}",
            is_new=one.started > fleet.since,
        )
        for number, one in enumerate([*cast, *crowd], 1)
    ]


def _list_crowd(fleet: SampleFleet, count: int) -> Iterator[Instance]:
    """Return ordinary clients: services that write, and groups that read."""
    chance = Random(fleet.seed)  # noqa: S311 - the same fleet each time
    for place in range(count):
        family = chance.choices((JAVA, LIBRDKAFKA, FRANZ_GO), (5, 3, 2))[0]
        version = _choose_version(chance, family)
        client_type = (PRODUCER, CONSUMER)[place % 2]
        service = f"{_WORDS[place // 2 % len(_WORDS)]}-{place // 2:04d}"
        is_batch = chance.random() < _BATCH_PART
        start = chance.random() * 0.8 if is_batch else 0.0
        yield Instance(
            client_id=f"{service}-{'writer' if place % 2 == 0 else 'reader'}",
            principal=f"User:{_TEAMS[place // 2 % len(_TEAMS)]}",
            client_type=client_type,
            family=family,
            version=version,
            cluster_id=chance.choices((AMSTERDAM, BARCELONA), (3, 2))[0],
            group_id=service if client_type == CONSUMER else None,
            topics=(_TOPICS[place % len(_TOPICS)],),
            started=fleet.at(start),
            ended=fleet.at(start + 0.1) if is_batch else fleet.until,
            is_terminated=is_batch,
            records_per_s=round(10 ** chance.uniform(-0.5, 2.7), 2),
            record_bytes=float(chance.choice((80, 200, 500, 2_000))),
            wave=0.4,
            latency_ms=round(chance.uniform(2, 12), 2),
            errors_per_hour=20.0 if chance.random() < _FAULTY_PART else 0.0,
            rebalances_per_hour=0.2,
            connects_per_hour=0.5,
            partitions=tuple(range(4)) if client_type == CONSUMER else (),
            pushed=_choose_configs(chance, client_type, family),
        )


def _choose_version(chance: Random, family: str) -> str:
    return chance.choice(_VERSIONS[family])


def _choose_configs(
    chance: Random, client_type: str, family: str
) -> Mapping[str, str | None] | None:
    """Return the configuration that a user set; a few values are wrong on purpose."""
    if family == FRANZ_GO or chance.random() < _SILENT_PART:
        return None
    if client_type == CONSUMER:
        return {"auto.offset.reset": chance.choice(("earliest", "latest"))}
    is_weak = chance.random() < _FAULTY_PART
    return {
        "acks": "1" if is_weak else "all",
        "linger.ms": chance.choice(("5", "5", "5", "20")),
        "compression.type": "zstd",
    }
