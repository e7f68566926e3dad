"""Apache Kafka's own clients, of two releases, push through bridges into a real Kafka.

`python tests/long/java_pushes.py` prints what they do as a table.
"""

import subprocess

import pytest

from tests.support.bridge.push_reader import CODECS
from tests.support.clients import java_clients
from tests.support.clients.java_clients import BY_ID, CHANGED, NEW, OLD, PREFIX


@pytest.fixture(scope="module")
def played(java, kafka, tmp_path_factory):
    """Each client of the run, and the counters of the bridges."""
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the clients come as source")
    with (tmp_path_factory.mktemp("java") / "log").open("wb") as log:
        return java_clients.play(
            java, kafka, java_clients.RELEASES, java_clients.WAITING, log
        )


@pytest.fixture(scope="module")
def clients(played):
    return played[0]


def test_every_client_pushes_with_the_only_codec_offered(clients):
    for one in clients:
        assert one.pushes.values("compression_type") == {one.codec}


def test_every_push_says_who_sent_it(clients):
    assert len(clients) == len(java_clients.RELEASES) * len(CODECS) * 3
    for one in clients:
        assert one.pushes.values("client_software_name") == {"apache-kafka-java"}
        assert one.pushes.values("client_software_version") == {one.release}
        assert len(one.pushes.values("client_instance_id")) == 1


def asked(one, *parts):
    role = "producer" if one.kind == "producer" else "consumer"
    return {f"{PREFIX}{role}.{part}" for part in parts}


def begin_with(names, prefixes):
    """Say whether every name has its prefix and every prefix its names."""
    hit = {prefix for name in names for prefix in prefixes if name.startswith(prefix)}
    return hit == prefixes and all(name.startswith(tuple(prefixes)) for name in names)


def test_clients_that_different_subscriptions_match_push_different_metrics(clients):
    for one in clients:
        by_release = OLD if one.release.startswith("3.9.") else NEW
        by_id = [BY_ID] if one.kind == "producer" else []
        assert begin_with(one.before, asked(one, by_release, *by_id)), one.before


def test_change_by_kafkas_own_command_reaches_every_client(clients):
    for one in clients:
        by_release = OLD if one.release.startswith("3.9.") else NEW
        assert begin_with(one.after, asked(one, by_release, CHANGED)), one.after


def test_clients_that_wait_for_an_answer_end_with_a_last_push(clients):
    """A classic consumer without a group sends nothing while it closes."""
    for one in clients:
        if one.kind != "classic":
            assert one.is_ended_by_push, (one.release, one.codec, one.kind)


def test_bridges_understand_all_that_the_clients_say(played):
    for counters in played[1].values():
        assert counters.malformed_requests == 0
        assert counters.unsupported_requests == 0
        assert counters.invalid_pushes == 0
        assert counters.unexpected_errors == 0
