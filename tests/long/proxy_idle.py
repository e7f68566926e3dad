"""Clients that only push telemetry through the proxy: is any of them ever cut off?

Usage: python tests/long/proxy_idle.py [--minutes 25] [--idle-ms 60000]

Two real brokers that cut idle connections after so long, one of which wants a login that
is repeated, and a bridge in front of each. Clients with push intervals below and above
the limit do nothing but push; others fall silent. Printed: of each client its pushes,
those that were accepted, whether it was cut off, and what the topic holds.
"""

import argparse
import asyncio
import contextlib
import math
import struct
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.bridge_support import running_bridge  # noqa: E402 - path
from tests.support.bridge.config_support import read_topic  # noqa: E402 - path
from tests.support.bridge.proxy_support import find_servers, proxy_settings  # noqa: E402 - path

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE, GET, PUSH = 18, 17, 36, 71, 72
FLEXIBLE = {GET, PUSH}
USER, PASSWORD = "admin", "secret"
PATIENCE_S = 180
REAUTHENTICATE_AT = 0.85
"""Of a session's time."""
INTERVALS = {"often": 1 / 6, "seldom": 1.5, "rare": 5.0}
"""Name of a client to its push interval, in times of the idle limit."""
PAYLOAD = struct.Struct(">16sI")


def sasl_broker(idle_ms, session_ms):
    """Return properties of a broker whose clients log in, again and again."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return {
        "listener.security.protocol.map": (
            "PLAINTEXT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "listener.name.plaintext.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": (
            f'{login} user_{USER}="{PASSWORD}";'
        ),
        "listener.name.plaintext.plain.connections.max.reauth.ms": str(session_ms),
        **plain_broker(idle_ms),
    }


def plain_broker(idle_ms):
    return {"connections.max.idle.ms": str(idle_ms)}


def idle_settings(kafka, idle_ms, *changes):
    """Return settings of a bridge that asks each client for pushes at its interval."""
    subscriptions = ",".join(
        f'{{name="{name}",metrics=["*"],interval_ms={round(times * idle_ms)},'
        f'match=["client_id={name}"]}}'
        for name, times in INTERVALS.items()
    )
    return proxy_settings(kafka, f"subscriptions=[{subscriptions}]", *changes)


def upstream_changes(upstream):
    """Return settings of a proxy in front of brokers with a login."""
    return (
        f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
        "upstream.security_protocol=SASL_PLAINTEXT",
        "upstream.sasl_mechanism=PLAIN",
        f"upstream.sasl_username={USER}",
        "upstream.sasl_password=env:UPSTREAM_PASSWORD",
    )


@dataclass
class Client:
    """One connection; it says what it has pushed, and how it ended."""

    servers: str
    name: str
    has_login: bool = False
    instance: bytes = field(default_factory=lambda: uuid.uuid4().bytes)
    pushed: list = field(default_factory=list)
    """Payload and error code of each push; None where no answer came."""
    is_cut: bool = False
    lived_s: float = 0.0
    login_due: float = math.inf

    async def live(self, stop, *, most_pushes=None):
        """Push until told to stop; after so many pushes wait for the end of it all."""
        began = time.monotonic()
        try:
            await self._live(stop, most_pushes)
        except (OSError, EOFError):
            self.is_cut = True
        finally:
            self.lived_s = time.monotonic() - began
            self.writer.transport.abort()

    async def _live(self, stop, most_pushes):
        host, _, port = self.servers.partition(",")[0].rpartition(":")
        self.reader, self.writer = await asyncio.open_connection(host, int(port))
        await self.ask(API_VERSIONS, b"")
        if self.has_login:
            await self.login()
        body = await self.ask(GET, self.instance + b"\0")
        subscription_id, codecs = struct.unpack_from(">iB", body, 22)
        (interval_ms,) = struct.unpack_from(">i", body, 26 + max(codecs, 1))
        # The first one is late, as clients may be.
        due = time.monotonic() + 1.5 * interval_ms / 1_000
        while most_pushes is None or len(self.pushed) < most_pushes:
            if await self.rest(stop, min(due, self.login_due)):
                return
            if time.monotonic() >= self.login_due:
                await self.login()
            if time.monotonic() >= due:
                await self.push(subscription_id)
                due = time.monotonic() + interval_ms / 1_000 + 0.05
        await self.rest(stop, None)

    async def rest(self, stop, due):
        """Wait until then; return whether it is time to stop. Raises where it is cut."""
        pause_s = None if due is None else max(due - time.monotonic(), 0)
        waits = [asyncio.create_task(stop.wait()), asyncio.create_task(self.end())]
        done, left = await asyncio.wait(
            waits, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED
        )
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if waits[1] in done:
            raise EOFError
        return waits[0] in done

    async def end(self):
        """Wait until nothing more can come; nothing may come unasked."""
        assert await self.reader.read(1) == b""

    async def push(self, subscription_id):
        payload = PAYLOAD.pack(self.instance, len(self.pushed))
        self.pushed.append((payload, None))
        head = self.instance + struct.pack(">iBb", subscription_id, 0, 0)
        length = bytes([len(payload) + 1])
        body = await self.ask(PUSH, head + length + payload + b"\0")
        self.pushed[-1] = payload, struct.unpack_from(">h", body, 4)[0]

    async def login(self):
        """Log in, or do so again."""
        await self.ask(SASL_HANDSHAKE, b"\0\5PLAIN", 1)
        token = f"\0{USER}\0{PASSWORD}".encode()
        answer = await self.ask(
            SASL_AUTHENTICATE, struct.pack(">i", len(token)) + token, 1
        )
        assert answer[:2] == b"\0\0"
        session_s = struct.unpack(">q", answer[-8:])[0] / 1_000
        self.login_due = time.monotonic() + REAUTHENTICATE_AT * session_s

    async def ask(self, api_key, body, version=0):
        """Return the body of an answer; it must be the one that was asked for."""
        name, tags = self.name.encode(), b"\0" if api_key in FLEXIBLE else b""
        content = struct.pack(">hhih", api_key, version, 7, len(name)) + name
        content += tags + body
        self.writer.write(struct.pack(">i", len(content)) + content)
        async with asyncio.timeout(PATIENCE_S):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            answer = await self.reader.readexactly(size)
        assert struct.unpack_from(">i", answer) == (7,)
        return answer[4 + len(tags) :]


class Site:
    """All clients of a run, before a bridge without logins and one with."""

    def __init__(self, plain_servers, login_servers):
        self.stop = asyncio.Event()
        self.pushing = [
            Client(servers, name, has_login)
            for servers, has_login in ((plain_servers, False), (login_servers, True))
            for name in INTERVALS
        ]
        self.silent = Client(plain_servers, "often")
        """It pushes once and never again."""

    @contextlib.asynccontextmanager
    async def living(self):
        async with asyncio.TaskGroup() as group:
            self.tasks = [
                group.create_task(one.live(self.stop)) for one in self.pushing
            ]
            self.fallen_silent = group.create_task(
                self.silent.live(self.stop, most_pushes=1)
            )
            try:
                yield
            finally:
                self.stop.set()


@contextlib.contextmanager
def idle_bridges(java, idle_ms, session_ms, *changes):
    """Yield a Kafka, settings, and two bridges: one before it, one before another."""
    with contextlib.ExitStack() as stack:
        kafka, upstream = (
            stack.enter_context(EmbeddedKafka(java=java, broker_properties=properties))
            for properties in (plain_broker(idle_ms), sasl_broker(idle_ms, session_ms))
        )
        # The first record waits for the producer's id, which a new Kafka gives late.
        changes = (*changes, "proxy.telemetry_answer_ms=10000")
        settings = idle_settings(kafka, idle_ms, *changes)
        topic = f"topics.telemetry={settings.topics.telemetry}"
        apart = idle_settings(
            kafka, idle_ms, topic, *upstream_changes(upstream), *changes
        )
        server, _ = stack.enter_context(running_bridge(settings))
        behind_login, _ = stack.enter_context(
            running_bridge(apart, UPSTREAM_PASSWORD=PASSWORD)
        )
        yield kafka, settings, (server, behind_login)


def count_stored(kafka, topic):
    return Counter(record.value() for record in read_topic(kafka, topic))


def judge(clients, stored):
    """Return a line of each client, and of all pushes how many were lost and refused."""
    lines, all_lost, all_refused = [], 0, 0
    for one in clients:
        accepted = [payload for payload, code in one.pushed if code == 0]
        lost = sum(stored[payload] != 1 for payload in accepted)
        refused = len(one.pushed) - len(accepted)
        all_lost += lost
        all_refused += refused
        lines.append(
            f"{'login' if one.has_login else 'plain'} {one.name:7} pushes "
            f"{len(one.pushed):4} accepted {len(accepted):4} stored once "
            f"{len(accepted) - lost:4} lived {one.lived_s:7.1f} s "
            f"{'CUT OFF' if one.is_cut else 'not cut off'}"
        )
    return lines, all_lost, all_refused


async def run(servers, seconds):
    """Let all clients live so long; return them, those that push and the silent one."""
    site = Site(*map(find_servers, servers))
    async with site.living():
        await asyncio.wait(site.tasks, timeout=seconds)
    return site.pushing, site.silent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--idle-ms", type=int, default=60_000)
    parser.add_argument("--session-ms", type=int, default=600_000)
    parser.add_argument("--set", action="append", default=[], help="of conf/")
    arguments = parser.parse_args()
    with idle_bridges(
        "java", arguments.idle_ms, arguments.session_ms, *arguments.set
    ) as (kafka, settings, servers):
        pushing, silent = asyncio.run(run(servers, 60 * arguments.minutes))
        stored = count_stored(kafka, settings.topics.telemetry)
        asked = [one.counters.keep_alive_requests for one in servers]
    lines, lost, refused = judge(pushing, stored)
    print("\n".join(lines))
    print("then silent:", *judge([silent], stored)[0])
    cuts = sum(one.is_cut for one in pushing)
    print(
        f"{arguments.minutes:g} minutes, idle limit {arguments.idle_ms} ms: cut off "
        f"{cuts} of {len(pushing)}, pushes lost {lost}, refused {refused}; requests of "
        f"the proxy's own {asked[0]} and {asked[1]}"
    )
    return 1 if cuts or lost or refused else 0


if __name__ == "__main__":
    sys.exit(main())
