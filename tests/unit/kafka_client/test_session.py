"""Conversations with a broker whose bytes are kio's."""

import struct
from dataclasses import replace
from functools import partial

import pytest
from kio.schema.errors import ErrorCode

from pipelines.kafka_client.async_link import MAX_ANSWER_BYTES
from pipelines.kafka_client.faults import LoginRefused, Refused
from pipelines.kafka_client.login import Login, log_in_by_plain, log_in_by_scram
from pipelines.kafka_client.messages import Request
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_client.session import Session, Software, greet
from tests.support.kafka_answers import OFFERED, Answers, encode, make_listing, talk

SOFTWARE = Software(client_id="bridge-1", name="kafka-clientele", version="1")
USER, PASSWORD = "bridge", "open, =sesame"
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
LIST = Request(74, 1, bytes.fromhex("02 10 00"), is_flexible=True)
"""ListConfigResources of subscriptions."""


def make_session(max_answer_bytes=MAX_ANSWER_BYTES):
    return Session(SOFTWARE.client_id, max_answer_bytes=max_answer_bytes)


def make_login(mechanism, password=PASSWORD):
    start = partial(log_in_by_plain, USER, password)
    if mechanism != "PLAIN":
        start = partial(log_in_by_scram, mechanism, USER, password, nonce="nonce")
    return Login(mechanism=mechanism, start=start)


def ask():
    return (yield LIST)


def list_kinds(answers):
    return [type(one).__name__ for one in answers.requests]


@pytest.mark.parametrize("chunk", [None, 1, 7])
def test_request_is_answered_however_the_bytes_are_cut(chunk):
    session, answers = make_session(), Answers()
    served = talk(session, greet(SOFTWARE, None), answers, chunk=chunk).served
    assert served == {key: range(low, high + 1) for key, (low, high) in OFFERED.items()}
    assert talk(session, ask(), answers, chunk=chunk) == encode(make_listing("s"))
    greeting, asked = answers.requests
    assert greeting.client_software_name == "kafka-clientele"
    assert asked.resource_types == (16,)


def test_broker_that_knows_no_new_api_versions_is_asked_again_in_the_oldest():
    answers = Answers()
    answers.is_old = True
    served = talk(make_session(), greet(SOFTWARE, None), answers).served
    assert served[32] == range(1, 5)
    assert [one.__version__ for one in answers.requests] == [3, 0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_login_comes_behind_the_greeting(mechanism):
    answers = Answers(mechanism=mechanism)
    talk(make_session(), greet(SOFTWARE, make_login(mechanism)), answers)
    assert list_kinds(answers)[:3] == [
        "ApiVersionsRequest", "SaslHandshakeRequest", "SaslAuthenticateRequest",
    ]  # fmt: skip
    assert all(PASSWORD not in repr(one) for one in answers.requests[:2])


@pytest.mark.parametrize(
    ("versions", "lifetime_ms", "asked"), [((0, 2), 7_000, 1), ((0, 0), 0, 0)]
)
def test_a_session_is_as_long_as_the_broker_says_where_it_can(
    versions, lifetime_ms, asked
):
    answers = Answers(OFFERED | {36: versions}, mechanism="PLAIN")
    answers.session_lifetime_ms = 7_000
    greeted = talk(make_session(), greet(SOFTWARE, make_login("PLAIN")), answers)
    assert greeted.session_lifetime_ms == lifetime_ms
    assert answers.requests[-1].__version__ == asked


def test_a_peer_that_refuses_a_login_has_what_it_came_with_dropped():
    dropped = []
    login = replace(make_login("PLAIN"), forget=lambda: dropped.append("token"))
    answers = Answers(mechanism="PLAIN")
    answers.login_error = ErrorCode.sasl_authentication_failed
    with pytest.raises(LoginRefused):
        talk(make_session(), greet(SOFTWARE, login), answers)
    assert dropped == ["token"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_password_is_refused_and_not_shown(mechanism):
    login = make_login(mechanism, "wrong-one")
    with pytest.raises(LoginRefused) as caught:
        talk(make_session(), greet(SOFTWARE, login), Answers(mechanism=mechanism))
    assert "wrong-one" not in str(caught.value)
    assert "wrong-one" not in repr(login)


@pytest.mark.parametrize("mechanism", MECHANISMS[1:])
def test_broker_that_does_not_know_the_password_is_not_believed(mechanism):
    answers = Answers(mechanism=mechanism, password="another")
    with pytest.raises(LoginRefused, match=mechanism):
        talk(make_session(), greet(SOFTWARE, make_login(mechanism)), answers)


@pytest.mark.parametrize(
    ("answers", "told", "said"),
    [(Answers(mechanism="SCRAM-SHA-256"), "PLAIN .unsupported_sasl_mechanism", "it has SCRAM-SHA-256"),
     (Answers({18: (0, 4)}, mechanism="PLAIN"), "no SASL", "")],
)  # fmt: skip
def test_listener_without_the_mechanism_is_named(answers, told, said):
    with pytest.raises(LoginRefused, match=told) as caught:
        talk(make_session(), greet(SOFTWARE, make_login("PLAIN")), answers)
    assert caught.value.said == said


@pytest.mark.parametrize(
    ("code", "told"),
    [(ErrorCode.sasl_authentication_failed, "sasl_authentication_failed"),
     (ErrorCode.unknown_server_error, "error -1")],
)  # fmt: skip
def test_refused_login_has_the_code_of_the_broker(code, told):
    answers = Answers(mechanism="PLAIN")
    answers.login_error = code
    with pytest.raises(LoginRefused, match=told):
        talk(make_session(), greet(SOFTWARE, make_login("PLAIN")), answers)


@pytest.mark.parametrize(("code", "kind"), [(42, Refused), (7, MalformedBytes)])
def test_refused_greeting_is_final_unless_its_code_may_be_tried_again(code, kind):
    steps = greet(SOFTWARE, None)
    next(steps)
    with pytest.raises(kind, match=f"ApiVersions is answered with error {code}"):
        steps.send(struct.pack(">hB", code, 1))


def test_an_old_broker_may_refuse_the_oldest_version_as_well():
    steps = greet(SOFTWARE, None)
    next(steps)
    steps.send(struct.pack(">h", 35))
    with pytest.raises(Refused, match="unsupported_version"):
        steps.send(struct.pack(">hi", 35, 0))


@pytest.mark.parametrize(
    ("data", "said"),
    [(struct.pack(">i", -1), "-1 bytes"), (struct.pack(">i", 3), "3 bytes"),
     (b"HTTP/1.1 400", "bytes"), (struct.pack(">ii", 4, 99), "nothing has asked"),
     (struct.pack(">iihi", 6, 1, 0, 1), "nothing has asked")],
)  # fmt: skip
def test_bytes_that_are_no_answer_are_malformed(data, said):
    session = make_session()
    session.send(LIST)
    with pytest.raises(MalformedBytes, match=said):
        session.receive(data)


def test_no_answer_is_larger_than_it_may_be():
    session = make_session(max_answer_bytes=100)
    session.send(LIST)
    with pytest.raises(MalformedBytes, match="answer of 101 bytes"):
        session.receive(struct.pack(">i", 101))


def test_answer_without_a_request_is_malformed():
    session = make_session()
    talk(session, ask(), Answers())
    with pytest.raises(MalformedBytes, match="nothing has asked"):
        session.receive(struct.pack(">iib", 5, 1, 0))


def test_second_request_before_the_answer_is_our_own_fault():
    session = make_session()
    session.send(LIST)
    with pytest.raises(RuntimeError):
        session.send(LIST)
