"""Certificates and credentials follow their files; a broken file changes nothing."""

import logging
import shutil
import ssl

import pytest

from pipelines.errors import InvalidSetting, MissingService, UnresolvedSecret
from pipelines.settings.secret_references import SecretReader
from tests.unit.bridge.security.secured_site import Site, write_keys, write_user

LOGGER = "pipelines.bridge.security.security_files"


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def subject_of(files, authority):
    """Shake hands in memory; return the common name that the server shows."""
    context = ssl.create_default_context(cafile=str(authority.path))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = files.context("S").wrap_bio(to_server, to_client, server_side=True)
    client = context.wrap_bio(to_client, to_server, server_hostname="localhost")
    for side in (client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return dict(part[0] for part in client.getpeercert()["subject"])["commonName"]


def test_a_new_certificate_serves_new_connections(site):
    files = site.read()
    assert subject_of(files, site.authority) == "first"
    site.authority.issue("server", "CN=second")
    files.look()
    assert subject_of(files, site.authority) == "second"


def knows(files, name):
    credential = files._credentials.find_any(name)
    return credential.is_password(b"pencil")


def test_new_users_are_known_and_old_ones_forgotten(site):
    files = site.read()
    assert knows(files, "alice")
    assert not knows(files, "bob")
    write_user(site.users, "bob")
    assert not knows(files, "bob")
    files.look()
    assert knows(files, "bob")
    assert not knows(files, "alice")


def test_new_keys_of_a_file_are_taken(site):
    files = site.read()
    before = files._verifier
    files.look()
    assert files._verifier is before
    write_keys(site.keys, "k2")
    files.look()
    assert files._verifier is not before


def break_certificate(site):
    site.server.certificate.write_bytes(b"rubbish")


def break_users(site):
    site.users.write_text("rubbish")


def break_keys(site):
    site.keys.write_text("rubbish")


def remove_users(site):
    site.users.unlink()


def remove_key(site):
    site.server.key.unlink()


def mismatch_key(site):
    other = site.authority.issue("other", "CN=other")
    shutil.copy(other.key, site.server.key)


BREAKS = {
    break_certificate: "listeners[0].ssl_certificate_location",
    remove_key: "listeners[0].ssl_certificate_location",
    mismatch_key: "listeners[0].ssl_certificate_location",
    break_users: "authentication.credentials_location",
    remove_users: "authentication.credentials_location",
    break_keys: "authentication.oauth_jwks_location",
}


@pytest.mark.parametrize("damage", BREAKS, ids=lambda f: f.__name__)
def test_a_broken_file_is_told_of_once_and_the_old_one_stays(site, caplog, damage):
    files = site.read()
    before = (files._contexts["S"], files._credentials, files._verifier)
    damage(site)
    with caplog.at_level(logging.WARNING, LOGGER):
        files.look()
        files.look()
    (record,) = caplog.records
    assert BREAKS[damage] in record.getMessage()
    assert "rubbish" not in record.getMessage()
    assert (files._contexts["S"], files._credentials, files._verifier) == before
    assert subject_of(files, site.authority) == "first"


@pytest.mark.parametrize("damage", BREAKS, ids=lambda f: f.__name__)
def test_a_broken_file_at_the_start_is_named_with_its_key(site, damage):
    damage(site)
    with pytest.raises(InvalidSetting) as raised:
        site.read()
    assert str(raised.value).startswith(BREAKS[damage])
    assert "rubbish" not in str(raised.value)


def test_a_certificate_that_comes_before_its_key_waits_for_it(site):
    files = site.read()
    other = site.authority.issue("other", "CN=second")
    shutil.copy(other.certificate, site.server.certificate)
    files.look()
    assert subject_of(files, site.authority) == "first"
    shutil.copy(other.key, site.server.key)
    files.look()
    assert subject_of(files, site.authority) == "second"


def test_the_password_of_a_key_is_a_reference(site):
    site.server = site.authority.issue("locked", "CN=locked", password="hunter2")
    reader = SecretReader(environ={"KEY": "hunter2"})
    files = site.read(secrets=reader, ssl_key_password="env:KEY")
    assert subject_of(files, site.authority) == "locked"
    with pytest.raises(UnresolvedSecret, match="env:OTHER"):
        site.read(secrets=reader, ssl_key_password="env:OTHER")
    with pytest.raises(InvalidSetting) as raised:
        site.read(ssl_key_password="hunter2")
    assert "hunter2" not in str(raised.value)


def test_a_silent_issuer_ends_the_start(site):
    url = "authentication.oauth_jwks_location=http://127.0.0.1:1/keys"
    with pytest.raises(MissingService, match="oauth_jwks_location"):
        site.read(url)


def test_the_thread_looks_by_itself_and_stops_when_told(site):
    files = site.read("authentication.reload_interval_ms=100")
    seen = []
    known = files._watched[1].load

    def load():
        known()
        seen.append(None)
        files.stop()

    files._watched[1].load = load
    write_user(site.users, "bob")
    thread = files.start()
    thread.join(20)
    assert not thread.is_alive()
    assert seen == [None]
    assert knows(files, "bob")
