"""Keys as they are compared, and as they may be written and told."""

import pytest

from pipelines.settings import load_config_catalogs
from udfs.sensitive.config_key_names import NO_NAME, plain_form, show_key


def test_plain_form_leaves_a_plain_key_alone():
    assert plain_form("ssl.keystore.password") == "ssl.keystore.password"
    assert plain_form("A_b-C. d") == "a.b.c.d"
    assert plain_form("") == ""


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("ssl.keystore.password", "ssl.keystore.password"),
        ("ssl_key", "ssl_key"),
        ("x" * 32, "x" * 32),
        (".".join(["ab"] * 43)[:128], ".".join(["ab"] * 43)[:128]),
        ("x" * 33, NO_NAME),
        (".".join(["ab"] * 44), NO_NAME),
        ("", NO_NAME),
        ("a b", NO_NAME),
        ("password=hunter2", NO_NAME),
        ("https://u:p@host", NO_NAME),
        ("a\n", NO_NAME),
        ("ключ", NO_NAME),
        ("a,b", NO_NAME),
        ("a..b", NO_NAME),
        ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.c2ln", NO_NAME),
    ],
)
def test_only_a_key_that_looks_like_one_is_shown(key, shown):
    assert show_key(key) == shown


def test_every_key_of_the_catalogs_is_shown_as_it_is():
    keys = [key for one in load_config_catalogs().values() for key in one]
    assert len(keys) > 300
    assert [key for key in keys if show_key(key) != key] == []
