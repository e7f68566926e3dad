import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from pipelines.commands.java.command_config import read_connection
from pipelines.commands.options import CommandFault
from pipelines.kafka_client.properties import make_access
from pipelines.settings.kafka import OIDC_LOGIN_HANDLER

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
STORE_PASSWORD = "store password"


def read(**properties):
    return read_connection(
        "a:1", {name.replace("_", "."): one for name, one in properties.items()}
    )


def read_sasl(jaas, mechanism="PLAIN"):
    return read(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism,
        sasl_jaas_config=jaas,
    )  # fmt: skip


def test_nothing_is_plaintext():
    assert read() == {"bootstrap.servers": "a:1", "security.protocol": "PLAINTEXT"}


def test_what_does_not_concern_the_connection_is_passed_over():
    assert read(request_timeout_ms="1", client_id="x", sasl_mechanism="PLAIN") == read()


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)],
)
def test_login_is_read_from_the_jaas_configuration(mechanism, module):
    connection = read_sasl(f'{module} required username="u" password="p";', mechanism)
    assert connection["sasl.mechanism"] == mechanism
    assert (connection["sasl.username"], connection["sasl.password"]) == ("u", "p")


@pytest.mark.parametrize(
    ("options", "password"),
    [("username=u password=p", "p"), ('password = "a b;c" username="u"', "a b;c"),
     (r'username="u" password="a\"b\\c"', 'a"b\\c'),
     ('\n  username="u"\n  password="="\n', "="), ('username="u" password=""', "")],
)  # fmt: skip
def test_jaas_options_are_quoted_or_plain(options, password):
    assert read_sasl(f"{PLAIN} required {options};")["sasl.password"] == password


@pytest.mark.parametrize(
    ("jaas", "said"),
    [("", "one login module"), (f'{PLAIN} required username="u"', "semicolon"),
     (f'{PLAIN} username="u" password="hidden";', "one login module"),
     (f'{SCRAM} required username="u" password="hidden";', "PLAIN needs"),
     (f'{PLAIN} required username="u";', "username and password"),
     (f'{PLAIN} required username="u" password="hidden" tokenauth=true;', "tokens"),
     (f"{PLAIN} required hidden;", "options are")],
)  # fmt: skip
def test_jaas_configuration_that_cannot_be_used_is_named_without_its_text(jaas, said):
    with pytest.raises(CommandFault, match=said) as caught:
        read_sasl(jaas)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("properties", "said"),
    [({"security_protocol": "TLS"}, "security.protocol"),
     ({"security_protocol": "SASL_SSL"}, "GSSAPI is not supported"),
     ({"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}, "login module"),
     ({"ssl_engine_factory_class": "x.Y"}, "ssl.engine.factory.class"),
     ({"sasl_login_callback_handler_class": "x.Y"}, "classes of Java")],
)  # fmt: skip
def test_what_only_java_can_do_is_named(properties, said):
    with pytest.raises(CommandFault, match=said):
        read(**properties)


ENDPOINT = {"sasl_oauthbearer_token_endpoint_url": "https://issuer/token"}


def read_oauth(options, **more):
    return read(
        security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER",
        sasl_jaas_config=f"{OAUTH} required {options};", **ENDPOINT | more,
    )  # fmt: skip


def test_a_token_endpoint_is_read_from_the_jaas_configuration():
    connection = read_oauth(
        'clientId="me" clientSecret="hidden" scope="a" extension_pool="p" '
        r'ssl.truststore.type=PEM ssl.truststore.certificates="two\nlines"',
        sasl_login_callback_handler_class=OIDC_LOGIN_HANDLER,
    )
    assert connection == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "hidden",
        "sasl.oauthbearer.scope": "a",
        "sasl.oauthbearer.extensions": "pool=p",
        "https.ca.pem": "two\nlines",
    }


def test_properties_of_the_client_stand_before_options_of_the_module():
    connection = read_oauth(
        'clientId="me" clientSecret="hidden"',
        sasl_oauthbearer_client_credentials_client_secret="other",
        sasl_oauthbearer_scope="b",
        https_ca="passed over",
    )
    assert connection["sasl.oauthbearer.client.id"] == "me"
    assert connection["sasl.oauthbearer.client.secret"] == "other"
    assert connection["sasl.oauthbearer.scope"] == "b"


@pytest.mark.parametrize(
    ("options", "more", "said"),
    [('clientId="me"', {}, "clientId and clientSecret"),
     ('clientId="me" clientSecret="hidden"',
      {"sasl_oauthbearer_token_endpoint_url": "file:/hidden"}, "http or https URL"),
     ('clientId="me" clientSecret="hidden"',
      {"sasl_login_callback_handler_class": "x.Y"}, "classes of Java")],
)  # fmt: skip
def test_tokens_that_only_java_can_get_are_named(options, more, said):
    with pytest.raises(CommandFault, match=said) as caught:
        read_oauth(options, **more)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(("text", "algorithm"), [("", "none"), ("HTTPS", "https")])
def test_check_of_the_name_is_switched_off_by_an_empty_text(text, algorithm):
    connection = read(
        security_protocol="SSL", ssl_endpoint_identification_algorithm=text
    )
    assert connection["ssl.endpoint.identification.algorithm"] == algorithm


@pytest.fixture(scope="module")
def own():
    """A key and its self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "client")])
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return key, certificate


@pytest.fixture
def stores(own, tmp_path):
    """Files as Java clients have them: a trust store and a key store of each form."""
    key, certificate = own
    lock = BestAvailableEncryption(STORE_PASSWORD.encode())
    chain = certificate.public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    contents = {
        "trust.pem": chain,
        "key.pem": private + chain,
        "trust.p12": pkcs12.serialize_key_and_certificates(
            None, None, None, [certificate], lock
        ),
        "key.p12": pkcs12.serialize_key_and_certificates(
            b"k", key, certificate, None, lock
        ),
        "store.jks": b"\xfe\xed\xfe\xed\0\0\0\2",
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_pem_and_pkcs12_stores_make_the_same_access(stores):
    pem = read(
        security_protocol="SSL",
        ssl_truststore_type="PEM", ssl_truststore_location=str(stores / "trust.pem"),
        ssl_keystore_type="PEM", ssl_keystore_location=str(stores / "key.pem"),
    )  # fmt: skip
    packed = read(
        security_protocol="SSL",
        ssl_truststore_location=str(stores / "trust.p12"),
        ssl_truststore_password=STORE_PASSWORD,
        ssl_keystore_type="PKCS12", ssl_keystore_location=str(stores / "key.p12"),
        ssl_keystore_password=STORE_PASSWORD,
    )  # fmt: skip
    inline = read(
        security_protocol="SSL",
        ssl_truststore_certificates=(stores / "trust.pem").read_text(),
        ssl_keystore_key=(stores / "key.pem").read_text(),
        ssl_keystore_certificate_chain=(stores / "trust.pem").read_text(),
    )
    trusted = [make_access(one.get).tls.get_ca_certs() for one in (pem, packed, inline)]
    assert len(trusted[0]) == 1
    assert trusted[1:] == trusted[:1] * 2


@pytest.mark.parametrize(
    ("file", "password", "said"),
    [("nowhere", "", "cannot be read"), ("store.jks", "", "JKS.*keytool"),
     ("trust.p12", "wrong-one", "truststore.password opens"),
     ("trust.pem", "", "is no PKCS12 store")],
)  # fmt: skip
def test_store_that_cannot_be_opened_is_named(stores, file, password, said):
    with pytest.raises(CommandFault, match=said) as caught:
        read(
            security_protocol="SSL",
            ssl_truststore_location=str(stores / file),
            ssl_truststore_password=password,
        )
    assert "ssl.truststore.location" in str(caught.value)
    assert "wrong-one" not in str(caught.value)


def test_key_store_without_a_key_is_named(stores):
    with pytest.raises(CommandFault, match="holds no key"):
        read(
            security_protocol="SSL",
            ssl_keystore_location=str(stores / "trust.p12"),
            ssl_keystore_password=STORE_PASSWORD,
        )
