"""Every kind of listener at once: who a client is, and what it is told."""

import asyncio
import struct

import pytest
from kio.schema.errors import ErrorCode

NONE = ErrorCode.none


def principal_of(record):
    return dict(record.headers)["principal"].decode()


def listener_of(record):
    return dict(record.headers)["listener"].decode()


def test_plaintext_clients_are_anonymous(run, serving, words):
    async def test():
        async with serving(words) as (bridge, connect):
            client = await connect("PLAINTEXT")
            assert await client.push() is NONE
            assert principal_of(bridge.records[0]) == "User:ANONYMOUS"
            assert listener_of(bridge.records[0]) == "PLAINTEXT"

    run(test)


def test_a_certificate_names_its_client_and_none_is_anonymous(
    run, serving, words, authority, trust
):
    files = authority.issue("duke", "CN=Duke,OU=SME")

    async def test():
        async with serving(words) as (bridge, connect):
            named = await connect("SSL", trust(authority, files))
            nameless = await connect("SSL", trust(authority))
            assert await named.push() is NONE
            assert await nameless.push() is NONE
            principals = [principal_of(record) for record in bridge.records]
            assert principals == ["User:duke", "User:ANONYMOUS"]

    run(test)


def test_a_certificate_that_no_rule_takes_is_refused(
    run, serving, words, authority, trust
):
    files = authority.issue("nobody", "O=nobody")

    async def test():
        async with serving(words) as (bridge, connect):
            client = await connect("SSL", trust(authority, files))
            assert await client.is_closed()
            assert bridge.counters.failed_authentications == 1

    run(test)


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_password_names_its_client(run, serving, words, authority, trust, listener):
    async def test():
        async with serving(words) as (bridge, connect):
            context = trust(authority) if listener == "SASL_SSL" else None
            client = await connect(listener, context)
            await client.ask(
                18, 3, client_software_name="app", client_software_version="1"
            )
            assert (await client.log_in()).error_code is NONE
            assert await client.push() is NONE
            headers = dict(bridge.records[0].headers)
            assert headers["principal"] == b"User:alice"
            assert headers["listener"] == listener.encode()
            assert headers["client_software_name"] == b"app"
            assert bridge.counters.authentications == 1

    run(test)


def test_each_listener_tells_its_own_address(run, serving, words, authority, trust):
    async def test():
        async with serving(words) as (bridge, connect):
            for listener in ("PLAINTEXT", "SSL"):
                context = trust(authority) if listener == "SSL" else None
                client = await connect(listener, context)
                answer = await client.ask(3, 1, topics=())
                (node,) = answer.brokers
                assert (node.host, node.port) == ("127.0.0.1", bridge.ports[listener])

    run(test)


def test_sasl_is_advertised_everywhere_and_illegal_without_need(run, serving, words):
    async def test():
        async with serving(words) as (_, connect):
            client = await connect("PLAINTEXT")
            versions = await client.ask(18, 0)
            listed = {api.api_key: api.max_version for api in versions.api_keys}
            assert listed[17] == 1
            assert listed[36] == 2
            shaken = await client.ask(17, 1, mechanism="PLAIN")
            assert shaken.error_code is ErrorCode.illegal_sasl_state
            told = await client.ask(36, 2, auth_bytes=b"x")
            assert told.error_code is ErrorCode.illegal_sasl_state
            assert await client.push() is NONE

    run(test)


def test_a_wrong_password_is_answered_late_and_closed(run, serving, words):
    delay = "authentication.failed_delay_ms=200"

    async def test():
        loop = asyncio.get_running_loop()
        async with serving([*words, delay]) as (bridge, connect):
            client = await connect("SASL_PLAINTEXT")
            began = loop.time()
            answer = await client.log_in(password="wrong")
            assert loop.time() - began >= 0.19
            assert answer.error_code is ErrorCode.sasl_authentication_failed
            assert await client.is_closed()
            assert bridge.counters.failed_authentications == 1
            assert bridge.counters.authentications == 0

    run(test)


@pytest.mark.parametrize(
    "frame",
    [struct.pack(">hhih", 72, 0, 1, -1) + b"\0" * 40,
     struct.pack(">hhihi", 3, 0, 1, -1, 0), b"\x60\x82\0\0", b"GET / HTTP/1.1"],
    ids=["push", "metadata", "GSSAPI", "HTTP"],
)  # fmt: skip
def test_nothing_is_served_before_authentication(run, serving, words, frame):
    async def test():
        async with serving(words) as (bridge, connect):
            client = await connect("SASL_PLAINTEXT")
            client.writer.write(struct.pack(">i", len(frame)) + frame)
            assert await client.reader.read() == b""
            assert bridge.records == []

    run(test)


def test_a_plain_client_at_a_tls_listener_is_refused(run, serving, words):
    async def test():
        async with serving(words) as (bridge, connect):
            client = await connect("SSL")
            client.send(18, 0)
            assert await client.is_closed()
            assert bridge.counters.failed_tls_handshakes == 1

    run(test)


def test_a_tls_client_at_a_plain_listener_is_refused(
    run, serving, words, authority, trust
):
    async def test():
        async with serving(words) as (bridge, connect):
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await connect("PLAINTEXT", trust(authority))
            assert bridge.counters.malformed_requests == 1

    run(test)


def test_a_session_ends_and_begins_again_on_the_same_connection(
    run, serving, words, until
):
    short = "authentication.max_reauth_ms=3000"

    async def test():
        async with serving([*words, short]) as (bridge, connect):
            client = await connect("SASL_PLAINTEXT")
            answer = await client.log_in()
            assert answer.session_lifetime.total_seconds() == 3
            assert await client.push() is NONE
            await until(lambda: bridge.counters.expired_sessions == 1)
            assert (await client.log_in()).error_code is NONE
            assert await client.push() is NONE
            await until(lambda: bridge.counters.expired_sessions == 2)
            client.send(3, 1, topics=())
            assert await client.is_closed()
            assert bridge.counters.authentications == 2

    run(test)


def test_a_session_that_has_ended_takes_no_push_either(run, serving, words, until):
    short = "authentication.max_reauth_ms=3000"

    async def test():
        async with serving([*words, short]) as (bridge, connect):
            client = await connect("SASL_PLAINTEXT")
            await client.log_in()
            fields = await client.subscribe()
            assert (await client.ask(72, 0, **fields)).error_code is NONE
            await until(lambda: bridge.counters.expired_sessions == 1)
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await client.ask(72, 0, **fields)
            assert bridge.counters.accepted_pushes == 1

    run(test)


def test_a_stop_closes_every_kind_in_order(run, serving, words, authority, trust):
    async def test():
        async with serving(words) as (bridge, connect):
            plain = await connect("PLAINTEXT")
            tls = await connect("SSL", trust(authority))
            sasl = await connect("SASL_SSL", trust(authority))
            await sasl.log_in()
            for client in (plain, tls, sasl):
                assert await client.push() is NONE
            await bridge.clients.drain(5, pytest.fail)
            for client in (plain, tls, sasl):
                assert await client.reader.read() == b""
            assert bridge.counters.open_connections == 0

    run(test)
