"""What was taken from real clients shows what they were configured with."""

from pathlib import Path

import pytest

from tests.unit.bridge.proxy.test_config_watch import Watched

PATH = Path(__file__).parents[3] / "golden" / "proxy" / "wire_requests.tsv"
ROWS = [line.split("\t") for line in PATH.read_text().splitlines()]
CLIENTS = sorted({row[0] for row in ROWS})
FETCHED = {
    "fetch.min.bytes": "3", "fetch.max.wait.ms": "222", "fetch.max.bytes": "5000000",
    "client.rack": "rack-7",
}  # fmt: skip
JAVA = {
    "plain": {
        "acks": "1", "enable.idempotence": "false", "compression.type": "zstd",
        "request.timeout.ms": "21000", "batch.size": "64",
    },
    "tx": {
        "acks": "all", "enable.idempotence": "true", "compression.type": "gzip",
        "request.timeout.ms": "30000", "transaction.timeout.ms": "31000",
        "transactional.id": "tx-{run}", "batch.size": "64",
    },
    "classic": FETCHED | {
        "group.id": "{run}-group-classic", "group.protocol": "classic",
        "group.instance.id": "one-{run}", "session.timeout.ms": "11000",
        "max.poll.interval.ms": "41000", "isolation.level": "read_committed",
        "partition.assignment.strategy": "cooperative-sticky",
        "max.partition.fetch.bytes": "1048576",
    },
    "consumer": FETCHED | {
        "group.id": "{run}-group-consumer", "group.protocol": "consumer",
        "group.remote.assignor": "range", "max.poll.interval.ms": "42000",
        "isolation.level": "read_uncommitted", "max.partition.fetch.bytes": "70000",
    },
}  # fmt: skip
LIBRDKAFKA_CONSUMER = FETCHED | {
    "group.instance.id": "one-{run}", "isolation.level": "read_committed",
    "max.partition.fetch.bytes": "80000", "max.poll.interval.ms": "45000",
}  # fmt: skip
EXPECTED = {
    **{f"java-3.9.2-{kind}": known for kind, known in JAVA.items()},
    **{f"java-4.3.1-{kind}": known for kind, known in JAVA.items()},
    "librdkafka-2.15-plain": {
        "acks": "1", "request.timeout.ms": "23000", "compression.type": "lz4",
        "enable.idempotence": "false", "batch.size": "256",
    },
    "librdkafka-2.15-tx": {
        "acks": "all", "compression.type": "zstd", "enable.idempotence": "true",
        "transactional.id": "tx-{run}", "transaction.timeout.ms": "33000",
        "request.timeout.ms": "30000", "batch.size": "128",
    },
    "librdkafka-2.15-classic": LIBRDKAFKA_CONSUMER | {
        "group.id": "{run}-group-classic", "group.protocol": "classic",
        "partition.assignment.strategy": "range,roundrobin",
        "session.timeout.ms": "12000",
    },
    "librdkafka-2.15-consumer": LIBRDKAFKA_CONSUMER | {
        "group.id": "{run}-group-consumer", "group.protocol": "consumer",
    },
}  # fmt: skip


@pytest.mark.parametrize("step", [1, None])
@pytest.mark.parametrize("client_id", sorted(EXPECTED))
def test_a_client_shows_what_it_was_configured_with(client_id, step):
    watched = Watched()
    for _, _, _, text in (row for row in ROWS if row[0] == client_id):
        watched.send(bytes.fromhex(text), step)
    run = client_id.rpartition("-")[0]
    expected = {k: v.format(run=run) for k, v in EXPECTED[client_id].items()}
    if step is None:
        assert watched.shown.configs == expected
        assert watched.shown.client_id == client_id
    assert watched.shown.configs.items() <= expected.items()
    assert not watched.counters.unreadable_wire_requests


def test_a_share_consumer_shows_its_group():
    assert set(CLIENTS) - EXPECTED.keys() == {"java-4.3.1-share"}
    watched = Watched()
    for client_id, api_key, _, text in ROWS:
        if client_id == "java-4.3.1-share" and api_key in ("76", "78"):
            watched.send(bytes.fromhex(text))
    assert watched.shown.client_type == "share_consumer"
    assert watched.shown.configs == {
        "group.id": "java-4.3.1-shared",
        "fetch.max.bytes": "52428800",
        "fetch.max.wait.ms": "500",
        "fetch.min.bytes": "1",
    }
