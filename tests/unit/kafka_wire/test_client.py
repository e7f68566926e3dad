"""Real sockets on loopback; only the broker's answers are given by the test."""

import asyncio
import socket

import pytest
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.list_config_resources.v1.response import ListConfigResourcesResponse

from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient, converse
from pipelines.kafka_wire.cluster_requests import adapt
from pipelines.kafka_wire.faults import ClusterFault, ClusterRefusal, MissingApi

LIST = ListConfigResourcesRequest(resource_types=(16,))


def make_client(*ports, **connection):
    servers = ",".join(f"127.0.0.1:{port}" for port in ports)
    access = read_access(
        {
            "bootstrap.servers": servers,
            "security.protocol": "PLAINTEXT",
            **{name.replace("_", "."): value for name, value in connection.items()},
        }
    )
    return ClusterClient(access, client_id="bridge-1")


async def ask(client, timeout_s=5.0):
    answer = await client.ask(LIST, ListConfigResourcesResponse, timeout_s=timeout_s)
    return [one.resource_name for one in answer.config_resources]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def test_requests_share_one_connection(make_answers, make_broker):
    async def run():
        async with make_broker(make_answers()) as broker:
            client = make_client(broker.port)
            answers = await asyncio.gather(*(ask(client) for _ in range(20)))
            await client.close()
            return answers, broker.connections

    assert asyncio.run(run()) == ([["s"]] * 20, 1)


def test_cut_connection_is_made_anew_for_the_same_request(make_answers, make_broker):
    async def run():
        async with make_broker(make_answers()) as broker:
            # The greeting and one answer; the next request finds it closed.
            broker.hangs_up_after = 2
            client = make_client(broker.port)
            answers = [await ask(client) for _ in range(3)]
            await client.close()
            return answers, broker.connections

    assert asyncio.run(run()) == ([["s"]] * 3, 3)


def test_server_that_is_away_is_passed_over(make_answers, make_broker):
    async def run():
        async with make_broker(make_answers()) as broker:
            client = make_client(free_port(), broker.port)
            answer = await ask(client)
            await client.close()
            return answer

    assert asyncio.run(run()) == ["s"]


def test_silent_broker_is_given_up_in_time_and_asked_again_later(
    make_answers, make_broker
):
    async def run():
        async with make_broker(make_answers()) as broker:
            client = make_client(broker.port)
            broker.is_silent = True
            with pytest.raises(
                ClusterFault, match=rf"127\.0\.0\.1:{broker.port} does not answer"
            ):
                await ask(client, timeout_s=0.2)
            broker.is_silent = False
            answer = await ask(client)
            await client.close()
            return answer, broker.connections

    # The late answer of the first connection must not be taken for the second's.
    assert asyncio.run(run()) == (["s"], 2)


def test_nobody_there_is_said_with_the_reason():
    async def run():
        client = make_client(free_port())
        with pytest.raises(ClusterFault, match="does not answer") as caught:
            await ask(client, timeout_s=2.0)
        await client.close()
        return str(caught.value)

    assert "refused" in asyncio.run(run()).lower()


def test_something_else_than_kafka_is_said():
    async def hang_up(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def run():
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            client = make_client(server.sockets[0].getsockname()[1])
            with pytest.raises(ClusterFault, match="answer of 1213486160 bytes"):
                await ask(client, timeout_s=2.0)
            await client.close()

    asyncio.run(run())


def test_refused_login_is_not_tried_until_the_time_is_over(make_answers, make_broker):
    async def run():
        async with make_broker(make_answers(mechanism="PLAIN")) as broker:
            client = make_client(
                broker.port,
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism="PLAIN",
                sasl_username="bridge",
                sasl_password="wrong-one",
            )
            with pytest.raises(ClusterRefusal) as caught:
                await ask(client, timeout_s=60)
            await client.close()
            return str(caught.value), broker.connections

    text, connections = asyncio.run(run())
    assert "sasl_authentication_failed" in text
    assert "wrong-one" not in text
    assert connections == 1


def test_older_cluster_is_sent_the_older_version_and_its_answer_made_new(
    make_answers, make_broker, listing
):
    async def run():
        answers = make_answers({18: (0, 3), 74: (0, 0)})
        answers.others = lambda _request: adapt(listing("a"), 0)
        async with make_broker(answers) as broker:
            client = make_client(broker.port)
            answer = await client.ask(LIST, ListConfigResourcesResponse)
            await client.close()
            return answer, answers.requests[-1].__version__

    assert asyncio.run(run()) == (listing("a"), 0)


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"\0", "ListConfigResourcesResponse 1"),
     # Two thousand million resources, which must not be believed.
     (bytes(6) + b"\xff\xff\xff\xff\x07", "items")],
)  # fmt: skip
def test_answer_that_cannot_be_read_is_malformed(body, said):
    steps = converse(LIST, {74: range(2)})
    next(steps)
    with pytest.raises(MalformedBytes, match=said):
        steps.send(body)


@pytest.mark.parametrize("offered", [{18: (0, 3)}, {18: (0, 3), 74: (2, 9)}])
def test_api_that_the_cluster_lacks_leaves_the_connection(
    make_answers, make_broker, offered
):
    async def run():
        async with make_broker(make_answers(offered)) as broker:
            client = make_client(broker.port)
            for _ in range(2):
                with pytest.raises(MissingApi, match="API key 74"):
                    await ask(client)
            await client.close()
            return broker.connections

    assert asyncio.run(run()) == 1


def test_forwarded_request_is_finished_with_its_answer_or_the_fault(
    make_answers, make_broker, listing
):
    async def run():
        loop = asyncio.get_running_loop()
        async with make_broker(make_answers()) as broker:
            client = make_client(broker.port)
            answered = loop.create_future()
            client.forward(LIST, answered.set_result)
            answer = await answered
            old = make_client(broker.port)
            broker.answers.offered = {18: (0, 3)}
            refused = loop.create_future()
            old.forward(LIST, refused.set_result)
            fault = await refused
            await client.close()
            await old.close()
            return answer, fault

    answer, fault = asyncio.run(run())
    assert answer == listing("s")
    assert isinstance(fault, MissingApi)


def test_close_gives_up_what_is_not_answered(make_answers, make_broker):
    async def run():
        async with make_broker(make_answers()) as broker:
            broker.is_silent = True
            client = make_client(broker.port)
            finished = []
            client.forward(LIST, finished.append)
            await broker.has_connection.wait()
            async with asyncio.timeout(5):
                await client.close()
            return finished

    assert asyncio.run(run()) == []


def test_tls_with_a_trusted_certificate_and_a_login(
    make_answers, make_broker, certificates
):
    async def run():
        answers = make_answers(mechanism="SCRAM-SHA-512")
        async with make_broker(answers, certificates.server()) as broker:
            client = make_client(
                broker.port,
                security_protocol="SASL_SSL",
                sasl_mechanism="SCRAM-SHA-512",
                sasl_username="bridge",
                sasl_password="open, =sesame",
                ssl_ca_location=str(certificates.ca),
            )
            answer = await ask(client)
            await client.close()
            return answer

    assert asyncio.run(run()) == ["s"]


def test_certificate_that_is_not_trusted_is_refused_at_once(
    make_answers, make_broker, certificates
):
    async def run():
        async with make_broker(make_answers(), certificates.server()) as broker:
            client = make_client(broker.port, security_protocol="SSL")
            with pytest.raises(
                ClusterRefusal, match="CERTIFICATE_VERIFY_FAILED, self-signed"
            ):
                await ask(client, timeout_s=60)
            await client.close()

    asyncio.run(run())


@pytest.mark.parametrize(("algorithm", "is_taken"), [("none", True), ("https", False)])
def test_name_in_the_certificate_is_checked_unless_told_otherwise(
    make_answers, make_broker, certificates, algorithm, is_taken
):
    async def run():
        async with make_broker(make_answers(), certificates.server()) as broker:
            access = read_access(
                {
                    # The certificate is for the address, not for this name of it.
                    "bootstrap.servers": f"localhost:{broker.port}",
                    "security.protocol": "SSL",
                    "ssl.ca.location": str(certificates.ca),
                    "ssl.endpoint.identification.algorithm": algorithm,
                }
            )
            client = ClusterClient(access, client_id="bridge-1")
            try:
                return await ask(client) == ["s"]
            except ClusterRefusal:
                return False
            finally:
                await client.close()

    assert asyncio.run(run()) is is_taken
