"""Defaults of the catalogs: which there are, and what else a client may call them."""

import pytest

from pipelines.errors import InvalidSetting
from pipelines.reading.views.catalog_entries import load_catalog_entries, parse_file
from pipelines.reading.views.config_catalog_view import (
    list_names,
    list_releases,
    number_version,
)
from pipelines.settings import load_settings

HEADER = "name,type,default,has_default,importance,validator,internal"


def test_a_key_without_a_default_has_no_entry():
    text = f"{HEADER}\nacks,STRING,all,true,LOW,,false\ngroup.id,STRING,,false,LOW,,f\n"
    entries = list(parse_file("java-4.3.1-consumer", text))
    assert [(one.config_key, one.client_type) for one in entries] == [
        ("acks", "consumer"),
        ("acks", "share_consumer"),
    ]
    assert {(one.version, one.default_value) for one in entries} == {("4.3.1", "all")}


def test_consumers_and_share_consumers_have_what_they_take():
    text = (
        f"{HEADER}\nisolation.level,STRING,x,true,LOW,,false\n"
        "share.acquire.mode,STRING,x,true,LOW,,false\n"
    )
    assert [
        (one.config_key, one.client_type)
        for one in parse_file("java-4.3.1-consumer", text)
    ] == [("isolation.level", "consumer"), ("share.acquire.mode", "share_consumer")]
    keys = {"share_consumer": set(), "consumer": set()}
    for one in load_catalog_entries():
        if one.catalog == "librdkafka" and one.client_type in keys:
            keys[one.client_type].add(one.config_key)
    assert "auto.offset.reset" in keys["consumer"] - keys["share_consumer"]
    assert "share.acknowledgement.mode" in keys["share_consumer"] - keys["consumer"]


def test_a_file_with_a_wrong_name_is_told():
    with pytest.raises(
        InvalidSetting, match=r"config_catalog/java\.csv: a file is named"
    ):
        list(parse_file("java", HEADER))


def test_librdkafka_has_aliases_and_names_of_the_java_client():
    entries = {
        (one.client_type, one.config_key): one
        for one in load_catalog_entries()
        if one.catalog == "librdkafka"
    }
    kbytes = entries["producer", "queue.buffering.max.kbytes"]
    assert "buffer.memory" in kbytes.other_names
    assert "acks" in entries["producer", "request.required.acks"].other_names
    assert entries["consumer", "fetch.wait.max.ms"].other_names == (
        "fetch.max.wait.ms",
    )
    assert ("producer", "fetch.wait.max.ms") not in entries
    assert entries["producer", "batch.size"].config_type == "INT"


def test_hidden_keys_and_those_that_clients_always_set_are_left_out():
    releases = {
        (name, client_type): {
            version: {key for key, *_ in entries} for _, version, entries in made
        }
        for name, client_type, made in list_releases(load_settings("base"))
    }
    keys = releases["apache-kafka-java", "producer"]["4.3.1"]
    assert "acks" in keys
    assert keys.isdisjoint(
        {"bootstrap.servers", "client.id", "key.serializer", "sasl.mechanism"}
    )
    assert releases["librdkafka", "consumer"].keys() == {"2.15", "2.16"}


def test_every_name_of_a_config_names_the_others_and_says_whether_it_is_hidden():
    names = {
        tuple(key): (others, is_hidden)
        for *key, others, is_hidden in list_names(load_settings("base"))
    }
    python = ("confluent-kafka-python", "producer")
    assert names[*python, "acks"] == (["request.required.acks"], False)
    assert names[*python, "request.required.acks"] == (["acks"], False)
    assert names["apache-kafka-java", "producer", "ssl.key.password"] == ([], True)
    assert ("apache-kafka-java", "producer", "acks") not in names
    # Of librdkafka's own, and of Java's name for another one.
    admin = names["librdkafka", "admin", "request.timeout.ms"]
    assert admin == (["socket.timeout.ms"], False)


@pytest.mark.parametrize(
    ("version", "nearer", "farther"),
    [("3.8.0", "3.9.2", "4.3.1"), ("4.0.0", "4.3.1", "3.9.2"), ("5", "4.3.1", "3.9.2")],
)
def test_numbers_of_versions_are_distances(version, nearer, farther):
    number = number_version(version)
    near, far = number_version(nearer), number_version(farther)
    assert abs(number - near) < abs(number - far)
    assert number_version("no version") == 0
