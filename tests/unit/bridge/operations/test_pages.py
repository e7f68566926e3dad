"""Real sockets on loopback; peers that are cut, huge, slow, or speak something else."""

import asyncio
import contextlib
import socket
from http import HTTPStatus

import pytest

from pipelines.bridge.front.listening import bind_listener
from pipelines.bridge.operations.pages import (
    HEAD_END,
    MAX_CONNECTIONS,
    MAX_HEAD_BYTES,
    HttpListener,
    Page,
)

GET = b"GET /page HTTP/1.1\r\nHost: a\r\n\r\n"


def run_with_pages(test, body=b"content", timeout_s=20.0):
    """Give the test a way to connect: `reader, writer = await connect()`."""

    async def make_page(_accept):
        return Page(status=HTTPStatus.OK, body=body)

    async def run():
        http = HttpListener({"/page": make_page}, timeout_s=timeout_s)
        writers = []

        async def connect(**options):
            peer = socket.socket()
            for name, value in options.items():
                peer.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
            peer.setblocking(False)
            await asyncio.get_running_loop().sock_connect(peer, address)
            reader, writer = await asyncio.open_connection(sock=peer)
            writers.append(writer)
            return reader, writer

        async with asyncio.timeout(30):
            with bind_listener("127.0.0.1", 0) as listener:
                address = listener.getsockname()
                await http.start(listener)
                try:
                    await test(connect)
                finally:
                    http.close()
                    for writer in writers:
                        writer.close()
                    for writer in writers:
                        with contextlib.suppress(ConnectionError):
                            await writer.wait_closed()

    asyncio.run(run())


async def ask(connect, request):
    reader, writer = await connect()
    writer.write(request)
    return await reader.read()


def status_of(answer):
    return int(answer.split(b" ")[1])


def test_page_is_served_and_the_connection_ends():
    async def test(connect):
        answer = await ask(connect, GET)
        assert status_of(answer) == 200
        assert answer.endswith(b"\r\n\r\ncontent")
        assert (await ask(connect, GET.replace(b"GET", b"HEAD"))).endswith(b"\r\n\r\n")

    run_with_pages(test)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (GET.replace(b"page", b"other"), 404),
        (GET.replace(b"GET", b"POST") + b"body", 405),
        (GET.replace(b"1.1", b"3.0"), 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"GET /page HTTP/1.1\r\n" + b"a" * MAX_HEAD_BYTES, 431),
        (GET[:-2] + b"A: " + b"b" * MAX_HEAD_BYTES + b"\r\n\r\n", 431),
    ],
    ids=["unknown", "POST", "version", "TLS hello", "empty", "endless", "long field"],
)
def test_request_without_a_page_is_told_why(request_bytes, status):
    async def test(connect):
        assert status_of(await ask(connect, request_bytes)) == status

    run_with_pages(test)


def test_request_may_come_byte_by_byte():
    async def test(connect):
        reader, writer = await connect()
        for index in range(len(GET)):
            writer.write(GET[index : index + 1])
            await writer.drain()
        assert status_of(await reader.read()) == 200

    run_with_pages(test)


def test_request_that_is_cut_is_answered_with_nothing():
    async def test(connect):
        reader, writer = await connect()
        writer.write(GET[:-1])
        writer.write_eof()
        assert await reader.read() == b""
        assert status_of(await ask(connect, GET)) == 200

    run_with_pages(test)


def test_peer_that_says_nothing_is_cut_off_in_time():
    async def test(connect):
        assert status_of(await ask(connect, b"GET /pa")) == 408

    run_with_pages(test, timeout_s=0.1)


def test_peer_that_does_not_read_is_cut_off_in_time():
    async def test(connect):
        reader, writer = await connect(SO_RCVBUF=4_096)
        reader._transport.pause_reading()
        writer.write(GET)
        # Others are served meanwhile; a cut connection shows when it is written to.
        seen = set()
        while not writer.is_closing():
            seen.add(status_of(await ask(connect, b"GET /none HTTP/1.1" + HEAD_END)))
            writer.write(b"more")
        # They have no more time than that one, and a machine may stand for as long.
        assert {404} <= seen <= {404, 408}

    run_with_pages(test, body=bytes(20_000_000), timeout_s=0.3)


@pytest.mark.parametrize("begun", [b"", GET[:5]])
def test_a_page_is_served_beside_connections_that_are_held(begun):
    """Nobody waits for those to time out: who watches gives up sooner."""

    async def test(connect):
        held = []
        for _ in range(3 * MAX_CONNECTIONS):
            held.append(await connect())
            held[-1][1].write(begun)
            assert status_of(await ask(connect, GET)) == 200

    run_with_pages(test)


def test_the_oldest_of_too_many_connections_makes_room():
    async def test(connect):
        held = [await connect() for _ in range(MAX_CONNECTIONS)]
        for _, writer in held:
            writer.write(GET[:5])
        assert status_of(await ask(connect, GET)) == 200
        assert await is_cut(held[0][0])
        # The others are as they were.
        for reader, writer in held[1:]:
            writer.write(GET[5:])
            assert status_of(await reader.read()) == 200

    run_with_pages(test)


def test_peers_that_do_not_read_their_page_hold_nobody_up():
    async def test(connect):
        for _ in range(MAX_CONNECTIONS):
            reader, writer = await connect(SO_RCVBUF=4_096)
            reader._transport.pause_reading()
            writer.write(GET)
        assert status_of(await ask(connect, b"GET /none HTTP/1.1" + HEAD_END)) == 404

    run_with_pages(test, body=bytes(5_000_000))


async def is_cut(reader):
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True
