"""What can never match is said, and nothing else."""

import logging

import pytest

from pipelines.bridge.cluster.followed_subscriptions import FollowedSubscriptions
from pipelines.bridge.cluster.part import ClusterPart
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.bridge.telemetry.subscriptions import parse_subscription
from pipelines.bridge.telemetry.unmatchable_selectors import find_unmatchable
from pipelines.settings import load_settings

UUID = "b69cc35a-7a54-4790-aa69-cc2bd4ee4538"
DASHED = f"client_instance_id={UUID}"
"""The one in KIP-714."""


def find(match):
    return find_unmatchable(parse_subscription("s", {"match": match}).match)


@pytest.mark.parametrize(
    ("match", "why"),
    [
        (DASHED, "this one is tpzDWnpUR5Cqacwr1O5FOA"),
        (
            DASHED.upper().replace("CLIENT_INSTANCE_ID", "client_instance_id"),
            "base64url",
        ),
        (DASHED + ".*", "base64url"),
        (DASHED.replace("-", ""), "this one is tpzDWnpUR5Cqacwr1O5FOA"),
        (f"client_instance_id=^{UUID}$", "this one is tpzDWnpUR5Cqacwr1O5FOA"),
        (f"client_instance_id=({UUID})", "this one is tpzDWnpUR5Cqacwr1O5FOA"),
        (f"client_instance_id=^(?:{UUID})$", "tpzDWnpUR5Cqacwr1O5FOA"),
        (f"client_instance_id=(?<a>^{UUID}$)", "tpzDWnpUR5Cqacwr1O5FOA"),
        (f"client_instance_id=(?i){UUID}", "tpzDWnpUR5Cqacwr1O5FOA"),
        (f"client_instance_id=(?i)^{UUID.upper()}$", "tpzDWnpUR5Cqacwr1O5FOA"),
        (f"client_instance_id={UUID}|^{UUID}$", "tpzDWnpUR5Cqacwr1O5FOA"),
        ("client_instance_id=abc", "22 characters"),
        ("client_instance_id=a b.*", "22 characters"),
        ("client_source_port=http", "numbers from 1 to 65535"),
        ("client_source_port=70000", "numbers from 1"),
        ("client_source_port=080", "numbers from 1"),
        ("client_source_address=::1", "as 0:0:0:0:0:0:0:1"),
        ("client_source_address=localhost", "not names"),
    ],
)
def test_a_selector_that_never_matches_is_said_with_the_reason(match, why):
    (said,) = find(match)
    name = match.partition("=")[0]
    assert said.startswith(f"its selector {name} never matches: ")
    assert why in said
    assert len(find(f"client_id=a,{match}")) == 1


@pytest.mark.parametrize(
    "pattern",
    [f"{UUID}|abc", f"^(tpzDWnpUR5Cqacwr1O5FOA|{UUID})$", f"(?i)[|]+|(a|b)|^{UUID}$"],
)
def test_an_alternative_that_never_matches_is_said(pattern):
    (said,) = find(f"client_instance_id={pattern}")
    assert said.startswith(
        "an alternative of its selector client_instance_id never matches: "
    )
    assert said.endswith("this one is tpzDWnpUR5Cqacwr1O5FOA")


@pytest.mark.parametrize(
    "match",
    [
        f"client_instance_id=(a|{UUID}|b)?c*.*",
        f"client_instance_id=a\\|{UUID}|b", f"client_instance_id=({UUID})?.*",
        "", "client_id=b69cc35a-7a54-4790-aa69-cc2bd4ee4538", "client_id=.*",
        "client_instance_id=tpzDWnpUR5Cqacwr1O5FOA", "client_instance_id=b69cc35a-.*",
        "client_instance_id=[a-f0-9-]+", "client_instance_id=.*", "client_source_port=9092",
        "client_source_port=90..", "client_source_port=.*", "client_source_port=1|2",
        "client_source_address=10.0.0.1", r"client_source_address=10\.0\.0\.1",
        "client_source_address=10\\..*", "client_source_address=0:0:0:0:0:0:0:1",
        "client_source_address=fe80:0:0:0:0:0:0:1%eth0", "client_source_address=.*",
        "client_software_name=abc", "client_software_version=x",
    ],
)  # fmt: skip
def test_what_may_match_is_left_alone(match):
    assert find(match) == []


def test_a_resource_of_the_cluster_is_warned_of_once():
    followed = FollowedSubscriptions(SubscriptionRegistry(), [])
    resources = {"a": {"metrics": "*", "match": DASHED}, "b": {"match": "client_id=a"}}
    changes = followed.update(resources)
    assert [name for name, _ in changes.unmatchable] == ["a"]
    assert changes.put == ("a", "b")
    assert followed.update(resources).unmatchable == ()
    resources["c"] = {"metrics": "*"}
    assert followed.update(dict(resources)).unmatchable == ()


def test_a_subscription_of_conf_is_warned_of(caplog):
    own = f'[{{name="own",metrics=["*"],interval_ms=500,match=["{DASHED}"]}}]'
    settings = load_settings("local", [f"subscriptions={own}"])
    with caplog.at_level(logging.WARNING):
        ClusterPart(
            settings,
            {"bootstrap.servers": "127.0.0.1:9", "security.protocol": "PLAINTEXT"},
        )
    (line,) = [one.getMessage() for one in caplog.records]
    assert line.startswith(
        "subscription 'own' of conf/: its selector client_instance_id"
    )
