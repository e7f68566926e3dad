import asyncio
import socket
import time

import pytest

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.front.listening import advertised_node, plan_listeners
from pipelines.bridge.server import BridgeServer
from pipelines.errors import InvalidSetting, MissingService
from pipelines.kafka_logs import RepeatFilter, kafka_logger
from pipelines.kafka_wire import topics
from pipelines.kafka_wire.topics import ensure_topics
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader

SECRETS = SecretReader(environ={})


async def serve(settings, on_ready):
    await BridgeServer(settings, SECRETS).serve(asyncio.Event(), on_ready)


def advertise(*words, port=77):
    settings = load_settings("local", [f"bridge.{word}" for word in words])
    (listener,) = plan_listeners(settings)
    return advertised_node(settings.bridge, listener, port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])  # noqa: S104 - refused
def test_every_address_is_none_that_clients_could_be_told(host):
    with pytest.raises(InvalidSetting, match=r"bridge\.advertised_host"):
        advertise(f"listen_host={host}")


def test_clients_are_told_the_address_listened_on_unless_another_is_set():
    node = advertise()
    assert (node.host, node.port) == ("127.0.0.1", 77)
    node = advertise(
        "listen_host=::", "advertised_host=bridge.example", "advertised_port=9"
    )
    assert (node.host, node.port) == ("bridge.example", 9)


def test_subscription_that_cannot_be_used_is_named_before_anything_starts():
    settings = load_settings(
        "local",
        ['subscriptions=[{name="x",metrics=[],interval_ms=100,match=["a=("]}]'],
    )
    with pytest.raises(InvalidSetting, match="subscriptions: x: Illegal client"):
        BridgeServer(settings, SECRETS)


@pytest.mark.parametrize(
    "override",
    ["bridge.max_request_bytes=1048576", "bridge.max_unacknowledged_bytes=1048576"],
)
def test_limit_that_the_largest_push_does_not_fit_is_refused(override):
    settings = load_settings("local", [override])
    name = override.partition("=")[0].replace(".", r"\.")
    with pytest.raises(InvalidSetting, match=f"{name}: is 1048576"):
        BridgeServer(settings, SECRETS)


def test_kafka_settings_that_librdkafka_refuses_are_said_in_one_sentence():
    settings = load_settings(
        "local",
        [
            "bridge.listen_port=0",
            "kafka.security_protocol=SSL",
            "kafka.ssl_ca_location=/does/not/exist.pem",
        ],
    )
    with pytest.raises(InvalidSetting, match=r"kafka.*cannot be used"):
        asyncio.run(serve(settings, lambda *_: None))


def test_taken_port_ends_the_bridge_before_it_asks_kafka():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = load_settings("local", [f"bridge.listen_port={port}"])
        with pytest.raises(MissingService, match=rf"127\.0\.0\.1:{port}"):
            asyncio.run(serve(settings, pytest.fail))


def test_kafka_that_does_not_answer_is_named_with_what_to_do():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{unused.getsockname()[1]}"
        connection = {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
        with pytest.raises(
            MissingService,
            match=rf"Kafka at {servers} does not answer .*\[kafka\] settings",
        ):
            asyncio.run(
                ensure_topics(
                    connection,
                    ["t"],
                    load_settings("local").topics,
                    bridge_id="b",
                    max_record_bytes=2_000_000,
                    timeout_s=0.5,
                )
            )


def test_ensure_topics_without_kafka_reports_progress_and_one_failure(
    monkeypatch, caplog
):
    monkeypatch.setattr(kafka_logger, "filters", [RepeatFilter()])
    monkeypatch.setattr(topics, "_PROGRESS_S", 1.0)
    begin_s = time.time()
    with pytest.raises(MissingService, match="does not answer"):
        asyncio.run(
            ensure_topics(
                {"bootstrap.servers": "127.0.0.1:1"},
                ["t"],
                load_settings("local").topics,
                bridge_id="b",
                max_record_bytes=2_000_000,
                timeout_s=4,
            )
        )
    assert caplog.text.count("Waiting for Kafka: topic=t") >= 2
    (failure,) = [one for one in caplog.records if "FAIL" in one.getMessage()]
    assert failure.created - begin_s < 3


def test_stop_ends_a_bridge_that_still_waits_for_kafka():
    async def start_and_stop():
        stop = asyncio.Event()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            servers = f"127.0.0.1:{silent.getsockname()[1]}"
            settings = load_settings(
                "local",
                [f"kafka.bootstrap_servers={servers}", "bridge.listen_port=0"],
            )
            asyncio.get_running_loop().call_later(0.1, stop.set)
            async with asyncio.timeout(5):
                await BridgeServer(settings, SECRETS).serve(stop, pytest.fail)
        return stop.is_set()

    assert asyncio.run(start_and_stop())


def test_counters_are_printed_by_name():
    counters = BridgeCounters()
    assert counters.as_text() == "nothing has come yet"
    counters.accepted_pushes = 3
    counters.gets = 4
    assert counters.as_text() == "gets=4 accepted_pushes=3"
