"""One bad client does not delay another, and does not stay for ever."""

import asyncio
import socket
import struct

import pytest
from kio.schema.errors import ErrorCode

NONE = ErrorCode.none
FAST_S = 10.0
"""Far above what a push takes here, far below every timeout."""


async def push_quickly(client, count=20):
    loop = asyncio.get_running_loop()
    for _ in range(count):
        began = loop.time()
        assert await client.push() is NONE
        assert loop.time() - began < FAST_S


def open_socket(bridge, listener="PLAINTEXT", **options):
    one = socket.socket()
    for name, value in options.items():
        one.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    one.connect(("127.0.0.1", bridge.ports[listener]))
    one.setblocking(False)
    return one


def ask_versions(count):
    body = struct.pack(">hhih", 18, 0, 1, -1)
    return (struct.pack(">i", len(body)) + body) * count


def test_half_open_and_trickling_and_giant_clients_delay_nobody(run, serving, words):
    async def test():
        async with serving(words) as (bridge, connect):
            bad = [open_socket(bridge) for _ in range(50)]
            bad += [open_socket(bridge, "SASL_SSL") for _ in range(50)]
            trickling, giant = bad[10], bad[20]
            trickling.send(struct.pack(">i", 1_000))
            giant.send(struct.pack(">i", 8_388_608))
            good = await connect("PLAINTEXT")
            for _ in range(20):
                trickling.send(b"\0")
                await push_quickly(good, 1)
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(giant, b"\0" * 2_000_000)
            await push_quickly(good)
            # What is held is what was sent, not what was claimed.
            assert bridge.clients.connections.held_bytes <= 2_001_000
            for one in bad:
                one.close()

    run(test)


def test_a_client_that_does_not_read_is_cut_off_and_delays_nobody(
    run, serving, words, until
):
    soon = "limits.write_timeout_ms=1"

    async def test():
        async with serving([*words, soon]) as (bridge, connect):
            deaf = open_socket(bridge, SO_RCVBUF=4_096)
            good = await connect("PLAINTEXT")
            requests = ask_versions(1_000)
            is_full = False
            while not is_full:
                try:
                    deaf.send(requests)
                except BlockingIOError:
                    is_full = True
                await push_quickly(good, 1)
            assert bridge.counters.open_connections == 2
            await push_quickly(good)
            # What it has asked is worked off turn by turn, until it must read.
            await until(lambda: sweep(bridge) == 1)
            assert bridge.counters.write_timeouts == 1
            await push_quickly(good)
            deaf.close()

    run(test)


@pytest.mark.parametrize("listener", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_handshake_that_never_ends_is_cut_off(run, serving, words, until, listener):
    soon = "limits.handshake_timeout_ms=1"

    async def test():
        async with serving([*words, soon]) as (bridge, _):
            with open_socket(bridge, listener):
                await until(lambda: bridge.counters.open_connections == 1)
                await until(lambda: sweep(bridge) == 0)
            assert bridge.counters.handshake_timeouts == 1

    run(test)


def sweep(bridge):
    bridge.clients.connections.sweep()
    return bridge.counters.open_connections


def test_a_client_that_trickles_is_cut_off(run, serving, words, until):
    soon = "limits.request_timeout_ms=1"

    async def test():
        async with serving([*words, soon]) as (bridge, _):
            with open_socket(bridge) as trickling:
                trickling.send(struct.pack(">i", 100) + b"\0")
                await until(lambda: bridge.clients.connections.held_bytes == 5)
                await until(lambda: sweep(bridge) == 0)
            assert bridge.counters.request_timeouts == 1
            assert bridge.clients.connections.held_bytes == 0

    run(test)


def test_a_silent_client_is_cut_off_and_told_nothing(run, serving, words, until):
    soon = "limits.idle_timeout_ms=1"

    async def test():
        async with serving([*words, soon]) as (bridge, connect):
            client = await connect("PLAINTEXT")
            assert await client.push() is NONE
            await until(lambda: sweep(bridge) == 0)
            assert await client.is_closed()
            assert bridge.counters.idle_timeouts == 1

    run(test)


def test_a_burst_of_tls_handshakes_lets_pushes_through(
    run, serving, words, authority, trust
):
    async def test():
        async with serving(words) as (bridge, connect):
            good = await connect("PLAINTEXT")
            context = trust(authority)
            async with asyncio.TaskGroup() as burst:
                made = [burst.create_task(connect("SSL", context)) for _ in range(60)]
                while not all(task.done() for task in made):
                    await push_quickly(good, 1)
            assert bridge.counters.open_connections == 61

    run(test)


def test_passwords_are_checked_beside_pushes(run, serving, words):
    async def test():
        async with serving(words) as (bridge, connect):
            good = await connect("PLAINTEXT")
            guessers = [await connect("SASL_PLAINTEXT") for _ in range(40)]
            async with asyncio.TaskGroup() as guesses:
                made = [
                    guesses.create_task(one.log_in("alice", f"guess {number}"))
                    for number, one in enumerate(guessers)
                ]
                while not all(task.done() for task in made):
                    await push_quickly(good, 1)
            assert bridge.counters.failed_authentications == 40

    run(test)


def test_a_client_that_leaves_amid_its_check_is_nothing(run, serving, words, until):
    async def test():
        async with serving(words) as (bridge, connect):
            for _ in range(10):
                client = await connect("SASL_PLAINTEXT")
                await client.ask(17, 1, mechanism="PLAIN")
                client.send(36, 2, auth_bytes=b"\0alice\0pencil")
                await client.writer.drain()
                client.writer.transport.abort()
            await until(lambda: bridge.counters.open_connections == 0)
            client = await connect("SASL_PLAINTEXT")
            assert (await client.log_in()).error_code is NONE

    run(test)
