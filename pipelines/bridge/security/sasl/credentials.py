"""SCRAM verifiers: how they are made, and the file that holds them.

One JSON object a line; empty lines and lines that begin with # are passed over:

    {"name": "alice", "mechanism": "SCRAM-SHA-512", "iterations": 8192,
     "salt": "…", "stored_key": "…", "server_key": "…"}

The last three are base64. No line holds a password, nor what a password could be had
from but by guessing. What comes back when a line is bad: InvalidCredentials with the
number of the line and the name of the field, never with its value.
Source: RFC 5802; Kafka, ScramFormatter.java: passwords are UTF-8 as they stand, without
SASLprep, in Kafka's brokers and clients.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scramp import ScramException
from scramp.utils import saslprep

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS, MAX_ITERATIONS = 4_096, 16_384
"""What Kafka allows; each client counts them at each connection."""
DEFAULT_ITERATIONS = 8_192
SALT_BYTES = 24
_MIN_SALT_BYTES = 12
_FIELDS = ("name", "mechanism", "iterations", "salt", "stored_key", "server_key")


class InvalidCredentials(ValueError):
    """Raised when a file of verifiers cannot be used; names line and field only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """What the server keeps of one user's password, for one mechanism."""

    name: str
    mechanism: str
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def is_password(self, password: bytes) -> bool:
        """Say whether this is the user's password; takes milliseconds."""
        stored_key, _ = _derive(self.mechanism, password, self.salt, self.iterations)
        return hmac.compare_digest(stored_key, self.stored_key)

    def as_line(self) -> str:
        """Return the line of a file, without its end."""
        values = (self.salt, self.stored_key, self.server_key)
        texts = (base64.b64encode(value).decode("ascii") for value in values)
        plain = (self.name, self.mechanism, self.iterations)
        return json.dumps(
            dict(zip(_FIELDS, (*plain, *texts), strict=True)), ensure_ascii=False
        )


def make_credential(
    *, name: str, password: str, mechanism: str, iterations: int, salt: bytes
) -> ScramCredential:
    """Make the verifier of a password.

    Raises: InvalidCredentials for a name or password that no client could use.
    """
    if not is_plain_name(name):
        raise InvalidCredentials("the name is empty, or SASLprep would change it")
    if not password:
        raise InvalidCredentials("the password is empty")
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise InvalidCredentials(
            f"iterations must be {MIN_ITERATIONS} to {MAX_ITERATIONS}"
        )
    stored_key, server_key = _derive(mechanism, password.encode(), salt, iterations)
    return ScramCredential(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        stored_key=stored_key,
        server_key=server_key,
    )


def is_plain_name(name: str) -> bool:
    """Say whether a name is the same before and after SASLprep, so that it is one."""
    try:
        return bool(name) and saslprep(name) == name
    except ScramException:
        return False


def _derive(
    mechanism: str, password: bytes, salt: bytes, iterations: int
) -> tuple[bytes, bytes]:
    algorithm = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(algorithm, password, salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    return hashlib.new(algorithm, client_key).digest(), server_key


class Credentials:
    """The verifiers of one file."""

    def __init__(self, credentials: tuple[ScramCredential, ...]) -> None:
        self._found: Mapping[tuple[str, str], ScramCredential] = {
            (one.name, one.mechanism): one for one in credentials
        }
        self._iterations = {
            mechanism: max(
                (one.iterations for one in credentials if one.mechanism == mechanism),
                default=DEFAULT_ITERATIONS,
            )
            for mechanism in HASHES
        }
        known = {one.mechanism for one in credentials}
        self._strongest = max(known, key=list(HASHES).index, default="SCRAM-SHA-512")
        # The same in all processes that read this file, and known to nobody else.
        parts = sorted(one.server_key for one in credentials)
        self._decoy_key = hashlib.sha256(b"".join(parts)).digest()

    def __len__(self) -> int:
        return len(self._found)

    def find(self, name: str, mechanism: str) -> ScramCredential:
        """Return a user's verifier, or one of nobody that looks the same each time.

        Who does not know the password learns nothing about who exists: the salt of
        nobody is as constant as a user's, and its stored key fits no proof.
        """
        return self._found.get((name, mechanism)) or self._make_decoy(name, mechanism)

    def find_any(self, name: str) -> ScramCredential:
        """Return one of a user's verifiers, the strongest first, for PLAIN."""
        for mechanism in reversed(HASHES):
            if (name, mechanism) in self._found:
                return self._found[name, mechanism]
        # As slow as those of users are.
        return self._make_decoy(name, self._strongest)

    def _make_decoy(self, name: str, mechanism: str) -> ScramCredential:
        seed = f"{mechanism} {name}".encode("utf-8", "surrogatepass")
        made = hmac.digest(self._decoy_key, seed, "sha512")
        size = hashlib.new(HASHES[mechanism]).digest_size
        return ScramCredential(
            name=name,
            mechanism=mechanism,
            iterations=self._iterations[mechanism],
            salt=made[:SALT_BYTES],
            # A preimage of it would be needed to log in.
            stored_key=hmac.digest(made, b"stored", HASHES[mechanism])[:size],
            server_key=hmac.digest(made, b"server", HASHES[mechanism])[:size],
        )


def parse_credentials(text: str) -> Credentials:
    """Read a whole file.

    Raises: InvalidCredentials.
    """
    found: dict[tuple[str, str], int] = {}
    credentials = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        one = _parse_line(line, number)
        before = found.setdefault((one.name, one.mechanism), number)
        if before != number:
            raise InvalidCredentials(
                f"line {number}: the same name and mechanism as line {before}"
            )
        credentials.append(one)
    return Credentials(tuple(credentials))


def _parse_line(line: str, number: int) -> ScramCredential:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidCredentials(f"line {number}: is no JSON object") from None
    if not isinstance(values, dict) or set(values) != set(_FIELDS):
        raise InvalidCredentials(f"line {number}: expects {', '.join(_FIELDS)}")
    mechanism, iterations = values["mechanism"], values["iterations"]
    if not isinstance(mechanism, str) or mechanism not in HASHES:
        raise InvalidCredentials(
            f"line {number}: mechanism must be one of {', '.join(HASHES)}"
        )
    if type(iterations) is not int or (
        not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS
    ):
        raise InvalidCredentials(
            f"line {number}: iterations must be {MIN_ITERATIONS} to {MAX_ITERATIONS}"
        )
    if not isinstance(values["name"], str) or not is_plain_name(values["name"]):
        raise InvalidCredentials(f"line {number}: name is no name")
    size = hashlib.new(HASHES[mechanism]).digest_size
    return ScramCredential(
        name=values["name"],
        mechanism=mechanism,
        iterations=iterations,
        salt=_decode(values, "salt", number, low=_MIN_SALT_BYTES),
        stored_key=_decode(values, "stored_key", number, low=size, high=size),
        server_key=_decode(values, "server_key", number, low=size, high=size),
    )


def _decode(
    values: Mapping[str, Any], field: str, number: int, *, low: int, high: int = 1_024
) -> bytes:
    try:
        value = base64.b64decode(values[field], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise InvalidCredentials(f"line {number}: {field} is not base64") from None
    if not low <= len(value) <= high:
        raise InvalidCredentials(f"line {number}: {field} has {len(value)} bytes")
    return value
