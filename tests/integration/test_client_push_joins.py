"""One id for configuration and telemetry, and each way to log in."""

import asyncio
import time
import uuid
from contextlib import ExitStack

import pytest

from pipelines import clients
from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.starting import prepare
from tests.integration.test_bridge_security import PRINCIPALS, client_configs
from tests.support.bridge.config_support import DEADLINE_S, read_topic, running_bridge
from tests.support.bridge.secured_bridge import Site, serving

SUBSCRIPTION = 'subscriptions=[{name="s",metrics=["*"],interval_ms=500,match=[]}]'
QUIET = {"error_cb": lambda _error: None, "log_level": 0}


@pytest.mark.parametrize(
    ("bridges", "workers"),
    [(1, 1), *(pytest.param(*one, marks=pytest.mark.long) for one in ((1, 4), (2, 1)))],
)
def test_configuration_and_telemetry_join_by_the_id(kafka, tmp_path, bridges, workers):
    """Whichever worker of whichever bridge takes which connection."""
    name = uuid.uuid4()
    topics = [f"topics.telemetry=t-{name}", f"topics.configs=c-{name}"]
    more = [SUBSCRIPTION, f"bridge.workers={workers}", "bridge.http_port=0"]
    with ExitStack() as stack:
        servers = []
        for node_id in range(bridges):
            words = [*topics, *more, f"bridge.node_id={node_id}"]
            log = tmp_path / f"log-{node_id}"
            _, host, port = stack.enter_context(running_bridge(kafka, log, *words))
            servers.append(f"{host}:{port}")
        conf = {"bootstrap.servers": ",".join(servers)} | QUIET
        producers = [clients.Producer(conf | {"client.id": f"a-{i}"}) for i in range(4)]
        ids = {one.client_instance_id() for one in producers}
        deadline = time.monotonic() + DEADLINE_S
        telemetry = {}
        while ids - telemetry.keys():
            for producer in producers:
                producer.poll(0.05)
            telemetry = {
                record.key().decode(): dict(record.headers())
                for record in read_topic(kafka, f"t-{name}")
            }
            assert time.monotonic() < deadline
        configs = {
            record.key().decode(): dict(record.headers())
            for record in read_topic(kafka, f"c-{name}")
        }
    assert ids == configs.keys() == telemetry.keys()
    for one in ids:
        for header in ("client_id", "client_software_name", "client_software_version"):
            assert telemetry[one][header] == configs[one][header]
        assert b"cid" not in telemetry[one]["client_software_version"]


def test_each_way_to_log_in_is_the_clients_own(kafka, tmp_path):
    name = uuid.uuid4()
    site = Site(tmp_path)

    async def run():
        enabled = ["client_config.enabled=true", f"topics.configs=c-{name}"]
        settings = site.settings(kafka, f"t-{name}", *enabled)
        async with serving(settings) as server:
            configs = client_configs(site, server)
            for conf in configs.values():
                prepared = await asyncio.to_thread(prepare, PRODUCER, conf)
                assert prepared.client_instance_id is not None
            return await asyncio.to_thread(read_topic, kafka, f"c-{name}")

    records = asyncio.run(run())
    headers = [dict(record.headers()) for record in records]
    told = {one["client_id"].decode(): one["principal"].decode() for one in headers}
    assert told == PRINCIPALS


WRONG = {
    "password": {"sasl.password": "wrong"},
    "mechanism": {"sasl.mechanism": "PLAIN", "sasl.username": "nobody"},
    "authority": {"ssl.ca.location": ""},
}


@pytest.mark.parametrize("kind", WRONG)
def test_who_cannot_log_in_is_told_at_once_and_pushes_nothing(
    kafka, tmp_path, kind, caplog
):
    site = Site(tmp_path)

    async def run():
        enabled = ["client_config.enabled=true", f"topics.configs=c-{uuid.uuid4()}"]
        settings = site.settings(kafka, f"t-{uuid.uuid4()}", *enabled)
        async with serving(settings) as server:
            conf = client_configs(site, server)["scram512"] | WRONG[kind]
            prepared = await asyncio.to_thread(prepare, PRODUCER, conf)
            return prepared.conf == conf

    is_unchanged = asyncio.run(run())
    told = [one.getMessage() for one in caplog.records if one.name == "kafka_clientele"]
    (warning,) = told
    assert "configuration push: failed: authentication failed: " in warning
    assert "wrong" not in warning
    assert is_unchanged == (kind == "authority")
