import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.bridge.security.sasl.credentials import (
    InvalidCredentials,
    make_credential,
    parse_credentials,
)

SALT = b"0123456789abcdef"


def make(**given):
    default = {
        "name": "alice",
        "password": "pencil",
        "mechanism": "SCRAM-SHA-512",
        "iterations": 4_096,
    }
    return make_credential(**default | given, salt=SALT)


def test_a_file_gives_back_what_was_written():
    lines = [make().as_line(), make(mechanism="SCRAM-SHA-256").as_line()]
    text = "# users\n\n" + "\n".join(lines) + "\n"
    found = parse_credentials(text)
    assert len(found) == 2
    assert found.find("alice", "SCRAM-SHA-512") == make()
    assert found.find("alice", "SCRAM-SHA-256").mechanism == "SCRAM-SHA-256"


def test_a_verifier_knows_its_password_and_does_not_hold_it():
    one = make(password="hunter2, the ünïcode one")
    assert one.is_password("hunter2, the ünïcode one".encode())
    assert not one.is_password(b"hunter2")
    assert not one.is_password(b"")
    assert "hunter2" not in one.as_line()
    assert "hunter2" not in repr(one)


def test_a_verifier_is_the_one_of_rfc_7677():
    salt = b"[m\x99h\x9d\x125\x8e\xec\xa0K\x14\x126\xfa\x81"
    one = make_credential(
        name="user",
        password="pencil",
        mechanism="SCRAM-SHA-256",
        iterations=4_096,
        salt=salt,
    )
    line = json.loads(one.as_line())
    assert line["salt"] == "W22ZaJ0SNY7soEsUEjb6gQ=="
    assert line["stored_key"] == "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert line["server_key"] == "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="


def test_nobody_looks_the_same_each_time_and_has_no_password():
    found = parse_credentials(make(iterations=5_000).as_line())
    nobody = found.find("nobody", "SCRAM-SHA-512")
    assert nobody == found.find("nobody", "SCRAM-SHA-512")
    assert nobody.salt != found.find("no other", "SCRAM-SHA-512").salt
    assert nobody.iterations == 5_000
    assert len(nobody.stored_key) == 64
    assert not nobody.is_password(b"pencil")
    again = parse_credentials(make(iterations=5_000).as_line())
    assert nobody == again.find("nobody", "SCRAM-SHA-512")


def test_any_verifier_of_a_user_is_the_strongest():
    both = [
        make(mechanism=name).as_line() for name in ("SCRAM-SHA-512", "SCRAM-SHA-256")
    ]
    found = parse_credentials("\n".join(both))
    assert found.find_any("alice").mechanism == "SCRAM-SHA-512"
    assert found.find_any("nobody").mechanism == "SCRAM-SHA-512"
    weak = parse_credentials(both[1])
    assert weak.find_any("alice").mechanism == "SCRAM-SHA-256"
    assert weak.find_any("nobody").mechanism == "SCRAM-SHA-256"


def test_an_empty_file_lets_nobody_in():
    found = parse_credentials("")
    assert not found.find_any("alice").is_password(b"")
    assert not found.find("alice", "SCRAM-SHA-256").is_password(b"x")


GOOD = json.loads(make().as_line())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": ""}, "line 2: name is no name"),
        ({"name": 3}, "line 2: name is no name"),
        ({"name": "a\u00aa"}, "line 2: name is no name"),
        ({"mechanism": "SCRAM-SHA-1"}, "line 2: mechanism must be one of SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"mechanism": []}, "line 2: mechanism must be one of SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"iterations": 4_095}, "line 2: iterations must be 4096 to 16384"),
        ({"iterations": 16_385}, "line 2: iterations must be 4096 to 16384"),
        ({"iterations": "8192"}, "line 2: iterations must be 4096 to 16384"),
        ({"iterations": True}, "line 2: iterations must be 4096 to 16384"),
        ({"salt": "c2VjcmV0"}, "line 2: salt has 6 bytes"),
        ({"stored_key": "c2VjcmV0"}, "line 2: stored_key has 6 bytes"),
        ({"server_key": "!secret!"}, "line 2: server_key is not base64"),
        ({"server_key": None}, "line 2: server_key is not base64"),
        ({"password": "secret"}, "line 2: expects name, mechanism, iterations, salt, stored_key, server_key"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_without_what_it_holds(change, reason):
    text = f"#\n{json.dumps(GOOD | change)}\n"
    with pytest.raises(InvalidCredentials) as raised:
        parse_credentials(text)
    assert str(raised.value) == reason


@pytest.mark.parametrize("line", ["secret", "[]", "3", "{", "[" * 100_000])
def test_a_line_that_is_no_object_is_named(line):
    with pytest.raises(InvalidCredentials, match="line 1: ") as raised:
        parse_credentials(line)
    assert "secret" not in str(raised.value)


def test_the_same_user_and_mechanism_twice_is_refused():
    line = make().as_line()
    with pytest.raises(InvalidCredentials, match=r"line 3: .* as line 1"):
        parse_credentials(f"{line}\n\n{line}\n")


@given(st.text())
def test_no_text_raises_anything_else(text):
    try:
        parse_credentials(text)
    except InvalidCredentials:
        return


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"name": ""}, "name"),
        ({"name": "tab\t"}, "name"),
        ({"password": ""}, "password"),
        ({"iterations": 4_095}, "iterations"),
        ({"iterations": 16_385}, "iterations"),
    ],
)
def test_a_verifier_that_no_client_could_use_is_not_made(given, reason):
    with pytest.raises(InvalidCredentials, match=reason):
        make(**given)
