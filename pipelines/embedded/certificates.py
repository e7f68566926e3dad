"""A throw-away certificate for the brokers, made by the JVM's own keytool.

Self-signed and its own authority: clients trust the PEM file and nothing else. The key
never leaves the folder of the cluster and dies with it.
"""

import secrets
import shutil
import subprocess
from pathlib import Path

from pipelines.errors import EmbeddedKafkaError

from .private_files import write_private
from .server_properties import Keystore

CA_NAME = "ca.pem"
_ALIAS = "broker"
_VALID_DAYS = "30"
_KEYTOOL_TIMEOUT_S = 60
_PASSWORD_BYTES = 24


def make_certificate(java: str, folder: Path) -> Keystore:
    """Write keystore.p12 and ca.pem for 127.0.0.1 and localhost into a folder.

    Raises: EmbeddedKafkaError, when the JVM has no keytool or it fails.
    """
    keystore_path = folder / "keystore.p12"
    password = secrets.token_hex(_PASSWORD_BYTES)
    password_path = folder / "keystore.password"
    write_private(password_path, password)
    store = ["-keystore", str(keystore_path), "-storetype", "PKCS12"]
    # keytool reads the password from this file; no process list shows it.
    store += ["-storepass:file", str(password_path), "-alias", _ALIAS]
    keytool = _find_keytool(java)
    _run(keytool, ["-genkeypair", *store, *_SELF_SIGNED])
    _run(keytool, ["-exportcert", "-rfc", *store, "-file", str(folder / CA_NAME)])
    keystore_path.chmod(0o600)
    return Keystore(keystore_path=str(keystore_path), password=password)


_SELF_SIGNED = (
    *("-keyalg", "EC", "-groupname", "secp256r1", "-sigalg", "SHA256withECDSA"),
    *("-validity", _VALID_DAYS, "-dname", "CN=localhost,O=embedded Kafka"),
    # A clock that is a little behind must not find the certificate of tomorrow.
    *("-startdate", "-1d"),
    *("-ext", "san=dns:localhost,ip:127.0.0.1"),
    # What strict verifiers (OpenSSL's X509_V_FLAG_X509_STRICT) ask of an authority.
    *("-ext", "bc:critical=ca:true,pathlen:0"),
    *("-ext", "ku:critical=digitalSignature,keyCertSign"),
    *("-ext", "eku=serverAuth"),
)


def _find_keytool(java: str) -> str:
    beside = Path(java).resolve().with_name("keytool")
    found = str(beside) if beside.exists() else shutil.which("keytool")
    if found is None:
        raise EmbeddedKafkaError(
            f"embedded Kafka: SASL_SSL needs keytool, which is not beside {java}"
        )
    return found


def _run(keytool: str, arguments: list[str]) -> None:
    small = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-Xmx64m"]
    try:
        done = subprocess.run(
            [keytool, *small, *arguments],
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_KEYTOOL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbeddedKafkaError(
            f"embedded Kafka: {keytool} did not run ({type(error).__name__})"
        ) from None
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).decode(errors="replace").strip()
        raise EmbeddedKafkaError(
            f"embedded Kafka: keytool {arguments[0]} ended with {done.returncode}: "
            f"{lines.splitlines()[0] if lines else 'no output'}"
        )
