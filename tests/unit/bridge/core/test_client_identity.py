import uuid

import pytest

from pipelines.bridge.core.client_identity import address_text, uuid_text


@pytest.mark.parametrize(
    ("host", "text"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "0:0:0:0:0:0:0:1"),
     ("::ffff:10.0.0.7", "10.0.0.7"), ("2001:db8::ff", "2001:db8:0:0:0:0:0:ff"),
     ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"), ("", ""), ("/unix", "/unix")],
)  # fmt: skip
def test_address_is_printed_as_java_prints_it(host, text):
    assert address_text(host) == text


def test_uuid_is_printed_as_kafka_prints_it():
    instance_id = uuid.UUID("b69cc35a-7a54-4790-aa69-cc2bd4ee4538")
    assert uuid_text(instance_id) == "tpzDWnpUR5Cqacwr1O5FOA"
    assert uuid_text(uuid.UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"
