"""Frames as kio writes them, keys and tokens made on the spot, a clock by hand."""

import json
import struct

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader

from pipelines.bridge.protocol.requests import TELEMETRY_APIS
from pipelines.bridge.protocol.sasl import SASL_AUTHENTICATE_API, SASL_HANDSHAKE_API
from pipelines.bridge.security.sasl.authentication import SaslAuthentication
from pipelines.bridge.security.sasl.credentials import Credentials, make_credential
from pipelines.bridge.security.sasl.mechanisms import make_mechanism
from pipelines.bridge.security.sasl.steps import SaslRules
from pipelines.bridge.security.sasl.tokens import TokenRules, TokenVerifier
from tests.unit.bridge.security.sasl.client_side import PASSWORD

NOW_MS = 1_700_000_000_000
NONCE = "server-nonce"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
RULES = TokenRules(
    issuer="https://issuer.example",
    audience="clientele",
    algorithms=("RS256", "ES256"),
    principal_claim="sub",
    clock_skew_ms=30_000,
)
SERVED = {
    api.api_key: api
    for api in (*TELEMETRY_APIS.values(), SASL_HANDSHAKE_API, SASL_AUTHENTICATE_API)
}


@pytest.fixture(scope="session")
def rsa_key():
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


@pytest.fixture(scope="session")
def ec_key():
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="session")
def key_set(rsa_key, ec_key):
    """A JWKS with an RSA key "r" and an EC key "e", as an issuer publishes it."""
    keys = [
        RSAAlgorithm.to_jwk(rsa_key.public_key(), as_dict=True) | {"kid": "r"},
        ECAlgorithm.to_jwk(ec_key.public_key(), as_dict=True) | {"kid": "e"},
    ]
    return json.dumps({"keys": keys})


@pytest.fixture(scope="session")
def verifier(key_set):
    return TokenVerifier(key_set, RULES)


@pytest.fixture(scope="session")
def sign(rsa_key):
    """Make a token: sign(claim=value, …); a claim of None is left out."""

    def make(*, key=rsa_key, algorithm="RS256", headers=None, **claims):
        good = {
            "iss": RULES.issuer,
            "aud": RULES.audience,
            "sub": "alice",
            "exp": NOW_MS // 1_000 + 60,
        }
        given = {k: v for k, v in (good | claims).items() if v is not None}
        return jwt.encode(given, key, algorithm, headers=headers or {"kid": "r"})

    return make


@pytest.fixture(scope="session")
def credentials():
    """Verifiers of alice, for both mechanisms, and of bob, for one."""
    return Credentials(
        tuple(
            make_credential(
                name=name,
                password=PASSWORD,
                mechanism=mechanism,
                iterations=4_096,
                salt=b"salt of " + mechanism.encode(),
            )
            for name, mechanism in (
                ("alice", "SCRAM-SHA-256"),
                ("alice", "SCRAM-SHA-512"),
                ("bob", "SCRAM-SHA-256"),
            )
        )
    )


class Server:
    """One listener's rules, with a clock that the test moves."""

    def __init__(self, credentials, verifier):
        self.now_ms = NOW_MS
        self.unknown_keys = 0
        self._credentials, self._verifier = credentials, verifier

    def note_unknown_key(self):
        self.unknown_keys += 1

    def start(self, name):
        return make_mechanism(
            name,
            credentials=self._credentials,
            verifier=self._verifier,
            nonce=NONCE,
            now_ms=lambda: self.now_ms,
            on_unknown_key=self.note_unknown_key,
        )

    def connect(self, mechanisms=MECHANISMS, max_reauth_ms=0):
        rules = SaslRules(
            apis=SERVED,
            mechanisms=mechanisms,
            start=self.start,
            now_ms=lambda: self.now_ms,
            max_reauth_ms=max_reauth_ms,
        )
        return SaslAuthentication(rules)


@pytest.fixture(scope="session")
def make_server(credentials, verifier):
    return lambda: Server(credentials, verifier)


@pytest.fixture
def server(make_server):
    return make_server()


@pytest.fixture(scope="session")
def read_reply():
    """Read a reply with kio: read_reply(reply, api_key, api_version)."""

    def read(reply, api_key, api_version):
        assert struct.unpack_from(">i", reply)[0] == len(reply) - 4
        schema = load_response_schema(api_key, api_version)
        start = 8 + (schema.__header_schema__.__version__ == 1)
        body, size = entity_reader(schema)(reply, start)
        assert start + size == len(reply)
        return body

    return read


@pytest.fixture
def make_frame(frame):
    """Build a frame without its size: make_frame(api_key, version, **fields)."""

    def make(api_key, version, **fields):
        return frame(load_request_schema(api_key, version)(**fields))[4:]

    return make


@pytest.fixture
def shake(make_frame):
    return lambda name, version=1: make_frame(17, version, mechanism=name)


@pytest.fixture
def send(make_frame):
    return lambda token, version=2: make_frame(36, version, auth_bytes=token)


@pytest.fixture
def versions(make_frame):
    return make_frame(18, 3, client_software_name="app", client_software_version="1")
