"""The bridge's client of a cluster logs in to a real broker, by each mechanism."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from pipelines.bridge.cluster.following import read_resources
from pipelines.embedded import EmbeddedKafka
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import ClusterRefusal

USER, PASSWORD = "clientele", "pässword, =of; the bridge"
KEY_PASSWORD = "key password"
LISTENER = "listener.name.sasl_ssl."
PATIENCE_S = 180
MODULES = "org.apache.kafka.common.security"


def make_files(folder):
    """Write a certificate of a client and its locked key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bridge")])
    now, day = datetime.now(UTC), timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    lock = BestAvailableEncryption(KEY_PASSWORD.encode())
    chain, private = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(certificate.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
    return chain, private


@pytest.fixture(scope="module")
def client_files(tmp_path_factory):
    """What the broker knows of the bridge."""
    return make_files(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def secured(java, client_files):
    """A broker that looks at certificates of clients and takes each mechanism."""
    chain, _ = client_files
    plain = f'{MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    scram = f"{MODULES}.scram.ScramLoginModule required;"
    properties = {
        f"{LISTENER}sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        f"{LISTENER}plain.sasl.jaas.config": plain,
        f"{LISTENER}scram-sha-256.sasl.jaas.config": scram,
        f"{LISTENER}ssl.client.auth": "requested",
        f"{LISTENER}ssl.truststore.type": "PEM",
        f"{LISTENER}ssl.truststore.location": str(chain),
    }
    with EmbeddedKafka(
        java=java,
        security_protocol="SASL_SSL",
        users={USER: PASSWORD},
        broker_properties=properties,
    ) as cluster:
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(USER, credential, PASSWORD.encode())
        connection = connect(cluster, client_files, "SCRAM-SHA-512")
        admin = AdminClient(connection)
        admin.alter_user_scram_credentials([change])[USER].result(PATIENCE_S)
        yield cluster


def connect(cluster, client_files, mechanism, **changes):
    chain, private = client_files
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(cluster.ca_path),
        "ssl.certificate.location": str(chain),
        "ssl.key.location": str(private),
        "ssl.key.password": KEY_PASSWORD,
        **{name.replace("_", "."): value for name, value in changes.items()},
    }


def read(connection, timeout_s=PATIENCE_S):
    async def run():
        client = ClusterClient(read_access(connection), client_id="bridge-1")
        try:
            return await read_resources(client, timeout_s=timeout_s)
        finally:
            await client.close()

    return asyncio.run(run())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_broker_is_asked_after_a_login(secured, client_files, mechanism):
    assert read(connect(secured, client_files, mechanism)) == {}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_wrong_password_is_refused_at_once(secured, client_files, mechanism):
    with pytest.raises(ClusterRefusal, match="sasl_authentication_failed"):
        read(connect(secured, client_files, mechanism, sasl_password="wrong"))


def test_own_certificate_is_shown_to_the_broker(secured, tmp_path):
    # The broker refuses it, as it does not know it.
    with pytest.raises(ClusterRefusal, match=r"TLS: .*ALERT_CERTIFICATE_UNKNOWN"):
        read(connect(secured, make_files(tmp_path), "PLAIN"))
