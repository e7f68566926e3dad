"""How much of the bridge strangers may take."""

import contextlib
import socket
import struct

from kio.schema.errors import ErrorCode

NONE = ErrorCode.none


def test_a_request_before_authentication_must_be_small(run, serving, words):
    small = "limits.max_unauthenticated_request_bytes=2000"

    async def test():
        async with serving([*words, small]) as (bridge, connect):
            for size, is_ended in ((2_001, True), (2_000, False)):
                client = await connect("SASL_PLAINTEXT")
                client.writer.write(struct.pack(">i", size))
                if is_ended:
                    assert await client.is_closed()
            assert bridge.counters.malformed_requests == 1
            client = await connect("SASL_PLAINTEXT")
            await client.log_in()
            client.writer.write(struct.pack(">i", 2_001))
            # Nothing answers a request that is not whole; but no end comes either.
            other = await connect("PLAINTEXT")
            await other.push()
            assert not client.reader.at_eof()

    run(test)


def test_a_connection_too_many_is_closed_at_once(run, serving, words, until):
    few = "limits.max_connections_per_address=2"

    async def test():
        async with serving([*words, few]) as (bridge, connect):
            first, second = await connect("PLAINTEXT"), await connect("PLAINTEXT")
            assert await first.push() is NONE
            assert await second.push() is NONE
            third = await connect("SASL_PLAINTEXT")
            assert await third.is_closed()
            assert bridge.counters.refused_connections == 1
            first.writer.close()
            await until(lambda: bridge.counters.open_connections == 1)
            fourth = await connect("PLAINTEXT")
            assert await fourth.push() is NONE

    run(test)


def test_handshakes_that_never_end_make_room_for_those_that_do(
    run, serving, words, authority, trust
):
    few = "limits.max_unauthenticated_connections=3"

    async def test():
        async with serving([*words, few]) as (bridge, connect):
            with contextlib.ExitStack() as silent:
                address = ("127.0.0.1", bridge.ports["SASL_SSL"])
                for _ in range(8):
                    silent.enter_context(socket.create_connection(address))
                client = await connect("SASL_SSL", trust(authority))
                assert (await client.log_in()).error_code is NONE
                assert await client.push() is NONE
                assert bridge.counters.crowded_out_handshakes >= 5

    run(test)
