import pytest

from pipelines.bridge.front.listening import bind_all, bind_listener, plan_listeners
from pipelines.errors import InvalidSetting, MissingService
from pipelines.settings import load_settings


def plan(tables, *more):
    return plan_listeners(load_settings("local", [f"listeners=[{tables}]", *more]))


def test_without_listeners_the_bridges_own_keys_are_one_plaintext_listener():
    (one,) = plan_listeners(load_settings("local", ["bridge.listen_port=7"]))
    assert (one.name, one.host, one.port) == ("PLAINTEXT", "127.0.0.1", 7)
    assert one.security_protocol == "PLAINTEXT"


def test_listeners_stand_for_the_bridges_own_keys():
    listeners = plan('{name="A",port=1},{name="B",host="::1",port=2}')
    assert [(one.name, one.host, one.port) for one in listeners] == [
        ("A", "127.0.0.1", 1),
        ("B", "::1", 2),
    ]


SSL = 'name="S",port=1,security_protocol="SSL"'
FILES = 'ssl_certificate_location="c",ssl_key_location="k"'
SASL = 'name="S",port=1,security_protocol="SASL_PLAINTEXT"'
OAUTH = f'{{{SASL},sasl_mechanisms=["OAUTHBEARER"]}}'
KEYS = ["oauth_jwks_location=x", "oauth_issuer=x", "oauth_audience=x"]


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ('{name="",port=1}', "listeners[0].name: must be a name of its own"),
        ('{name="A",port=1},{name="A",port=2}', "listeners[1].name: must be a name of its own"),
        (f"{{{SSL}}}", "listeners[0].ssl_certificate_location: is missing, since listeners[0].security_protocol is SSL"),
        (f'{{{SSL},ssl_certificate_location="c"}}', "listeners[0].ssl_key_location: is missing, since listeners[0].security_protocol is SSL"),
        (f'{{{SSL},{FILES},ssl_client_auth="required"}}', "listeners[0].ssl_ca_location: is missing, since listeners[0].ssl_client_auth is required"),
        (f'{{{SSL},{FILES},ssl_principal_mapping_rules="RULE:a"}}', "listeners[0].ssl_principal_mapping_rules: the part at character 6 ends without a slash"),
        (f"{{{SASL}}}", "listeners[0].sasl_mechanisms: is empty, since listeners[0].security_protocol is SASL_PLAINTEXT"),
        (f'{{{SASL},sasl_mechanisms=["PLAIN"]}}', "authentication.credentials_location: is empty, since listeners[0].sasl_mechanisms has PLAIN"),
        (OAUTH, "authentication.oauth_jwks_location: is empty, since listeners[0].sasl_mechanisms has OAUTHBEARER"),
        ('{name="A",prt=1}', "--set: listeners[0].prt: unknown key; did you mean port?"),
        ('{name="A"}', "--set: listeners[0].port: the key is missing"),
        ('{name="A",port=1,security_protocol="TLS"}', "--set: listeners[0].security_protocol: must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (f'{{{SASL},sasl_mechanisms=["GSSAPI"]}}', "--set: listeners[0].sasl_mechanisms[0]: must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
    ],
)  # fmt: skip
def test_a_listener_that_cannot_be_is_refused_by_its_key(tables, reason):
    with pytest.raises(InvalidSetting) as raised:
        plan(tables)
    assert str(raised.value) == reason


@pytest.mark.parametrize("left_out", range(3))
def test_tokens_need_keys_issuer_and_audience(left_out):
    words = [f"authentication.{word}" for word in KEYS]
    assert len(plan(OAUTH, *words)) == 1
    name = words.pop(left_out).partition("=")[0]
    with pytest.raises(InvalidSetting, match=name):
        plan(OAUTH, *words)


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256K"])
def test_no_token_may_be_unsigned_or_signed_by_a_shared_secret(algorithm):
    with pytest.raises(InvalidSetting, match=r"oauth_algorithms\[0\]: must be one of"):
        plan(OAUTH, f'authentication.oauth_algorithms=["{algorithm}"]')


def test_all_addresses_are_taken_or_none():
    (free,) = bind_all(plan('{name="A",port=0}'))
    port = free.getsockname()[1]
    with free:
        free.listen()
        with pytest.raises(MissingService, match=str(port)):
            bind_all(plan(f'{{name="A",port=0}},{{name="B",port={port}}}'))
    with bind_listener("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port
