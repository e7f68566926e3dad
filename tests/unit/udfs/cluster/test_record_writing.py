"""Records of our own are Kafka's bytes."""

from tests.unit.udfs.cluster.golden_records import EXPECTED, golden_records
from udfs.cluster.record_bytes import read_record
from udfs.cluster.record_keys import entity_of, key_of
from udfs.cluster.record_writing import (
    write_client_quota,
    write_config,
    write_feature_level,
    write_register_broker,
    write_unregister_broker,
)

GOLDEN = golden_records()


def test_a_config_a_quota_and_a_feature_have_the_golden_bytes():
    quota = write_client_quota([("user", "user1")], "producer_byte_rate", 1024.0)
    assert (
        write_config(16, "sub1", "interval.ms", "1000")
        == (GOLDEN["metadata ConfigRecord v0"])
    )
    assert quota == GOLDEN["metadata ClientQuotaRecord v0"]
    assert (
        write_feature_level("metadata.version", 25)
        == (GOLDEN["metadata FeatureLevelRecord v0"])
    )


def test_a_registration_has_the_golden_bytes():
    name = "seed003 RegisterBrokerRecord v5 (framed)"
    fields = dict(EXPECTED[name][2])
    told = [(one["name"], one["value"]) for one in fields.pop("static_configs")]
    assert write_register_broker(**fields, static_configs=told) == GOLDEN[name]
    bare = write_register_broker(
        **fields
        | {"log_dirs": None, "cordoned_log_dirs": None, "rack": ""}
        | {"endpoints": [], "features": []},
        static_configs=None,
    )
    assert bare == GOLDEN["seed003 RegisterBrokerRecord v5 no tagged values (framed)"]


def test_static_configs_that_are_told_and_none_stay_empty():
    bare = {"broker_id": 1, "endpoints": [], "rack": None, "fenced": False}
    told = read_record(write_register_broker(**bare, static_configs=[])).fields
    not_told = read_record(write_register_broker(**bare, static_configs=None)).fields
    assert (told["static_configs"], not_told["static_configs"]) == ([], None)
    assert (told["incarnation_id"], told["broker_epoch"]) == ("A" * 22, -1)


def test_a_removal_is_as_the_log_has_it():
    config = read_record(write_config(4, "", "log.segment.bytes", None)).fields
    quota = read_record(write_client_quota([("ip", None)], "k", None)).fields
    gone = read_record(write_unregister_broker(3))
    assert config["value"] is None
    assert (quota["remove"], quota["value"]) == (True, 0.0)
    assert gone.fields == {"broker_id": 3, "broker_epoch": -1}


def test_each_record_has_the_key_of_what_it_is_about():
    keys = {name: key_of(kind, fields) for name, (kind, _, fields) in EXPECTED.items()}
    assert keys["metadata RegisterBrokerRecord v0"] == "RegisterBroker/brokers/1"
    assert keys["metadata ClientQuotaRecord v0"] == (
        "ClientQuota/users/user1/producer_byte_rate"
    )
    assert keys["metadata ConfigRecord v0"] == "Config/client-metrics/sub1/interval.ms"
    assert keys["metadata FeatureLevelRecord v0"] == (
        "FeatureLevel/features/metadata.version"
    )
    gone = read_record(write_unregister_broker(3))
    assert entity_of(gone.record_type, gone.fields) == "brokers/3"
