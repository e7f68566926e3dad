import pytest
from kio.index import load_response_schema
from kio.schema.api_versions.v4 import response as api_versions_4
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from kio.static.primitive import i16

from pipelines.bridge.proxy.frames.api_versions import limit_api_versions
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_wire.messages import NO_THROTTLE, encode_body, fill

OWN = ((71, (0, 0)), (72, (0, 0)))
OFFERED = {0: (0, 99), 1: (4, 18), 2: (1, 11), 18: (0, 9), 72: (0, 7), 900: (3, 4)}


def encode(version, offered, error_code=ErrorCode.none):
    schema = load_response_schema(18, version)
    module = __import__(schema.__module__, fromlist=["ApiVersion"])
    keys = tuple(
        fill(
            module.ApiVersion,
            api_key=i16(key),
            min_version=i16(low),
            max_version=i16(high),
        )
        for key, (low, high) in offered.items()
    )
    return encode_body(
        fill(
            schema,
            error_code=error_code,
            api_keys=keys,
            throttle_time=NO_THROTTLE,
            finalized_features_epoch=7,
        )
    )


def read(version, body):
    answer, size = entity_reader(load_response_schema(18, version))(body, 0)
    assert size == len(body)
    keys = {
        int(one.api_key): (int(one.min_version), int(one.max_version))
        for one in answer.api_keys
    }
    return answer, keys


@pytest.mark.parametrize("version", range(5))
def test_what_is_rewritten_is_limited_and_the_rest_is_the_clusters(version):
    answer, keys = read(
        version, limit_api_versions(version, encode(version, OFFERED), OWN)
    )
    assert keys == {
        0: (0, 13), 1: (4, 15), 2: (1, 11), 18: (0, 5), 71: (0, 0), 72: (0, 0), 900: (3, 4),
    }  # fmt: skip
    if isinstance(answer, api_versions_4.ApiVersionsResponse):
        assert answer.finalized_features_epoch == 7


def test_brokers_keep_their_telemetry_where_it_is_relayed():
    _, keys = read(4, limit_api_versions(4, encode(4, OFFERED), ()))
    assert keys[72] == (0, 7)
    assert 71 not in keys


def test_an_api_that_only_knows_newer_versions_is_left_out():
    _, keys = read(3, limit_api_versions(3, encode(3, {1: (17, 18), 2: (0, 1)}), OWN))
    assert set(keys) == {2, 71, 72}


def test_an_unsupported_version_is_answered_in_version_0():
    body = encode(0, {18: (0, 4)}, ErrorCode.unsupported_version)
    assert limit_api_versions(5, body, OWN) == body


def test_an_answer_that_is_cut_off_is_malformed():
    with pytest.raises(MalformedBytes):
        limit_api_versions(3, encode(3, OFFERED)[:9], OWN)
