"""The bounded reader against kio's own writer, which knows the messages better."""

import io
import uuid
from datetime import timedelta

import pytest
from kio.index import load_payload_module, load_request_schema, load_response_schema
from kio.schema.api_versions.v3.response import (
    ApiVersion,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from kio.schema.describe_configs.v4.request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.metadata.v12.response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.serial import entity_writer
from kio.static.constants import EntityType
from kio.static.primitive import i32, i32Timedelta, i64Timedelta

from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from pipelines.kafka_wire.cluster_requests import (
    KNOWN_VERSIONS,
    adapt,
    newest,
    share_version,
)
from pipelines.kafka_wire.entities import ItemBudget, read_entity
from pipelines.kafka_wire.messages import NO_THROTTLE

SYNONYM = DescribeConfigsSynonym(name="k", value=None, source=7)
ENTRY = DescribeConfigsResourceResult(
    name="metrics", value="a.,ü.", read_only=False, config_source=7,
    is_sensitive=True, synonyms=(SYNONYM,), config_type=7, documentation=None,
)  # fmt: skip
RESULT = DescribeConfigsResult(
    error_code=ErrorCode.none, error_message=None, resource_type=16,
    resource_name="s", configs=(ENTRY, ENTRY),
)  # fmt: skip
CONFIG = AlterableConfig(name="metrics", config_operation=1, value=None)
TOPIC = MetadataResponseTopic(
    error_code=ErrorCode.none, name="t", topic_id=uuid.UUID(int=7), partitions=(),
)  # fmt: skip
MESSAGES = [
    DescribeConfigsResponse(throttle_time=NO_THROTTLE, results=(RESULT,)),
    DescribeConfigsRequest(
        resources=(
            DescribeConfigsResource(
                resource_type=16, resource_name="s", configuration_keys=None
            ),
            DescribeConfigsResource(
                resource_type=2, resource_name="", configuration_keys=("a", "b")
            ),
        ),
        include_synonyms=True,
    ),
    IncrementalAlterConfigsRequest(
        resources=(
            AlterConfigsResource(
                resource_type=16, resource_name="s", configs=(CONFIG,)
            ),
        ),
        validate_only=True,
    ),
    ListConfigResourcesRequest(resource_types=(16, 2)),
    ApiVersionsResponse(
        error_code=ErrorCode.none,
        api_keys=(ApiVersion(api_key=74, min_version=0, max_version=1),),
        throttle_time=i32Timedelta.parse(timedelta(milliseconds=5)),
        supported_features=(
            SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1),
        ),
    ),
    SaslAuthenticateResponse(
        error_code=ErrorCode.none, error_message="m", auth_bytes=b"\0\1",
        session_lifetime=i64Timedelta.parse(timedelta(hours=1)),
    ),
    MetadataResponse(
        throttle_time=NO_THROTTLE,
        brokers=(MetadataResponseBroker(node_id=1, host="b", port=i32(9092)),),
        topics=(TOPIC,),
    ),
]  # fmt: skip
READABLE = KNOWN_VERSIONS | {18: range(4), 36: range(3)}
VERSIONS = [
    pytest.param(message, version, id=f"{type(message).__name__}-{version}")
    for message in MESSAGES
    for version in READABLE[message.__api_key__]
]


def encode(message):
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def read(data, schema, items=100):
    cursor = Cursor(data)
    return read_entity(cursor, schema, ItemBudget(items)), cursor.remaining_bytes


@pytest.mark.parametrize(("message", "version"), VERSIONS)
def test_message_is_read_as_kio_has_written_it(message, version):
    older = adapt(message, version)
    assert older.__version__ == version
    assert read(encode(older), type(older)) == (older, 0)
    assert read(encode(older) + b"xyz", type(older)) == (older, 3)


@pytest.mark.parametrize(("message", "version"), VERSIONS)
def test_message_that_is_cut_is_malformed_wherever(message, version):
    older = adapt(message, version)
    data = encode(older)
    for cut in range(len(data)):
        with pytest.raises(MalformedBytes):
            read(data[:cut], type(older))


def test_unknown_tagged_field_is_passed_over():
    data = encode(ListConfigResourcesRequest(resource_types=()))
    assert data[-1:] == b"\0"
    tagged = data[:-1] + b"\x01\x63\x02ab"
    schema = load_request_schema(74, 1)
    assert read(tagged, schema) == (schema(resource_types=()), 0)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\x00\x00", "null resource_types"), (b"\xff\xff\xff\xff\x07", "items"),
     (b"\xff\xff\xff\xff\xff\xff", "5 bytes")],
)  # fmt: skip
def test_bad_array_of_a_flexible_version_is_malformed(data, said):
    with pytest.raises(MalformedBytes, match=said):
        read(data, load_request_schema(74, 1))


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\xff\xff\xff\xff", "null resources"), (b"\x7f\xff\xff\xff", "items"),
     (b"\0\0\0\1\x10\xff\xff\0\0\0\0\0", "null resource_name"),
     (b"\0\0\0\1\x10\0\1s\0\0\0\1\xff\xff\0", "null in configuration_keys")],
)  # fmt: skip
def test_bad_array_of_an_older_version_is_malformed(data, said):
    with pytest.raises(MalformedBytes, match=said):
        read(data, load_request_schema(32, 1))


def test_items_of_all_arrays_are_counted_together():
    data = encode(MESSAGES[0])
    assert read(data, DescribeConfigsResponse, items=5)[1] == 0
    with pytest.raises(MalformedBytes, match="too many items"):
        read(data, DescribeConfigsResponse, items=4)


def test_error_code_of_a_later_kafka_is_an_unknown_error():
    response = read(b"\x7f\x00\0\0\0\0", load_response_schema(18, 0))[0]
    assert response.error_code is ErrorCode.unknown_server_error


def test_duration_that_nobody_can_hold_is_malformed():
    module = load_payload_module(36, 1, EntityType.response)
    data = b"\0\0\xff\xff\0\0\0\0\x7f" + b"\xff" * 7
    with pytest.raises(MalformedBytes, match="duration"):
        read(data, module.SaslAuthenticateResponse)


@pytest.mark.parametrize("message", MESSAGES[:3])
def test_older_message_is_made_new_with_defaults(message):
    oldest = adapt(message, KNOWN_VERSIONS[message.__api_key__][0])
    again = newest(oldest)
    assert type(again) is type(message)
    assert adapt(again, oldest.__version__) == oldest


@pytest.mark.parametrize(
    ("offered", "shared"),
    [({32: range(5)}, 4), ({32: range(3)}, 2), ({32: range(9)}, 4),
     ({32: range(1)}, None), ({32: range(5, 9)}, None), ({1: range(5)}, None), ({}, None)],
)  # fmt: skip
def test_newest_common_version_is_shared(offered, shared):
    assert share_version(32, offered) == shared
