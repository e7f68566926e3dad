"""Records that Kafka's own classes wrote, and what they say."""

from pathlib import Path

GOLDEN = Path(__file__).parents[3] / "golden"
WIRE_BYTES = GOLDEN / "bridge" / "wire_bytes.tsv"

_INCARNATION = "tpzDWnpUR5Cqacwr1O5FOA"
LOG_DIR = "Tm-1TLjmRReIm-FbmcCcIA"
_ENDPOINT = {
    "name": "PLAINTEXT",
    "host": "localhost",
    "port": 9092,
    "security_protocol": "PLAINTEXT",
}
_FEATURE = {"name": "metadata.version", "min_version": 1, "max_version": 25}


def _broker(**more):
    return {
        "broker_id": 1,
        "is_migrating_zk_broker": None,
        "incarnation_id": _INCARNATION,
        "broker_epoch": 42,
        "endpoints": [_ENDPOINT],
        "features": [_FEATURE],
        "rack": None,
        "fenced": True,
        "in_controlled_shutdown": None,
        "log_dirs": None,
        "cordoned_log_dirs": None,
        "static_configs": None,
        **more,
    }


_SINCE_1 = {"in_controlled_shutdown": False}
_SINCE_2 = {**_SINCE_1, "is_migrating_zk_broker": False}
_WITH_RACK = {**_SINCE_2, "rack": "r1", "log_dirs": [LOG_DIR]}
_CORDONED = {**_WITH_RACK, "cordoned_log_dirs": [LOG_DIR]}

EXPECTED = {
    "metadata RegisterBrokerRecord v0": ("RegisterBroker", 0, _broker()),
    "metadata RegisterBrokerRecord v1": ("RegisterBroker", 1, _broker(**_SINCE_1)),
    "metadata RegisterBrokerRecord v2": ("RegisterBroker", 2, _broker(**_SINCE_2)),
    "metadata RegisterBrokerRecord v3": (
        "RegisterBroker",
        3,
        _broker(**_SINCE_2, log_dirs=[LOG_DIR]),
    ),
    "seed003 RegisterBrokerRecord v3 (framed)": (
        "RegisterBroker",
        3,
        _broker(**_WITH_RACK),
    ),
    "seed003 RegisterBrokerRecord v4 (framed)": (
        "RegisterBroker",
        4,
        _broker(**_CORDONED),
    ),
    "seed003 RegisterBrokerRecord v5 (framed)": (
        "RegisterBroker",
        5,
        _broker(
            **_CORDONED,
            static_configs=[
                {"name": "log.segment.bytes", "value": "1073741824"},
                {"name": "broker.rack", "value": None},
            ],
        ),
    ),
    "seed003 RegisterBrokerRecord v5 no tagged values (framed)": (
        "RegisterBroker",
        5,
        _broker(**_SINCE_2) | {"rack": "", "endpoints": [], "features": []},
    ),
    "metadata ClientQuotaRecord v0": (
        "ClientQuota",
        0,
        {
            "entity": [{"entity_type": "user", "entity_name": "user1"}],
            "key": "producer_byte_rate",
            "value": 1024.0,
            "remove": False,
        },
    ),
    "metadata ConfigRecord v0": (
        "Config",
        0,
        {
            "resource_type": 16,
            "resource_name": "sub1",
            "name": "interval.ms",
            "value": "1000",
        },
    ),
    "metadata FeatureLevelRecord v0": (
        "FeatureLevel",
        0,
        {"name": "metadata.version", "feature_level": 25},
    ),
}
"""Name in wire_bytes.tsv to record type, version and fields."""


def golden_records():
    """Return name to framed bytes of every record of wire_bytes.tsv."""
    lines = WIRE_BYTES.read_text().splitlines()
    rows = (line.split("\t") for line in lines)
    return {name: bytes.fromhex(text) for name, _, text in rows if "Record v" in name}
