"""Secrets that a thousand pushes hold appear nowhere: topic, replies, log, disk."""

import asyncio
import random
import re
import uuid

from tests.support.bridge.config_support import read_topic, running_bridge
from tests.support.clients.config_canaries import (
    ALLOWED_KEYS,
    SPELLINGS,
    list_sensitive_keys,
)
from tests.unit.bridge.push_config.raw_client import (
    PUSH_CONFIG,
    TYPES,
    connect,
    entry,
    push_body,
)
from tests.unit.udfs.sensitive.secrets_in_values import SECRETS, write_secret

CANARIES = 1_400
CANARY = re.compile(rb"canary[0-9]{6}|(?<![0-9])900000[0-9]{6}(?![0-9])")
ORDINARY = "ordinary-value-that-must-be-found"
POLICY = "client_config.policy=tests.unit.bridge.push_config.policies:Failing"


def make_pushes(dice):
    """Yield bodies with canaries, well made and not, until there are enough."""
    keys, count = list_sensitive_keys(), 0

    def canary():
        nonlocal count
        count += 1
        return f"canary{count:06}"

    def secret_value():
        nonlocal count
        count += 1
        return write_secret(dice.choice(SECRETS)[1], count)

    while count < CANARIES:
        key, other = (dice.choice(SPELLINGS)(dice.choice(keys)) for _ in range(2))
        jaas = f'org.x.LoginModule required password="{canary()}";'
        yield push_body(
            entry("client.id", ORDINARY),
            entry(key, canary(), dice.choice(TYPES)),
            entry(other, jaas, "PASSWORD"),
            entry(dice.choice(ALLOWED_KEYS[1:]), secret_value()),
            entry("client.rack", secret_value()),
            entry("acks", canary(), "PASSWORD"),
            entry(f"com.acme.key{dice.randrange(10)}", canary()),
            entry(f"password={canary()}", "x"),
            entry(f"https://user:{canary()}@host", canary()),
        )
        tag = b"\x01\x05\x0c" + canary().encode()
        yield push_body(entry("acks", "all")[:-1] + tag)[:-1] + tag + canary().encode()
        yield push_body(entry("ssl.key.password", canary() + "x" * 11_000))
        yield b"\x09" + entry("ssl.key.password", canary(), "PASSWORD")


async def push_all(host, port, bodies):
    """Send every body; return all that was answered, and how many got no answer."""
    replies, unanswered = [], 0
    client = await connect(host, port)
    await client.say_versions(instance_id=uuid.uuid4())
    for body in bodies:
        try:
            replies.append(await client.ask(PUSH_CONFIG, 0, body))
        except asyncio.IncompleteReadError:
            unanswered += 1
            client.close()
            client = await connect(host, port)
            await client.say_versions()
    client.close()
    return replies, unanswered


def push_canaries(kafka, folder, *overrides):
    """Run one bridge; return every byte that came out of it, and its records."""
    topic = f"c-{uuid.uuid4()}"
    names = [f"topics.telemetry=t-{topic}", f"topics.configs={topic}"]
    bodies = list(make_pushes(random.Random(4)))  # noqa: S311 - spelling
    assert sum(len(CANARY.findall(body)) for body in bodies) >= CANARIES
    log_path = folder / "log"
    with running_bridge(kafka, log_path, *names, *overrides) as (_, host, port):
        replies, unanswered = asyncio.run(push_all(host, port, bodies))
        records = read_topic(kafka, topic)
    assert unanswered == len(bodies) // 4
    segments = [
        path.read_bytes()
        for path in kafka.folder.rglob("*.log")
        if path.parent.name.rpartition("-")[0] == topic
    ]
    log = log_path.read_bytes()
    return replies, records, segments, log


def test_no_secret_leaves_the_bridge(kafka, tmp_path):
    replies, records, segments, log = push_canaries(kafka, tmp_path, POLICY)
    assert len(records) == sum(reply[5:7] == b"\0\0" for reply in replies) > 150
    texts = [record.value() + repr(record.headers()).encode() for record in records]
    assert ORDINARY.encode() in b"".join(texts)
    assert ORDINARY.encode() in b"".join(segments)
    assert b"the policy raised KeyError" in log
    for place in (*texts, *segments, *replies, log):
        assert CANARY.findall(place) == []
    assert ORDINARY.encode() not in log


def test_no_secret_leaves_a_bridge_that_refuses(kafka, tmp_path):
    reject = "client_config.on_violation=reject"
    replies, records, segments, log = push_canaries(kafka, tmp_path, reject)
    refused = [reply for reply in replies if reply[5:7] == b"\0\x28"]
    assert len(refused) > 80
    assert b"(no name) (custom-key)" in b"".join(refused)
    # Only the pushes without a sensitive key are there.
    assert {record.value() for record in records} == {push_body(entry("acks", "all"))}
    for place in (*(one.value() for one in records), *segments, *replies, log):
        assert CANARY.findall(place) == []
