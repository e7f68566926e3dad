import base64
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm

from pipelines.bridge.security.sasl.tokens import (
    InvalidKeys,
    InvalidToken,
    TokenRules,
    TokenVerifier,
    UnknownKey,
)

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1_000
RULES = TokenRules(
    issuer="https://issuer.example",
    audience="clientele",
    algorithms=("RS256", "ES256"),
    principal_claim="sub",
    clock_skew_ms=30_000,
)


def test_a_good_token_names_its_subject_and_its_end(verifier, sign):
    found = verifier.verify(sign(), now_ms=NOW_MS)
    assert (found.name, found.expires_at_ms) == ("alice", NOW_MS + 60_000)


def test_each_allowed_algorithm_has_its_key(verifier, sign, ec_key):
    token = sign(key=ec_key, algorithm="ES256", headers={"kid": "e"})
    assert verifier.verify(token, now_ms=NOW_MS).name == "alice"


def test_a_token_without_key_id_takes_the_one_key_of_its_algorithm(verifier, rsa_key):
    claims = {"iss": RULES.issuer, "aud": ["x", RULES.audience], "sub": "b", "exp": 9e9}
    token = jwt.encode(claims, rsa_key, "RS256")
    assert verifier.verify(token, now_ms=NOW_MS).name == "b"


def test_another_claim_may_name_the_principal(key_set, sign):
    rules = TokenRules(
        issuer=RULES.issuer,
        audience=RULES.audience,
        algorithms=("RS256",),
        principal_claim="azp",
        clock_skew_ms=0,
    )
    verifier = TokenVerifier(key_set, rules)
    assert verifier.verify(sign(azp="app-1"), now_ms=NOW_MS).name == "app-1"
    with pytest.raises(InvalidToken):
        verifier.verify(sign(), now_ms=NOW_MS)


@pytest.mark.parametrize(
    "claims",
    [{"iss": "https://other.example"}, {"iss": None}, {"aud": "other"}, {"aud": None},
     {"aud": []}, {"exp": None}, {"exp": NOW_S - 30}, {"exp": "soon"},
     {"nbf": NOW_S + 31}, {"nbf": "x"}, {"sub": None}, {"sub": ""}],
)  # fmt: skip
def test_a_token_that_is_not_for_us_or_not_for_now_is_refused(verifier, sign, claims):
    with pytest.raises(InvalidToken):
        verifier.verify(sign(**claims), now_ms=NOW_MS)


@pytest.mark.parametrize("claims", [{"exp": NOW_S - 29}, {"nbf": NOW_S + 30}])
def test_clocks_may_differ_a_little(verifier, sign, claims):
    assert verifier.verify(sign(**claims), now_ms=NOW_MS).name == "alice"


def encode(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def test_a_token_without_a_signature_is_refused(verifier):
    claims = {"iss": RULES.issuer, "aud": RULES.audience, "sub": "a", "exp": 9e9}
    for algorithm in ("none", "None", "NONE", ""):
        token = f"{encode({'alg': algorithm, 'kid': 'r'})}.{encode(claims)}."
        with pytest.raises(InvalidToken):
            verifier.verify(token, now_ms=NOW_MS)


def test_a_public_key_is_no_shared_secret(verifier, key_set, rsa_key):
    pem = rsa_key.public_key().public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )
    claims = {"iss": RULES.issuer, "aud": RULES.audience, "sub": "a", "exp": 9e9}
    for secret in (key_set.encode(), pem):
        text = f"{encode({'alg': 'HS256', 'kid': 'r'})}.{encode(claims)}"
        made = hmac.digest(secret, text.encode(), "sha256")
        signature = base64.urlsafe_b64encode(made).rstrip(b"=").decode()
        with pytest.raises(InvalidToken, match="not allowed"):
            verifier.verify(f"{text}.{signature}", now_ms=NOW_MS)


def test_an_algorithm_that_is_not_allowed_is_refused(verifier, sign):
    with pytest.raises(InvalidToken, match="not allowed"):
        verifier.verify(sign(algorithm="RS512"), now_ms=NOW_MS)


def test_a_key_of_the_tokens_own_is_not_used(verifier, sign):
    strange = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    jwk = RSAAlgorithm.to_jwk(strange.public_key(), as_dict=True)
    token = sign(key=strange, headers={"kid": "r", "jwk": jwk, "jku": "https://x"})
    with pytest.raises(InvalidToken):
        verifier.verify(token, now_ms=NOW_MS)


@pytest.mark.parametrize("key_id", ["new", ""])
def test_a_key_that_is_not_known_may_be_a_new_one(verifier, sign, key_id):
    with pytest.raises(UnknownKey):
        verifier.verify(sign(headers={"kid": key_id}), now_ms=NOW_MS)


def test_a_token_cut_anywhere_is_refused(verifier, sign):
    token = sign()
    for cut in range(0, len(token), 7):
        with pytest.raises(InvalidToken):
            verifier.verify(token[:cut], now_ms=NOW_MS)


@given(st.text(alphabet='abcdefABCDEF0189-_.{}[]":,', max_size=200))
def test_no_text_raises_anything_but_invalid_token(verifier, text):
    for token in (text, f"{encode({'alg': 'RS256', 'kid': 'r'})}.{text}"):
        with pytest.raises(InvalidToken):
            verifier.verify(token, now_ms=NOW_MS)


@pytest.mark.parametrize(
    "header", [{"alg": ["RS256"]}, {"alg": "RS256", "kid": ["r"]}, {"alg": {}}, [], 3]
)
def test_a_header_of_any_form_is_refused(verifier, header):
    with pytest.raises(InvalidToken):
        verifier.verify(f"{encode(header)}.{encode({})}.AAAA", now_ms=NOW_MS)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "3", '{"keys": 3}', '{"keys": [3]}', '{"keys": []}',
     '{"keys": [{"kty": "oct", "kid": "x"}]}',
     '{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "x"}]}',
     '{"keys": [{"kty": "RSA", "n": "secret", "e": "AQAB"}]}',
     '{"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]}', "[" * 100_000],
)  # fmt: skip
def test_keys_that_cannot_be_used_are_refused_without_a_value(text):
    with pytest.raises(InvalidKeys) as raised:
        TokenVerifier(text, RULES)
    assert "secret" not in str(raised.value).replace("shared secret", "")


def test_a_private_key_in_the_set_is_refused(rsa_key):
    key = RSAAlgorithm.to_jwk(rsa_key, as_dict=True) | {"kid": "r"}
    with pytest.raises(InvalidKeys, match="key 1 is private"):
        TokenVerifier(json.dumps({"keys": [key]}), RULES)


def test_keys_for_encryption_and_of_other_kinds_are_passed_over(key_set, sign):
    keys = json.loads(key_set)["keys"]
    others = [keys[0] | {"use": "enc", "kid": "x"}, {"kty": "EC", "crv": "secp256k1"}]
    verifier = TokenVerifier(json.dumps({"keys": [*others, *keys]}), RULES)
    assert verifier.verify(sign(), now_ms=NOW_MS).name == "alice"
    with pytest.raises(UnknownKey):
        verifier.verify(sign(headers={"kid": "x"}), now_ms=NOW_MS)


HUGE = 10**400
NO_TIMES = [
    HUGE,
    -HUGE,
    1e308,
    float("nan"),
    float("inf"),
    -float("inf"),
    2**63 // 1_000 + 1,
]


@pytest.mark.parametrize("value", NO_TIMES)
@pytest.mark.parametrize("claim", ["exp", "nbf", "iat"])
def test_a_number_that_is_no_time_is_refused_as_any_bad_token(
    verifier, sign, claim, value
):
    with pytest.raises(InvalidToken, match="no time"):
        verifier.verify(sign(**{claim: value}), now_ms=NOW_MS)


@pytest.mark.parametrize("value", [True, [], {}, "1", [HUGE]])
@pytest.mark.parametrize("claim", ["exp", "nbf", "iat"])
def test_a_time_of_another_type_is_refused(verifier, sign, claim, value):
    with pytest.raises(InvalidToken):
        verifier.verify(sign(**{claim: value}), now_ms=NOW_MS)


NO_NAMES = [
    "", "\ud800", "alice\udfff", "alice\n", "a\0b", "\x1b[31m", "\x7f", "\x85",
    "a\u202eb", "a\u2028b", "a\u200bb", 7, True, [], ["alice"], {}, HUGE,
]  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_subject_that_is_no_name_is_refused(verifier, sign, name):
    with pytest.raises(InvalidToken):
        verifier.verify(sign(sub=name), now_ms=NOW_MS)


@pytest.mark.parametrize("name", ["é漢", "a b", "CN=a\\,b", "a" * 255, "\U0001f600"])
def test_a_subject_of_any_script_is_a_name(verifier, sign, name):
    assert verifier.verify(sign(sub=name), now_ms=NOW_MS).name == name


STRANGE = [
    "[" * 100_000,
    "1" * 5_000,
    "[" * 900 + "]" * 900,
    '{"a":' * 900 + "1" + "}" * 900,
]


@pytest.mark.parametrize("value", STRANGE)
@pytest.mark.parametrize("claim", ["exp", "sub", "aud", "iss", "jti"])
def test_json_that_is_deep_or_long_is_refused(verifier, rsa_key, claim, value):
    good = {"iss": f'"{RULES.issuer}"', "aud": f'"{RULES.audience}"', "sub": '"a"'}
    parts = good | {"exp": "9e9", claim: value}
    payload = "{" + ",".join(f'"{k}":{v}' for k, v in parts.items()) + "}"
    token = jwt.PyJWS().encode(payload.encode(), rsa_key, "RS256", {"kid": "r"})
    with pytest.raises(InvalidToken):
        verifier.verify(token, now_ms=NOW_MS)
