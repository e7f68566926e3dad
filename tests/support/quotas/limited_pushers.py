"""Clients that push as much as they may, and remember what each answer told them.

Frames are written by hand: so it is known when a request was sent, and what the answer
to it said, to the byte.
"""

import asyncio
import struct
import time
import uuid
from dataclasses import dataclass, field

from kio.schema.alter_client_quotas.v1 import request as altering
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import f64

from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from udfs.quotas import parse_entity_path

API_VERSIONS = 18
GET, PUSH, SASL_HANDSHAKE, SASL_AUTHENTICATE = 71, 72, 17, 36
SIZE = struct.Struct(">i")
THROTTLE_AND_ERROR = struct.Struct(">ih")
HEADER_BYTES = 4 + 1
INTERVAL_S = 0.1
"""Of the subscription that these clients have."""
SUBSCRIPTION = 'subscriptions=[{name="s",metrics=["*"],interval_ms=100,match=[]}]'
SASL_PASSWORD = "correct horse, bättery=staple"


async def alter_quotas(servers, quotas):
    """Set quotas by their paths: {path: {key: value}}; the value None removes."""
    connection = {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
    client = ClusterClient(read_access(connection), client_id="quotas")
    entries = tuple(
        altering.EntryData(
            entity=tuple(
                altering.EntityData(entity_type=kind, entity_name=name)
                for kind, name in parse_entity_path(path).parts
            ),
            ops=tuple(
                altering.OpData(
                    key=key, value=f64(float(value or 0)), remove=value is None
                )
                for key, value in values.items()
            ),
        )
        for path, values in quotas.items()
    )
    request = altering.AlterClientQuotasRequest(entries=entries, validate_only=False)
    try:
        answer = await client.ask(request, AlterClientQuotasResponse)
    finally:
        await client.close()
    assert {one.error_code for one in answer.entries} == {ErrorCode.none}


@dataclass(frozen=True, slots=True)
class Told:
    """One answer to a push."""

    sent_s: float
    answered_s: float
    throttle_ms: int
    error_code: int
    size_bytes: int


@dataclass(eq=False)
class LimitedPusher:
    """One connection with some client instances.

    Args:
        pause_s: Between an answer and the next push.
    """

    client_id: str
    metrics_bytes: int
    instances: int = 50
    pause_s: float = 0.0
    told: list = field(default_factory=list)

    async def connect(self, host, port, user=None, source="127.0.0.1"):
        """Connect, log in where there is a user, and ask for subscriptions."""
        self._reader, self._writer = await asyncio.open_connection(
            host, port, local_addr=(source, 0)
        )
        if user is not None:
            await self._ask(SASL_HANDSHAKE, 1, b"\0\5PLAIN")
            token = f"\0{user}\0{SASL_PASSWORD}".encode()
            await self._ask(SASL_AUTHENTICATE, 1, SIZE.pack(len(token)) + token)
        ids = [uuid.uuid4().bytes for _ in range(self.instances)]
        self._frames = [await self._make_push(one) for one in ids]
        self._due_s = [0.0] * self.instances
        self._next = 0

    async def push(self):
        """Push as soon as an instance may; return what was told."""
        wait_s = self._due_s[self._next] - time.monotonic()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        sent_s = time.monotonic()
        self._due_s[self._next] = sent_s + 1.05 * INTERVAL_S
        self._writer.write(self._frames[self._next])
        self._next = (self._next + 1) % self.instances
        reply = await self._read()
        throttle_ms, error = THROTTLE_AND_ERROR.unpack_from(reply, HEADER_BYTES)
        size_bytes = self.metrics_bytes
        told = Told(sent_s, time.monotonic(), throttle_ms, error, size_bytes)
        self.told.append(told)
        return told

    async def push_until(self, end_s):
        """Push until then, one push after the other."""
        while time.monotonic() < end_s:
            await self.push()
            if self.pause_s:
                await asyncio.sleep(self.pause_s)

    async def ask_broker_ms(self):
        """Ask what a proxy passes on; return how long the answer took."""
        began_s = time.monotonic()
        await self._ask(API_VERSIONS, 0, b"")
        return (time.monotonic() - began_s) * 1_000

    async def close(self):
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()

    async def _make_push(self, instance_id):
        reply = await self._ask(GET, 0, instance_id + b"\0", has_tags=True)
        _, error = THROTTLE_AND_ERROR.unpack_from(reply, HEADER_BYTES)
        assert error == 0
        (subscription_id,) = SIZE.unpack_from(reply, HEADER_BYTES + 6 + 16)
        length = self.metrics_bytes + 1
        varint = bytearray()
        while length > 0x7F:
            varint.append(length & 0x7F | 0x80)
            length >>= 7
        fixed = instance_id + struct.pack(">iBb", subscription_id, 0, 0)
        metrics = bytes([*varint, length]) + bytes(self.metrics_bytes)
        return self._frame(PUSH, 0, fixed + metrics + b"\0", has_tags=True)

    async def _ask(self, api_key, version, body, *, has_tags=False):
        self._writer.write(self._frame(api_key, version, body, has_tags=has_tags))
        return await self._read()

    def _frame(self, api_key, version, body, *, has_tags):
        name = self.client_id.encode()
        head = struct.pack(">hhih", api_key, version, 7, len(name)) + name
        content = head + (b"\0" if has_tags else b"") + body
        return SIZE.pack(len(content)) + content

    async def _read(self):
        (size,) = SIZE.unpack(await self._reader.readexactly(SIZE.size))
        return await self._reader.readexactly(size)


def accepted_rate(pushers, begin_s, end_s):
    """Return the bytes per second that were accepted between two times."""
    size_bytes = sum(
        one.size_bytes
        for pusher in pushers
        for one in pusher.told
        if begin_s <= one.answered_s < end_s and one.error_code == 0
    )
    return size_bytes / (end_s - begin_s)


def delays_beside_told(pusher):
    """Return of each push behind a throttled one (delay, told), in milliseconds.

    The delay is that of its answer behind the answer before: it was sent at once.
    """
    pairs = zip(pusher.told, pusher.told[1:], strict=False)
    return [
        ((later.answered_s - earlier.answered_s) * 1_000, earlier.throttle_ms)
        for earlier, later in pairs
        if earlier.throttle_ms
    ]
