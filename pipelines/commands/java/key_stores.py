"""Trust and key stores of Java clients as PEM text: PEM and PKCS 12.

Source: Kafka 4.3, DefaultSslEngineFactory.java.
"""

from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12KeyAndCertificates,
    load_pkcs12,
)

from pipelines.commands.options import CommandFault

_PEM = "PEM"
_JKS_MAGIC = b"\xfe\xed\xfe\xed"


def read_trust_store(properties: Mapping[str, str]) -> dict[str, str]:
    """Return `ssl.ca.*`; nothing where the machine's own certificates count.

    Raises: CommandFault, naming the property.
    """
    inline = properties.get("ssl.truststore.certificates")
    if inline:
        return {"ssl.ca.pem": inline}
    location = properties.get("ssl.truststore.location")
    if not location:
        return {}
    if _is_pem(properties, "ssl.truststore.type"):
        return {"ssl.ca.location": location}
    store = _open_store(properties, "ssl.truststore", location)
    certificates = [one.certificate for one in store.additional_certs]
    if store.cert is not None:
        certificates.append(store.cert.certificate)
    pem = b"".join(one.public_bytes(Encoding.PEM) for one in certificates)
    return {"ssl.ca.pem": pem.decode("ascii")}


def read_key_store(properties: Mapping[str, str]) -> dict[str, str]:
    """Return `ssl.certificate.*` and `ssl.key.*`; nothing without a key of ours.

    Raises: CommandFault, naming the property.
    """
    password = properties.get("ssl.key.password", "")
    inline = properties.get("ssl.keystore.key")
    if inline:
        chain = properties.get("ssl.keystore.certificate.chain", "")
        return {
            "ssl.key.pem": inline,
            "ssl.certificate.pem": chain,
            "ssl.key.password": password,
        }
    location = properties.get("ssl.keystore.location")
    if not location:
        return {}
    if _is_pem(properties, "ssl.keystore.type"):
        return {
            "ssl.key.location": location,
            "ssl.certificate.location": location,
            "ssl.key.password": password,
        }
    store = _open_store(properties, "ssl.keystore", location)
    if store.key is None or store.cert is None:
        raise CommandFault(f"ssl.keystore.location: {location} holds no key")
    chain_pem = b"".join(
        one.certificate.public_bytes(Encoding.PEM)
        for one in (store.cert, *store.additional_certs)
    )
    key_pem = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {
        "ssl.key.pem": key_pem.decode("ascii"),
        "ssl.certificate.pem": chain_pem.decode("ascii"),
    }


def _is_pem(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().upper() == _PEM


def _open_store(
    properties: Mapping[str, str], name: str, location: str
) -> PKCS12KeyAndCertificates:
    try:
        data = Path(location).read_bytes()
    except OSError as error:
        raise CommandFault(
            f"{name}.location: {location} cannot be read ({error.strerror})"
        ) from None
    if data.startswith(_JKS_MAGIC):
        raise CommandFault(
            f"{name}.location: {location} is a JKS store, which only Java reads; "
            f"make a PKCS12 store of it with keytool -importkeystore, or use PEM"
        )
    password = properties.get(f"{name}.password")
    try:
        return load_pkcs12(data, None if password is None else password.encode())
    except ValueError:
        raise CommandFault(
            f"{name}.location: {location} is no PKCS12 store that {name}.password opens"
        ) from None
