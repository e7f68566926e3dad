"""Dynamic configs in the client library, as the bridge in front of a real Kafka has them."""

import asyncio
import threading
import time
from functools import partial

import pytest

from pipelines import clients
from pipelines.clients import aio
from pipelines.clients.dynamic import DynamicProducer
from pipelines.clients.dynamic_values import (
    APPLIED,
    IGNORED,
    PENDING,
    UNSUPPORTED,
    DynamicConfig,
)
from tests.long.dynamic_clients import (
    PATIENCE_S,
    QUIET,
    consume_through,
    judge_produced,
    make_dynamic_topic,
    produce_through,
    read_by_kafka,
    wait_for,
)
from tests.support.bridge.dynamic_site import dynamic_site
from tests.support.documents import find_block
from tests.support.jobs.called_main import call_main

SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
GROUP = {"group.id": "team"}
BELOW = "heartbeat.interval.ms must be below session.timeout.ms"


@pytest.fixture(scope="module")
def shared_site(kafka):
    with dynamic_site(kafka) as made:
        yield made


@pytest.fixture
def site(shared_site):
    shared_site.set_values()
    return shared_site


@pytest.fixture
def topic(site):
    return make_dynamic_topic(site.kafka.bootstrap_servers)


def conf_of(site, **more):
    patient = {"default.api.timeout.ms": 60_000}
    return {"bootstrap.servers": site.server, **QUIET, **patient, **more}


def in_force_at_start(site, kind, **conf):
    """Make a client; return what it says and what it pushed."""
    client = kind(conf_of(site, **conf))
    told = client.dynamic_configs()
    pushed = site.read_pushes()[client.client_instance_id()]
    client.close()
    return told, pushed


def test_a_value_stands_over_the_applications_and_is_pushed(site):
    site.set_values(acks="1", session_timeout_ms="9000", heartbeat_interval_ms="2000")
    told, pushed = in_force_at_start(site, clients.Producer, acks="all")
    assert told["acks"] == DynamicConfig("1", APPLIED)
    assert {told[key].state for key in (SESSION, HEARTBEAT)} == {UNSUPPORTED}
    assert pushed["acks"] == ("1", False)
    more = GROUP | {SESSION: 20_000}
    told, pushed = in_force_at_start(site, clients.Consumer, **more)
    assert (told[SESSION].state, told[HEARTBEAT].state) == (APPLIED, APPLIED)
    assert pushed[SESSION] == ("9000", False)
    assert pushed[HEARTBEAT] == ("2000", False)


def test_the_example_of_its_page_says_what_there_is(site, capsys):
    site.set_values(acks="1")
    example = find_block("docs/guide/client-library.md", "dynamic-configs").text
    example = example.replace("kafka_clientele", "pipelines.clients")
    names = {}
    exec(example.replace("127.0.0.1:9192", site.server), names)  # noqa: S102 - the page's
    names["producer"].close()
    assert capsys.readouterr().out.startswith(
        "{'acks': DynamicConfig(value='1', state="
    )


def test_what_a_client_can_take_is_registered(site):
    site.set_values(acks="1")
    clients.Producer(conf_of(site, **{"client.id": "registers"})).close()
    deadline = time.monotonic() + PATIENCE_S
    while not any(
        "confluent-kafka-python" in one and "acks" in one
        for one in site.find_supported()
    ):
        assert time.monotonic() < deadline


STARTS = {
    "idempotence": (
        clients.Producer, {"enable.idempotence": True}, {"acks": "1"},
        "enable.idempotence needs acks=all"),
    "transactions": (
        clients.Producer, {"transactional.id": "t"}, {"acks": "0"},
        "transactional.id needs acks=all"),
    "a late heartbeat": (
        clients.Consumer, GROUP, {HEARTBEAT: "50000"}, BELOW),
    "the newer protocol": (
        clients.Consumer, GROUP | {"group.protocol": "consumer"}, {SESSION: "9000"},
        "group.protocol=consumer: the group's configs at the broker decide"),
    "a share group": (
        clients.ShareConsumer, GROUP, {SESSION: "9000"},
        "the group's configs at the broker decide for share consumers"),
    "what a trial refuses": (
        clients.Consumer, GROUP, {SESSION: "3600001"},
        "confluent_kafka refuses the value"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "conf", "values", "why"), STARTS.values(), ids=STARTS)
def test_what_must_not_be_is_ignored_and_the_client_works(
    site, push_log, kind, conf, values, why
):
    logger, texts = push_log
    site.set_values(**values)
    told, pushed = in_force_at_start(site, kind, logger=logger, **conf)
    ((key, value),) = values.items()
    assert told == {key: DynamicConfig(value, IGNORED, why)}
    assert texts == [f"dynamic configs: {key}={value} is ignored: {why}"]
    assert pushed.get(key, ("", True))[0] != value


def test_a_running_client_says_what_is_pending_and_calls_back(site, topic):
    told = []
    soon = {"metadata.max.age.ms": 20, "on_dynamic_config": told.append}
    producer = clients.Producer(conf_of(site, **soon))
    assert producer.dynamic_configs() == {}
    site.set_values(acks="1")
    producer.produce(topic, "0")
    wait_for(lambda: producer.poll(0.02), producer, "acks", "1", PENDING)
    assert [list(one) for one in told] == [["acks"]]
    site.set_values()
    deadline = time.monotonic() + PATIENCE_S
    while producer.dynamic_configs():
        producer.poll(0.02)
        assert time.monotonic() < deadline
    assert told[-1]["acks"].value is None
    assert producer.flush(PATIENCE_S) == 0
    producer.close()


def test_a_client_with_asyncio_is_called_back_in_its_loop(site):
    async def run():
        told = asyncio.Event()

        async def tell(changed):
            assert changed["acks"].state == PENDING
            told.set()

        conf = conf_of(site, on_dynamic_config=tell, **{"metadata.max.age.ms": 20})
        del conf["error_cb"]
        producer = await aio.AIOProducer.create(conf)
        site.set_values(acks="0")
        async with asyncio.timeout(PATIENCE_S):
            while not told.is_set():
                await producer.poll(0.02)
        await producer.close()

    asyncio.run(run())


def test_a_producer_made_anew_pushes_what_is_in_force_then(site):
    producer = DynamicProducer(conf_of(site, **{"metadata.max.age.ms": 20}))
    before = producer.client_instance_id()
    site.set_values(acks="0")
    wait_for(lambda: producer.poll(0.02), producer, "acks", "0")
    after = producer.client_instance_id()
    producer.close()
    pushes = site.read_pushes()
    assert (pushes[before]["acks"][0], pushes[after]["acks"][0]) == ("all", "0")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_producer_behind_the_proxy_changes_its_acks_under_load(java, site, topic):
    soon = {"metadata.max.age.ms": 20}
    producer = DynamicProducer(conf_of(site, **soon))
    done = produce_through(producer, topic, site.set_values, 4, 300)
    producer.close()
    stored = read_by_kafka(java, site.kafka.bootstrap_servers, topic)
    assert judge_produced(done, stored) == (0, 0, 0, 0)


class Locked:
    """An application that holds one lock in produce and takes it in its reports."""

    def __init__(self, producer, topic):
        self._producer, self._topic, self._lock = producer, topic, threading.Lock()
        self.sent = 0
        self.reported = []
        self.in_produce = None
        self.reports_in_produce = 0

    def produce(self):
        with self._lock:
            self.in_produce = threading.get_ident()
            self._producer.produce(
                self._topic, str(self.sent), partition=0, on_delivery=self._report
            )
            self.in_produce = None
            self.sent += 1

    def _report(self, error, record):
        self.reports_in_produce += self.in_produce == threading.get_ident()
        with self._lock:
            assert error is None
            self.reported.append(int(record.value()))

    def has(self, acks):
        found = self._producer.dynamic_configs().get("acks")
        return found == (None if acks is None else DynamicConfig(acks, APPLIED))


def wait_until(is_so, app):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, (app.sent, len(app.reported))
        time.sleep(0.05)


@pytest.mark.parametrize("threads", [1, 2])
def test_kafka_configs_alter_lets_an_application_with_a_lock_go_on(
    site, topic, capsys, threads
):
    """The same lock is held around produce and taken in on_delivery."""
    producer = DynamicProducer(conf_of(site, **{"metadata.max.age.ms": 20}))
    app, is_over = Locked(producer, topic), threading.Event()
    handle = producer._handle

    def run():
        while not is_over.is_set():
            app.produce()
            producer.poll(0)

    def produce():
        while not is_over.wait(0.001):
            app.produce()

    def poll():
        while not is_over.is_set():
            producer.poll(0.05)

    running = [
        threading.Thread(target=one, daemon=True)
        for one in ([run] if threads == 1 else [produce, poll])
    ]
    for one in running:
        one.start()
    alter = ["kafka-configs", "--bootstrap-server", site.server, "--alter"]
    alter += ["--entity-type", "users", "--entity-name", "ANONYMOUS"]
    for acks, change in (("1", "--add-config=acks=1"), (None, "--delete-config=acks")):
        assert call_main(capsys, *alter, change)[0] == 0
        wait_until(partial(app.has, acks), app)
        enough = app.sent + 100
        wait_until(lambda: app.sent >= enough, app)  # noqa: B023 - called at once
    is_over.set()
    for one in running:
        one.join(PATIENCE_S)
    assert producer.flush(PATIENCE_S) == 0
    assert producer._handle is not handle
    assert app.reports_in_produce == 0
    assert app.reported == list(range(app.sent))
    producer.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_group_behind_the_proxy_changes_its_session(site, topic):
    servers = site.kafka.bootstrap_servers
    got = consume_through(servers, site.server, topic, site.set_values, 1)
    assert (got.missing, got.backwards) == (0, [])
    assert got.highest == got.ends
