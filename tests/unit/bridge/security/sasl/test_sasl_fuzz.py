"""Frames and tokens cut, mixed up, and of no form at all."""

from hypothesis import given, settings
from hypothesis import strategies as st
from kio.index import load_request_schema
from kio.schema.errors import ErrorCode
from scramp import ScramClient

from pipelines.bridge.protocol.requests import UNREADABLE
from pipelines.bridge.security.sasl.steps import (
    Accepted,
    Answer,
    PassOn,
    Refused,
    State,
)
from tests.unit.bridge.security.sasl.client_side import (
    PASSWORD,
    PLAIN,
    finish,
    go,
    oauth,
    parsed,
)

NONE, FAILED = ErrorCode.none, ErrorCode.sasl_authentication_failed


def test_a_frame_cut_anywhere_is_refused_and_raises_nothing(
    server, shake, send, versions, sign
):
    for before, whole in (
        ([], versions),
        ([], shake("PLAIN")),
        ([shake("PLAIN")], send(PLAIN)),
        ([shake("PLAIN")], send(PLAIN, 1)),
        ([shake("OAUTHBEARER")], send(oauth(sign()))),
    ):
        for cut in range(len(whole)):
            client = server.connect()
            go(client, before)
            step = client.receive_frame(whole[:cut])
            if whole is versions and isinstance(step, PassOn):
                # It is answered with an error, and nothing has been agreed on.
                assert step.request.body is UNREADABLE
                assert client.state is State.begun
                continue
            assert isinstance(step, Refused), cut


def test_a_token_cut_anywhere_lets_nobody_in(server, shake, send, read_reply, sign):
    first = b"n,,n=alice,r=abcdefgh"
    for name, token in (
        ("PLAIN", PLAIN),
        ("OAUTHBEARER", oauth(sign())),
        ("SCRAM-SHA-256", first),
    ):
        for cut in range(len(token)):
            step = go(server.connect(), [shake(name), send(token[:cut])])
            assert not isinstance(step, Accepted)
    final_frames = [shake("SCRAM-SHA-256"), send(first)]
    speaker = ScramClient(["SCRAM-SHA-256"], "alice", PASSWORD, c_nonce="abcdefgh")
    speaker.get_client_first()
    client = server.connect()
    reply = go(client, final_frames).reply
    speaker.set_server_first(read_reply(reply, 36, 2).auth_bytes.decode())
    final = speaker.get_client_final().encode()
    assert isinstance(go(client, [send(final)]), Accepted)
    for cut in range(len(final)):
        client = server.connect()
        go(client, final_frames)
        assert isinstance(go(client, [send(final[:cut])]), Refused)


NAMES = st.sampled_from(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
TOKENS = st.one_of(
    st.binary(max_size=200),
    st.text(alphabet="n,=amrcpy-\x01\0auth=Bearer eyJ.", max_size=80).map(str.encode),
    st.sampled_from(
        [b"", b"\0", b"\x01", b"n,,n=alice,r=x", b"n,a=alice,n=alice,r=x", b"y,,n=,r=",
         b"p=tls-unique,,n=alice,r=x", b"n,,m=x,n=alice,r=x", b"c=biws,r=x,p=AAAA",
         b"c=biws,r=xserver-nonce,p=AAAA", b"n,,\x01auth=Bearer a.b.c\x01\x01"]
    ),
)  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("shake"), NAMES, st.sampled_from([0, 1])),
        st.tuples(st.just("send"), TOKENS, st.sampled_from([0, 1, 2])),
        st.tuples(st.just("raw"), TOKENS, st.just(0)),
        st.tuples(st.just("again"), NAMES, st.just(1)),
        st.tuples(st.just("expire"), st.just(""), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=400, deadline=None)
@given(STEPS)
def test_tokens_in_any_order_let_nobody_in_and_raise_nothing(make_server, frame, steps):
    client = make_server().connect(max_reauth_ms=1_000)
    for what, value, version in steps:
        if what == "expire":
            client.expire()
            continue
        if what == "raw":
            data = value
        else:
            api_key, name = (36, "auth_bytes") if what == "send" else (17, "mechanism")
            schema = load_request_schema(api_key, version)
            data = frame(schema(**{name: value}))[4:]
        if what == "again":
            client.begin_again(parsed(data))
            continue
        step = finish(client, client.receive_frame(data))
        assert isinstance(step, Answer | PassOn | Refused)
        if isinstance(step, Refused):
            assert client.state is State.refused


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_garbage_of_any_length_is_refused(make_server, data):
    client = make_server().connect()
    assert isinstance(client.receive_frame(data), Refused | PassOn | Answer)
