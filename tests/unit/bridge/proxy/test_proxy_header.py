import ipaddress
import struct

import pytest

from pipelines.bridge.core.client_identity import address_text
from pipelines.bridge.proxy.frames.proxy_header import read_proxy_header
from pipelines.bridge.proxy.relay.greeting import find_source
from pipelines.kafka_client.primitives import MalformedBytes

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def header(command, family, body):
    return SIGNATURE + struct.pack(">BBH", command, family, len(body)) + body


IPV4 = header(
    0x21, 0x11, bytes([10, 0, 0, 7, 10, 0, 0, 1]) + struct.pack(">HH", 5000, 9092)
)
IPV6 = header(
    0x21, 0x21, bytes(15) + b"\x01" + bytes(16) + struct.pack(">HH", 5000, 9092)
)
WITH_TLV = header(0x21, 0x11, IPV4[16:] + b"\x01\x00\x02h2")
LOCAL = header(0x20, 0x00, b"")
UNIX = header(0x21, 0x31, bytes(216))


KNOWN = [
    (IPV4, ("10.0.0.7", 5000)),
    (IPV6, ("::1", 5000)),
    (WITH_TLV, ("10.0.0.7", 5000)),
    (LOCAL, None),
    (UNIX, None),
]


@pytest.mark.parametrize(("data", "source"), KNOWN)
def test_a_header_is_whole_wherever_it_is_cut(data, source):
    for cut in range(len(data)):
        assert read_proxy_header(data[:cut]) is None
    found = read_proxy_header(data + b"kafka")
    assert found.source == source
    assert found.size_bytes == len(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\x10",
        b"PROXY TCP4 10.0.0.7 10.0.0.1 5000 9092\r\n",
        header(0x11, 0x11, IPV4[16:]),
        header(0x21, 0x11, b"short"),
        header(0x21, 0x11, bytes(5_000)),
    ],
)
def test_who_sends_no_such_header_is_not_taken(data):
    with pytest.raises(MalformedBytes):
        read_proxy_header(data)


@pytest.mark.parametrize(("data", "source"), KNOWN)
def test_the_address_that_counts_is_that_of_the_header(data, source):
    networks = [ipaddress.ip_network("10.1.0.0/16")]
    for cut in range(len(data)):
        assert find_source(networks, "10.1.2.3", data[:cut]) is None
    counts = "10.1.2.3" if source is None else address_text(source[0])
    assert find_source(networks, "10.1.2.3", data) == counts
    assert find_source(networks, "10.2.2.3", b"") == "10.2.2.3"
    assert find_source((), "10.1.2.3", data) == "10.1.2.3"
