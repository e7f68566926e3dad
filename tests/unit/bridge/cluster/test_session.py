import struct

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest

from pipelines.bridge.cluster.faults import ClusterRefusal, MissingApi
from pipelines.bridge.cluster.login import Credentials
from pipelines.bridge.cluster.session import ClusterSession
from pipelines.bridge.protocol.cluster_requests import adapt
from pipelines.bridge.protocol.errors import MalformedResponse

LIST = ListConfigResourcesRequest(resource_types=(16,))
PASSWORD = "open, =sesame"
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def make_session(mechanism="", password=PASSWORD):
    credentials = Credentials(mechanism=mechanism, username="bridge", password=password)
    return ClusterSession(
        client_id="bridge-1",
        credentials=credentials if mechanism else None,
        nonce="nonce",
    )


def list_kinds(answers):
    return [type(one).__name__ for one in answers.requests]


@pytest.mark.parametrize("chunk", [None, 1, 7])
def test_request_is_answered_however_the_bytes_are_cut(
    talk, make_answers, listing, chunk
):
    session, answers = make_session(), make_answers()
    assert not session.is_ready
    talk(session, answers, chunk=chunk)
    assert session.is_ready
    session.send(LIST)
    talk(session, answers, chunk=chunk)
    assert session.take_answer() == listing("s")
    assert session.take_answer() is None
    greeting, asked = answers.requests
    assert greeting.client_software_name == "kafka-clientele"
    assert asked == LIST


def test_broker_that_knows_no_new_api_versions_is_asked_again_in_the_oldest(
    talk, make_answers
):
    session, answers = make_session(), make_answers()
    answers.is_old = True
    talk(session, answers)
    assert session.is_ready
    assert [one.__version__ for one in answers.requests] == [3, 0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_login_comes_between_greeting_and_requests(talk, make_answers, mechanism):
    session, answers = make_session(mechanism), make_answers(mechanism=mechanism)
    talk(session, answers)
    assert session.is_ready
    assert list_kinds(answers)[:3] == [
        "ApiVersionsRequest", "SaslHandshakeRequest", "SaslAuthenticateRequest",
    ]  # fmt: skip
    assert all(PASSWORD not in repr(one) for one in answers.requests[:2])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_password_is_refused_and_not_shown(talk, make_answers, mechanism):
    session = make_session(mechanism, "wrong-one")
    answers = make_answers(mechanism=mechanism)
    with pytest.raises(ClusterRefusal) as caught:
        talk(session, answers)
    assert not session.is_ready
    assert "wrong-one" not in str(caught.value)
    assert "wrong-one" not in repr(session._credentials)


@pytest.mark.parametrize("mechanism", MECHANISMS[1:])
def test_broker_that_does_not_know_the_password_is_not_believed(
    talk, make_answers, mechanism
):
    session = make_session(mechanism)
    answers = make_answers(mechanism=mechanism, password="another")
    with pytest.raises(ClusterRefusal, match=mechanism):
        talk(session, answers)
    assert not session.is_ready


def test_mechanism_that_the_listener_lacks_is_named(talk, make_answers):
    with pytest.raises(ClusterRefusal, match=r"PLAIN.*unsupported_sasl_mechanism"):
        talk(make_session("PLAIN"), make_answers(mechanism="SCRAM-SHA-256"))


def test_listener_without_sasl_is_named(talk, make_answers):
    with pytest.raises(ClusterRefusal, match="no SASL"):
        talk(make_session("PLAIN"), make_answers({18: (0, 4)}, mechanism="PLAIN"))


def test_refused_login_has_the_code_of_the_broker(talk, make_answers):
    answers = make_answers(mechanism="PLAIN")
    answers.login_error = ErrorCode.sasl_authentication_failed
    with pytest.raises(ClusterRefusal, match="sasl_authentication_failed"):
        talk(make_session("PLAIN"), answers)


def test_older_cluster_is_sent_the_older_version_and_its_answer_made_new(
    talk, make_answers, listing
):
    offered = {18: (0, 3), 74: (0, 0)}
    session, answers = make_session(), make_answers(offered)
    talk(session, answers)
    session.send(LIST)
    answers.others = lambda _request: adapt(listing("a"), 0)
    talk(session, answers)
    assert answers.requests[-1].__version__ == 0
    assert session.take_answer() == listing("a")


@pytest.mark.parametrize("offered", [{18: (0, 3)}, {18: (0, 3), 74: (2, 9)}])
def test_cluster_without_the_api_stays_usable(talk, make_answers, offered):
    session, answers = make_session(), make_answers(offered)
    talk(session, answers)
    with pytest.raises(MissingApi, match="API key 74"):
        session.send(LIST)
    assert session.is_ready
    assert session.take_bytes() == b""


@pytest.mark.parametrize(
    ("data", "said"),
    [(struct.pack(">i", -1), "-1 bytes"), (struct.pack(">i", 3), "3 bytes"),
     (b"HTTP/1.1 400", "bytes"), (struct.pack(">ii", 4, 99), "nothing has asked"),
     (struct.pack(">iih", 6, 1, 0), "ApiVersionsResponse 3"),
     # Two thousand million APIs, which must not be believed.
     (struct.pack(">iih", 11, 1, 0) + b"\xff\xff\xff\xff\x07", "items")],
)  # fmt: skip
def test_bytes_that_are_no_answer_are_malformed(data, said):
    session = make_session()
    with pytest.raises(MalformedResponse, match=said):
        session.receive_data(data)


def test_answer_without_a_request_is_malformed(talk, make_answers):
    session, answers = make_session(), make_answers()
    talk(session, answers)
    with pytest.raises(MalformedResponse, match="nothing has asked"):
        session.receive_data(struct.pack(">iib", 5, 2, 0))


def test_second_request_before_the_answer_is_our_own_fault(talk, make_answers):
    session, answers = make_session(), make_answers()
    with pytest.raises(RuntimeError):
        session.send(LIST)
    talk(session, answers)
    session.send(LIST)
    with pytest.raises(RuntimeError):
        session.send(LIST)
