"""What ends a conversation by asyncio, and what begins it again."""

import asyncio
import ssl

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v1.response import MetadataResponse, MetadataResponseBroker
from kio.static.primitive import i32

from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.faults import LoginRefused, NoAnswer
from pipelines.kafka_client.messages import SASL_AUTHENTICATE, Request
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_client.properties import make_access
from pipelines.kafka_client.session import Software, list_nodes
from tests.support.bridge.certificates import Authority
from tests.support.kafka.token_server import CLIENT_ID, CLIENT_SECRET, TokenServer
from tests.support.kafka_answers import PASSWORD, USER, Answers, Broker
from tests.unit.clients.scripted_node import ScriptedNode

SOFTWARE = Software(client_id="a", name="n", version="1")
PATIENCE_S = 60
LIST = Request(74, 1, bytes.fromhex("02 10 00"), is_flexible=True)
METADATA = MetadataResponse(
    brokers=(MetadataResponseBroker(node_id=1, host="b", port=i32(9092), rack=None),),
    controller_id=1,
    topics=(),
)


def make_link(servers, **connection):
    names = {name.replace("_", "."): value for name, value in connection.items()}
    base = {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
    return AsyncLink(make_access((base | names).get), SOFTWARE)


def server_of(broker):
    return f"127.0.0.1:{broker.port}"


def ask(_served):
    return (yield LIST)


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_what_can_be_no_server_is_passed_over(host):
    async def run():
        async with Broker(Answers()) as broker:
            link = make_link(f"{host}:9092,{server_of(broker)}")
            body = await link.hold(ask, timeout_s=5.0)
            link.close()
            return body

    assert asyncio.run(run())


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_where_there_is_no_other_it_is_named(host):
    async def run():
        await make_link(f"{host}:9092").hold(ask, timeout_s=1.0)

    with pytest.raises(NoAnswer, match=f"^{host}:9092 can be no server$"):
        asyncio.run(run())


def test_a_conversation_that_finds_an_answer_malformed_is_held_again():
    tries = []

    def judge(served):
        tries.append(served)
        yield LIST
        if len(tries) == 1:
            raise MalformedBytes("not this one")

    async def run():
        async with Broker(Answers()) as broker:
            link = make_link(server_of(broker))
            await link.hold(judge, timeout_s=5.0)
            link.close()
            return broker.connections

    assert asyncio.run(run()) == 2
    assert tries[0][74] == range(2)


def test_what_a_conversation_raises_for_itself_leaves_the_connection():
    def refuse(_served):
        yield LIST
        raise LookupError

    async def run():
        async with Broker(Answers()) as broker:
            link = make_link(server_of(broker))
            for _ in range(2):
                with pytest.raises(LookupError):
                    await link.hold(refuse, timeout_s=5.0)
            link.close()
            return broker.connections

    assert asyncio.run(run()) == 1


PLAIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": USER,
    "sasl_password": PASSWORD,
}


def count_logins(answers):
    return sum(one.__api_key__ == SASL_AUTHENTICATE for one in answers.requests)


async def ask_for(seconds, link):
    async with asyncio.timeout(seconds):
        while True:
            await link.hold(ask, timeout_s=PATIENCE_S)


def test_before_a_session_ends_there_is_another_login_on_the_connection():
    async def run():
        async with Broker(Answers(mechanism="PLAIN")) as broker:
            broker.answers.session_lifetime_ms = 1_000
            link = make_link(server_of(broker), **PLAIN)
            async with asyncio.timeout(PATIENCE_S):
                while count_logins(broker.answers) < 2:
                    await link.hold(ask, timeout_s=PATIENCE_S)
            broker.answers.session_lifetime_ms = 0
            await link.hold(ask, timeout_s=PATIENCE_S)
            link.close()
            return broker.connections

    assert asyncio.run(run()) == 1


def test_another_login_that_is_refused_ends_the_connection():
    async def run():
        async with Broker(Answers(mechanism="PLAIN")) as broker:
            broker.answers.session_lifetime_ms = 1_000
            link = make_link(server_of(broker), **PLAIN)
            await link.hold(ask, timeout_s=PATIENCE_S)
            broker.answers.login_error = ErrorCode.sasl_authentication_failed
            with pytest.raises(LoginRefused, match="sasl_authentication_failed"):
                await ask_for(PATIENCE_S, link)
            broker.answers.login_error = ErrorCode.none
            await link.hold(ask, timeout_s=PATIENCE_S)
            link.close()
            return broker.connections

    assert asyncio.run(run()) == 2


def test_a_token_endpoint_that_is_away_is_named_and_waited_for(tmp_path):
    async def run(issuer):
        async with Broker(Answers(mechanism="OAUTHBEARER")) as broker:
            link = make_link(
                server_of(broker),
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism="OAUTHBEARER",
                sasl_oauthbearer_method="oidc",
                sasl_oauthbearer_token_endpoint_url=issuer.url,
                sasl_oauthbearer_client_id=CLIENT_ID,
                sasl_oauthbearer_client_secret=CLIENT_SECRET,
            )
            with pytest.raises(NoAnswer, match=r"^the token endpoint http://localh"):
                await link.hold(ask, timeout_s=1.0)
            waiting = asyncio.create_task(link.hold(ask, timeout_s=PATIENCE_S))
            issuer.start()
            await waiting
            link.close()
            return broker.answers.requests

    with TokenServer(tmp_path) as issuer:
        issuer.stop()
        requests = asyncio.run(run(issuer))
    shown = [one.auth_bytes for one in requests if one.__api_key__ == SASL_AUTHENTICATE]
    assert len(shown) == 1
    assert shown[0].startswith(b"n,,\x01auth=Bearer ey")


def test_each_node_has_a_connection_of_its_own():
    async def run():
        async with Broker(Answers()) as one, Broker(Answers()) as other:
            whole = make_link(f"{server_of(one)},{server_of(other)}")
            links = [
                AsyncLink(whole.access.at(("127.0.0.1", node.port)), SOFTWARE)
                for node in (one, other)
            ]
            for link in links:
                await link.hold(ask, timeout_s=5.0)
                link.close()
            return one.connections, other.connections

    assert asyncio.run(run()) == (1, 1)


def test_metadata_is_asked_as_by_the_other_link():
    async def run():
        async with Broker(Answers()) as broker:
            link = make_link(server_of(broker))
            broker.answers.others = lambda _request: METADATA
            nodes = await link.hold(lambda _served: list_nodes(), timeout_s=5.0)
            link.close()
            return nodes

    assert asyncio.run(run()) == [(1, "b", 9092)]


def test_what_speaks_no_tls_is_refused_at_once():
    async def answer_plainly(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def run():
        async with await asyncio.start_server(answer_plainly, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            link = make_link(f"127.0.0.1:{port}", security_protocol="SSL")
            await link.hold(ask, timeout_s=60)

    with pytest.raises(LoginRefused, match=r"^TLS: WRONG_VERSION_NUMBER$"):
        asyncio.run(run())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_does_not_trust_the_client_refuses(tmp_path, version):
    """In TLS 1.3 the client hears of it behind its first request only."""
    authority = Authority(tmp_path)
    files = authority.issue("node", "CN=node")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.path)
    context.maximum_version = version

    async def run():
        # asyncio itself, as a server, ends such connections without an alert.
        with ScriptedNode(tls=context) as node:
            link = make_link(
                node.server,
                security_protocol="SSL",
                ssl_ca_location=str(authority.path),
            )
            with pytest.raises(LoginRefused, match=r"^TLS: \w+_ALERT_\w+$"):
                await link.hold(ask, timeout_s=60)

    asyncio.run(run())
