import asyncio
import os
import ssl
import tempfile

import pytest

from pipelines.errors import InvalidSetting, MissingService
from pipelines.kafka_wire.access import check_token, read_access
from pipelines.settings import load_settings
from pipelines.settings.clients_cluster import find_clients_cluster
from tests.support.kafka.token_server import CLIENT_ID, CLIENT_SECRET, TokenServer

KEY_NAME = find_clients_cluster(load_settings("base")).key_name


def make(**connection):
    names = {name.replace("_", "."): value for name, value in connection.items()}
    base = {"bootstrap.servers": "a:1", "security.protocol": "SSL"}
    return read_access({**base, **names}, key_name=KEY_NAME)


@pytest.mark.parametrize(
    ("text", "servers"),
    [("a:1", (("a", 1),)), ("a:1, b:2 ,", (("a", 1), ("b", 2))), ("a", (("a", 9092),)),
     ("[::1]:5", (("::1", 5),)), ("SASL_SSL://a.b-c:1", (("a.b-c", 1),))],
)  # fmt: skip
def test_servers_are_hosts_and_ports(text, servers):
    access = make(bootstrap_servers=text, security_protocol="PLAINTEXT")
    assert access.servers == servers
    assert access.tls is None


def test_place_is_the_servers_as_text():
    access = make(bootstrap_servers="[::1]:5,b:2", security_protocol="PLAINTEXT")
    assert access.place == "[::1]:5,b:2"


@pytest.mark.parametrize("text", ["", ",", "a:0", "a:65536", "a:b", ":1", "a:1:2"])
def test_server_that_is_none_is_named(text):
    with pytest.raises(InvalidSetting, match=r"kafka\.bootstrap_servers"):
        make(bootstrap_servers=text, security_protocol="PLAINTEXT")


def test_credentials_do_not_show_the_password():
    access = make(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN",
        sasl_username="u", sasl_password="secret",
    )  # fmt: skip
    assert next(access.login.start()) == b"\0u\0secret"
    assert "secret" not in repr(access)


def test_old_tls_is_not_spoken(certificates):
    context = make(ssl_ca_location=str(certificates.ca)).tls
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_certificates_are_taken_as_files_folder_or_text(certificates, tmp_path):
    ca = certificates.ca.read_text()
    for trusted in ({"ssl_ca_location": str(certificates.ca)}, {"ssl_ca_pem": ca}):
        assert len(make(**trusted).tls.get_ca_certs()) == 1
    assert make(ssl_ca_location=str(tmp_path)).tls is not None
    assert make(
        ssl_certificate_location=str(certificates.ca),
        ssl_key_location=str(certificates.locked_key),
        ssl_key_password=certificates.password,
    ).tls
    assert make(ssl_certificate_pem=ca, ssl_key_pem=certificates.key.read_text()).tls


def test_a_key_that_is_given_as_a_text_is_on_no_disk(certificates, monkeypatch):
    made = []
    monkeypatch.setattr(tempfile, "TemporaryDirectory", lambda **_: made.append(1))
    text = certificates.key.read_text()
    assert make(ssl_certificate_pem=certificates.ca.read_text(), ssl_key_pem=text).tls
    assert made == []


def deny(*_words, **_more):
    raise PermissionError(1, "Operation not permitted")


def test_a_text_without_a_place_is_named_by_its_setting(certificates, monkeypatch):
    """Where neither memory nor a folder is one."""
    monkeypatch.setattr(os, "memfd_create", deny)
    text = certificates.key.read_text()
    assert make(ssl_certificate_pem=certificates.ca.read_text(), ssl_key_pem=text).tls
    monkeypatch.setattr(tempfile, "TemporaryDirectory", deny)
    told = r"kafka\.ssl_certificate_pem: .*\(Operation not permitted\)"
    with pytest.raises(InvalidSetting, match=told):
        make(ssl_certificate_pem=certificates.ca.read_text(), ssl_key_pem=text)


def test_a_text_that_is_no_key_is_named_by_its_setting(certificates):
    told = r"kafka\.ssl_key_location: cannot be used with its certificate"
    with pytest.raises(InvalidSetting, match=told):
        make(ssl_certificate_pem=certificates.ca.read_text(), ssl_key_pem="none")


@pytest.mark.parametrize("trusted", ["missing", "broken", "text"])
def test_certificate_that_cannot_be_used_is_named(tmp_path, trusted):
    broken = tmp_path / "broken.pem"
    broken.write_text("not a certificate")
    changes = {
        "missing": {"ssl_ca_location": str(tmp_path / "nowhere.pem")},
        "broken": {"ssl_ca_location": str(broken)},
        "text": {"ssl_ca_pem": "not a certificate"},
    }[trusted]
    with pytest.raises(InvalidSetting, match=r"kafka\.ssl_ca_(location|pem)"):
        make(**changes)


@pytest.mark.parametrize("password", ["", "wrong-one"])
def test_key_that_stays_locked_is_named_without_asking(certificates, password):
    with pytest.raises(InvalidSetting, match=r"kafka\.ssl_key_location") as caught:
        make(
            ssl_certificate_location=str(certificates.ca),
            ssl_key_location=str(certificates.locked_key),
            ssl_key_password=password,
        )
    assert "wrong-one" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "missing"),
    [("ssl_key_location", "ssl_certificate_location"),
     ("ssl_certificate_location", "ssl_key_location")],
)  # fmt: skip
def test_key_and_certificate_come_together(certificates, given, missing):
    with pytest.raises(InvalidSetting, match=rf"kafka\.{missing}"):
        make(**{given: str(certificates.ca)})


def read_oauth(url):
    properties = {
        "bootstrap.servers": "broker:9093",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.id": CLIENT_ID,
        "sasl.oauthbearer.client.secret": CLIENT_SECRET,
    }
    return read_access(properties)


def test_a_token_is_fetched_before_others_ask_for_one(tmp_path):
    with TokenServer(tmp_path) as issuer:
        access = read_oauth(issuer.url)
        asyncio.run(check_token(access, "kafka"))
        asyncio.run(check_token(access, "kafka"))
        assert len(issuer.forms) == 1
        issuer.answer = 503, b"hunter2"
        told = (
            r"^there is no login to Kafka at broker:9093: the token endpoint \S+ "
            r"answers with HTTP 503; the sasl_oauthbearer_ keys of \[upstream\] name"
        )
        with pytest.raises(MissingService, match=told):
            asyncio.run(check_token(read_oauth(issuer.url), "upstream"))


def test_who_has_a_password_needs_no_token():
    plain = {"bootstrap.servers": "a:1", "security.protocol": "PLAINTEXT"}
    asyncio.run(check_token(read_access(plain), "kafka"))
