"""A cluster of one, and certificates for it."""

import dataclasses
import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.kafka_answers import Answers, Broker, make_listing


@pytest.fixture
def make_answers():
    """Make a broker's answers: make_answers(offered, mechanism=…, password=…)."""
    return Answers


@pytest.fixture(scope="session")
def listing():
    """Make a ListConfigResourcesResponse: listing(*names)."""
    return make_listing


@pytest.fixture
def make_broker():
    """Make a broker to be entered: make_broker(answers, tls=None)."""
    return Broker


@dataclasses.dataclass(frozen=True)
class Certificates:
    """PEM files of a self-signed server, and of a client's own key."""

    ca: Path
    key: Path
    locked_key: Path
    password: str

    def server(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca, self.key)
        return context


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Make a certificate of 127.0.0.1 that is its own authority."""
    folder = tmp_path_factory.mktemp("certificates")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a broker")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Certificates(
        ca=folder / "ca.pem",
        key=folder / "key.pem",
        locked_key=folder / "locked.pem",
        password="key password",
    )
    made.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    for path, lock in (
        (made.key, serialization.NoEncryption()),
        (
            made.locked_key,
            serialization.BestAvailableEncryption(made.password.encode()),
        ),
    ):
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock
            )
        )
    return made
