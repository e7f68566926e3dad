"""Keys of a URL are asked for again: in time, and after a token with an unknown one."""

import logging

import pytest

from pipelines.bridge.security.security_files import SOONEST_NEW_KEYS_S
from tests.unit.bridge.security.issuer import issuer
from tests.unit.bridge.security.secured_site import Site

LOGGER = "pipelines.bridge.security.security_files"


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def warn_of(files, caplog):
    with caplog.at_level(logging.WARNING, LOGGER):
        files.look()
    return [record.getMessage() for record in caplog.records]


def test_keys_of_a_url_are_asked_for_when_due_and_kept_when_it_is_silent(site, caplog):
    answers = {"/keys": (200, site.keys.read_bytes(), {})}
    with issuer(answers) as port:
        files = site.read(
            f"authentication.oauth_jwks_location=http://127.0.0.1:{port}/keys"
        )
        first = files._verifier
        files.look()
        assert files._verifier is first
        files._keys_due_s = 0
        files.look()
        second = files._verifier
        assert second is not first
    files._keys_due_s = 0
    (told,) = warn_of(files, caplog)
    assert told.startswith("authentication.oauth_jwks_location: http://127.0.0.1")
    assert files._verifier is second
    # The next try is not at once.
    assert len(warn_of(files, caplog)) == 1


def test_an_unknown_key_asks_for_new_ones_soon_but_not_at_once(site):
    answers = {"/keys": (200, site.keys.read_bytes(), {})}
    with issuer(answers) as port:
        files = site.read(
            f"authentication.oauth_jwks_location=http://127.0.0.1:{port}/keys"
        )
        first = files._verifier
        files._want_new_keys()
        files.look()
        assert files._verifier is first
        files._keys_read_s -= SOONEST_NEW_KEYS_S
        files.look()
        assert files._verifier is first
        files._want_new_keys()
        files.look()
        assert files._verifier is not first
