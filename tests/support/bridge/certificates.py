"""Throw-away certificates: an authority, and what it signs."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = dt.timedelta(days=1)


@dataclass
class Files:
    """Where one certificate and its key stand."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates of servers and clients."""

    def __init__(self, folder, name="test authority"):
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._sign(self._name, self._key.public_key(), is_ca=True)
        self.path = folder / f"{name.replace(' ', '-')}.pem"
        self.path.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(self, file_name, subject, *, password=None):
        """Write a certificate for a subject, given as RFC 4514 text, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name.from_rfc4514_string(subject)
        certificate = self._sign(name, key.public_key(), is_ca=False)
        files = Files(
            self.folder / f"{file_name}.pem", self.folder / f"{file_name}.key"
        )
        files.certificate.write_bytes(
            certificate.public_bytes(Encoding.PEM) + self.path.read_bytes()
        )
        cipher = BestAvailableEncryption(password.encode()) if password else None
        files.key.write_bytes(
            key.private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, cipher or NoEncryption()
            )
        )
        return files

    def _sign(self, subject, public_key, *, is_ca):
        now = dt.datetime.now(dt.UTC)
        names = [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        ]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + 30 * DAY)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(
                x509.BasicConstraints(ca=is_ca, path_length=None), critical=True
            )
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    key_cert_sign=is_ca,
                    crl_sign=is_ca,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(
                    self._key.public_key()
                ),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
