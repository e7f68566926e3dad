import struct

import pytest

from pipelines.bridge.protocol.requests import TELEMETRY_APIS as APIS
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.primitives import MalformedBytes

HEADER = struct.pack(">hhih", 3, 0, 7, -1)


def test_metadata_of_too_many_topics_is_malformed_before_they_are_read():
    head = HEADER + struct.pack(">i", 2_001)
    with pytest.raises(MalformedBytes, match="2001 topics"):
        parse_request(head + b"\x00\x00" * 2_001, APIS)
    allowed = HEADER + struct.pack(">i", 2_000) + b"\x00\x00" * 2_000
    assert len(parse_request(allowed, APIS).body.topics) == 2_000


def test_metadata_name_that_no_answer_could_repeat_is_malformed():
    """Each byte that is no UTF-8 becomes three."""
    name = struct.pack(">ih", 1, 20_000) + b"\xff" * 20_000
    with pytest.raises(MalformedBytes, match="too long"):
        parse_request(HEADER + name, APIS)
