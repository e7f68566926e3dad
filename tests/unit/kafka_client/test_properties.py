import contextlib
import os
import ssl
import tempfile
from pathlib import Path

import pytest

from pipelines.clients.configs_in_force import LibrdkafkaConfigs
from pipelines.clients.key_lists import PRODUCER
from pipelines.kafka_client import memory_files
from pipelines.kafka_client.faults import LoginRefused
from pipelines.kafka_client.properties import (
    UnusableConfig,
    make_access,
    parse_servers,
)
from tests.support.bridge.certificates import Authority

SERVERS = [
    ("a", (("a", 9092),)),
    (" a:1 , b:2,", (("a", 1), ("b", 2))),
    ("SASL_SSL://a.b:7,[::1]:8,[::2]", (("a.b", 7), ("::1", 8), ("::2", 9092))),
]


@pytest.mark.parametrize(("text", "expected"), SERVERS)
def test_servers_are_read_as_librdkafka_reads_them(text, expected):
    assert parse_servers(text) == expected


@pytest.mark.parametrize("text", ["", " , ", "a:b", "a:0", "a:70000", "::1"])
def test_what_is_no_server_is_refused_without_its_text(text):
    with pytest.raises(UnusableConfig, match=r"^bootstrap\.servers "):
        parse_servers(text)


def access(**given):
    conf = {name.replace("_", "."): value for name, value in given.items()}
    conf["bootstrap.servers"] = "a"
    return make_access(LibrdkafkaConfigs(PRODUCER, conf, {}).find, conf)


def test_plaintext_has_neither_tls_nor_a_login():
    made = access()
    assert (made.tls, made.login) == (None, None)


def test_tls_checks_certificates_and_names_unless_told_otherwise(tmp_path):
    authority = Authority(tmp_path)
    made = access(security_protocol="SSL", ssl_ca_location=str(authority.path)).tls
    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert made.minimum_version == ssl.TLSVersion.TLSv1_2
    named = access(
        security_protocol="ssl", ssl_endpoint_identification_algorithm="none"
    ).tls
    assert (named.verify_mode, named.check_hostname) == (ssl.CERT_REQUIRED, False)
    trusting = access(
        security_protocol="ssl", enable_ssl_certificate_verification=False
    ).tls
    assert (trusting.verify_mode, trusting.check_hostname) == (ssl.CERT_NONE, False)


def test_what_a_plain_mapping_does_not_say_is_checked():
    made = make_access({"bootstrap.servers": "a", "security.protocol": "SSL"}.get)
    assert (made.tls.verify_mode, made.tls.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_file_and_a_text_of_authorities_are_both_trusted(tmp_path):
    one, other = Authority(tmp_path), Authority(tmp_path, "another")
    both = {"ssl_ca_location": str(one.path), "ssl_ca_pem": other.path.read_text()}
    assert len(access(security_protocol="ssl", **both).tls.get_ca_certs()) == 2


def test_one_node_is_reached_as_its_cluster_is():
    made = access(security_protocol="ssl", ssl_endpoint_identification_algorithm="none")
    node = made.at(("::1", 7))
    assert (node.place, node.tls) == ("[::1]:7", made.tls)


def test_keys_may_be_files_or_texts_and_have_a_password(tmp_path):
    authority = Authority(tmp_path)
    files = authority.issue("me", "CN=me", password="pencil")
    common = {"security_protocol": "ssl", "ssl_key_password": "pencil"}
    access(
        **common,
        ssl_certificate_location=str(files.certificate),
        ssl_key_location=str(files.key),
    )
    access(
        **common,
        ssl_ca_pem=authority.path.read_text(),
        ssl_certificate_pem=files.certificate.read_text(),
        ssl_key_pem=files.key.read_text(),
        ssl_cipher_suites="ECDHE-ECDSA-AES256-GCM-SHA384",
    )


def files_in_memory():
    """What is open besides is not of this test: a collection may close it."""
    links = []
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(str(one.readlink()))
    return [one for one in links if one.startswith("/memfd:")]


def refuse(*_words, **_more):
    raise AssertionError("a file is made")


def test_a_key_that_is_given_as_a_text_is_on_no_disk(tmp_path, monkeypatch):
    files = Authority(tmp_path).issue("me", "CN=me")
    for name in ("TemporaryDirectory", "mkstemp", "mkdtemp", "NamedTemporaryFile"):
        monkeypatch.setattr(tempfile, name, refuse)
    before = files_in_memory()
    access(
        security_protocol="ssl",
        ssl_certificate_pem=files.certificate.read_text(),
        ssl_key_pem="Schlüssel von mir\n" + files.key.read_text(),
    )
    assert files_in_memory() == before


def deny(*_words, **_more):
    raise PermissionError(1, "Operation not permitted")


@pytest.fixture(params=["no such call", "a call that is denied", "no /proc"])
def without_memory(request, monkeypatch, tmp_path):
    if request.param == "no such call":
        monkeypatch.delattr(os, "memfd_create")
    elif request.param == "no /proc":
        monkeypatch.setattr(memory_files, "_OPEN_FILES", tmp_path / "none")
    else:
        monkeypatch.setattr(os, "memfd_create", deny)


@pytest.mark.usefixtures("without_memory")
def test_where_memory_is_no_place_for_files_a_folder_of_ones_own_is():
    with memory_files.as_file("text") as place:
        path = Path(place)
        assert path.read_text() == "text"
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.parent.exists()


@pytest.mark.usefixtures("without_memory")
def test_without_a_place_for_a_key_it_cannot_be_used(tmp_path, monkeypatch):
    key = Authority(tmp_path).issue("me", "CN=me").key.read_text()
    given = {"security_protocol": "ssl", "ssl_key_pem": key, "ssl_certificate_pem": key}
    monkeypatch.setattr(tempfile, "TemporaryDirectory", deny)
    told = r"^ssl\.certificate\.pem has no place \(Operation not permitted\)$"
    with pytest.raises(UnusableConfig, match=told):
        access(**given)


@pytest.mark.parametrize("more", [{}, {"sasl_oauthbearer_config": "scope=x"}])
def test_a_callback_is_asked_as_confluent_kafka_asks_it(more):
    """Which gives None, not an empty text, where the config is not set."""
    asked = []
    oauth = {"security_protocol": "sasl_plaintext", "sasl_mechanism": "OAUTHBEARER"}
    conf = {name.replace("_", "."): value for name, value in (oauth | more).items()}
    conf |= {"bootstrap.servers": "a", "oauth_cb": asked.append}
    frames = make_access(LibrdkafkaConfigs(PRODUCER, conf, {}).find, conf).login.start()
    with pytest.raises(LoginRefused):
        next(frames)
    assert asked == [more.get("sasl_oauthbearer_config")]


UNUSABLE = [
    ({"security_protocol": "tls"}, "security.protocol must be one of"),
    ({"security_protocol": "ssl", "ssl_ca_pem": "no PEM"}, "ssl.ca.pem cannot be used"),
    ({"security_protocol": "ssl", "ssl_ca_location": "/none"}, "ssl.ca.location cannot be used"),
    ({"security_protocol": "ssl", "ssl_crl_location": "/none"}, "ssl.crl.location cannot be used"),
    ({"security_protocol": "ssl", "ssl_certificate_location": "/none"}, "ssl.key.location is missing"),
    ({"security_protocol": "ssl", "ssl_key_location": "/none"}, "ssl.certificate.location is missing"),
    ({"security_protocol": "ssl", "ssl_certificate_location": "/none", "ssl_key_location": "/no"}, "ssl.key.location cannot be used with its certificate"),
    ({"security_protocol": "sasl_ssl", "sasl_mechanism": "PLAIN", "sasl_username": "u"}, "sasl.password must be set"),
    ({"security_protocol": "ssl", "ssl_cipher_suites": "none"}, "ssl.cipher.suites cannot be used"),
    ({"security_protocol": "ssl", "ssl_engine_location": "/e"}, "ssl.engine.location is not supported"),
    ({"security_protocol": "ssl", "ssl_certificate_verify_cb": print}, "verify_cb is not supported"),
    ({"security_protocol": "sasl_ssl"}, "sasl.mechanism GSSAPI is not supported"),
    ({"security_protocol": "sasl_ssl", "sasl_mechanism": "OAUTHBEARER"}, "with oauth_cb and sasl.oauthbearer.method=oidc only"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "told"), UNUSABLE)
def test_what_cannot_be_done_the_clients_way_is_not_done(given, told):
    if "ssl_certificate_verify_cb" in given:
        given = {"security_protocol": "ssl"}
        conf = {"security.protocol": "ssl", "bootstrap.servers": "a"}
        conf["ssl.certificate.verify_cb"] = print
        with pytest.raises(UnusableConfig, match=told):
            make_access(LibrdkafkaConfigs(PRODUCER, conf, {}).find, conf)
        return
    with pytest.raises(UnusableConfig, match=told):
        access(**given)
