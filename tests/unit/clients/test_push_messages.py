import contextlib
import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.bridge.protocol.push_config import (
    read_push_config as read_at_bridge,
)
from pipelines.bridge.protocol.push_config import write_push_config_response
from pipelines.clients.kafka_client.messages import api_versions
from pipelines.clients.kafka_client.primitives import MalformedBytes
from pipelines.clients.push_messages import (
    ConfigEntry,
    NamedSoftware,
    PushAnswer,
    name_instance,
    naming_api_versions,
    read_push_config,
    write_push_config,
)
from pipelines.kafka_client.primitives import Cursor
from tests.unit.bridge.push_config.raw_client import versions_body

GOLDEN = Path(__file__).parents[2] / "golden" / "bridge" / "wire_bytes.tsv"
ENTRIES = [ConfigEntry("acks", "all", 1, True), ConfigEntry("linger.ms", "5", 4, False)]
LONG = ConfigEntry("long", "ü" * 300, 1, False)
REFUSED = bytes.fromhex("0000000000280462616400")
"""An answer with error 40 and a text."""


def golden(name):
    lines = (line.split("\t") for line in GOLDEN.read_text().splitlines())
    return next(
        bytes.fromhex(text) for title, _, text in lines if title.startswith(name)
    )


def make_software(instance_id):
    return NamedSoftware(
        client_id="app", name="name", version="1.2", client_instance_id=instance_id
    )


def test_a_push_has_the_golden_bytes():
    body = golden("seed000 PushConfigRequest v0 body")
    assert write_push_config(ENTRIES) == body
    empty = golden("seed000 PushConfigRequest v0 empty")
    assert write_push_config([]) == empty


def test_golden_answers_are_read():
    ok = golden("seed000 PushConfigResponse v0 ok")
    assert read_push_config(ok) == PushAnswer(0, 0, None)
    refused = golden("seed000 PushConfigResponse v0 err")
    assert read_push_config(refused) == PushAnswer(0, 40, "bad")


def test_the_bridge_reads_what_is_written():
    body = write_push_config([*ENTRIES, LONG])
    assert [tuple(one) for one in read_at_bridge(Cursor(body)).configs] == [
        tuple(one) for one in [*ENTRIES, LONG]
    ]


def test_an_answer_of_the_bridge_is_read_with_its_throttle_time():
    body = write_push_config_response(89, "l" * 200, throttle_time_ms=700)
    assert read_push_config(body) == PushAnswer(700, 89, "l" * 200)


def test_api_versions_says_the_software_and_the_instance():
    plain = api_versions("name", "1.2")
    assert plain.body == versions_body(3, "name", "1.2")
    instance_id = uuid.uuid4()
    named = naming_api_versions(make_software(instance_id))
    assert named.body == versions_body(6, "name", "1.2", instance_id)


@pytest.mark.parametrize(
    ("served", "api_version"),
    [({18: range(7)}, 6), ({18: range(5)}, 3), ({18: range(9)}, 3), ({}, 3),
     ({18: range(5, 4)}, 3)],
)  # fmt: skip
def test_the_field_of_the_instance_is_used_where_it_is_known(served, api_version):
    request = next(name_instance(make_software(uuid.uuid4()), served))
    assert request.api_version == api_version
    assert (b"-cid-" in request.body) is (api_version == 3)


def test_an_answer_is_read_whole_and_refused_when_cut():
    expected = PushAnswer(0, 40, "bad")
    assert read_push_config(REFUSED) == expected
    assert read_push_config(REFUSED + b"more") == expected
    for cut in range(10):
        with pytest.raises(MalformedBytes):
            read_push_config(REFUSED[:cut])


@settings(max_examples=100)
@given(st.binary(max_size=60), st.integers(0, 10))
def test_noise_is_an_answer_or_is_malformed(noise, start):
    with contextlib.suppress(MalformedBytes):
        read_push_config(REFUSED[:start] + noise)


def test_an_entry_does_not_print_its_value():
    assert "all" not in repr(ENTRIES[0])
