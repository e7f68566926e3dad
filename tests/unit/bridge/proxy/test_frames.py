"""Both directions of one pair, with every way in which the bytes may be cut."""

import struct

import pytest

from pipelines.bridge.protocol.errors import MalformedResponse, UnsupportedRequest
from pipelines.bridge.proxy.frames.line import Awaited, Care, Line, OwnReply
from pipelines.bridge.proxy.frames.request_frames import RequestFrames
from pipelines.bridge.proxy.frames.response_frames import ResponseFrames
from pipelines.bridge.proxy.frames.versions import FETCH, METADATA, PRODUCE
from pipelines.bridge.proxy.rules.keep_alive import make_question
from pipelines.kafka_client.primitives import MalformedBytes

OWN, READ = 72, 18
CARES = {
    PRODUCE: Care.PRODUCE, METADATA: Care.REWRITE, OWN: Care.READ, READ: Care.READ,
}  # fmt: skip
CLIENT_ID = b"\0\x02me"
NO_ENDPOINTS = b"\0\x01" + bytes(5)


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


def request(api_key, correlation_id, body=b"", version=0):
    return frame(
        struct.pack(">hhi", api_key, version, correlation_id) + CLIENT_ID + body
    )


def produce(correlation_id, acks, version=11, body=b"records"):
    head = b"\0\0" if version >= 9 else b"\xff\xff"
    head = head if version >= 3 else b""
    return request(
        PRODUCE, correlation_id, head + struct.pack(">h", acks) + body, version
    )


def response(correlation_id, body=b""):
    return frame(struct.pack(">i", correlation_id) + body)


class Pair:
    """Frames in both directions, and a reader that answers what it is told to."""

    def __init__(self):
        self.broker, self.client = bytearray(), bytearray()
        self.line = Line()
        self.places = []
        self.asked = []
        self.requests = RequestFrames(
            self.line,
            cares=CARES,
            reader=self,
            find_address=lambda *_address: ("proxy", 1),
            to_broker=self.broker.extend,
            max_read_bytes=1_000,
        )
        self.responses = ResponseFrames(
            self.line,
            find_address=lambda *_address: ("proxy", 1),
            to_client=self.client.extend,
            note_large=lambda: None,
        )

    def read_request(self, api_key, _version, data):
        self.asked.append(data)
        if api_key == OWN:
            return OwnReply()
        (correlation_id,) = struct.unpack_from(">i", data, 4)
        return Awaited(correlation_id, lambda body: body + b"!")

    def read_token(self, token):
        self.asked.append(token)
        if token.startswith(b"\0"):
            self.line.expects_token = False
            return None
        return Awaited(None, self.take_token)

    def take_token(self, token):
        self.asked.append(token)
        self.line.expects_token = token != b"done"
        return token

    def answer(self, _data, place):
        self.places.append(place)

    def ask(self, data, step):
        for at in range(0, len(data), step):
            self.requests.receive(data[at : at + step])

    def reply(self, data, step):
        for at in range(0, len(data), step):
            self.responses.receive(data[at : at + step])


STEPS = pytest.mark.parametrize("step", [1, 2, 3, 7, 13, 14, 15, 40, 10_000])


@STEPS
def test_frames_pass_as_they_are_in_the_order_of_the_requests(step):
    pair = Pair()
    asked = b"".join(
        [
            request(FETCH, 1), produce(2, 1), produce(3, 0), produce(4, -1, version=2),
            request(999, 5, b"x" * 100), produce(6, 0, version=8), produce(7, 0, version=1),
        ]
    )  # fmt: skip
    pair.ask(asked, step)
    assert pair.broker == asked
    assert list(pair.line) == [1, (2, PRODUCE, 11, None), 4, 5]
    answered = b"".join(
        [
            response(1, b"y" * 90),
            response(2, NO_ENDPOINTS),
            response(4),
            response(5, b"z"),
        ]
    )
    pair.reply(answered, step)
    assert pair.client == answered
    assert not pair.line
    assert not pair.requests.is_amid
    assert not pair.responses.is_amid


@STEPS
def test_a_reply_of_ours_has_its_place_among_those_of_the_broker(step):
    pair = Pair()
    own, read = request(OWN, 2, b"push"), request(READ, 4)
    pair.ask(request(FETCH, 1) + own + request(FETCH, 3) + read, step)
    assert pair.broker == request(FETCH, 1) + request(FETCH, 3) + read
    assert pair.asked == [own[4:], read[4:]]
    before, behind = response(1, b"a"), response(3, b"b") + response(4, b"c")
    pair.reply(before + behind, step)
    assert pair.client == before
    assert pair.responses.is_blocked
    pair.responses.fill(pair.places[0], b"own")
    assert not pair.responses.is_blocked
    assert pair.client == before + b"own" + response(3, b"b") + response(4, b"c!")
    pair.responses.fill(pair.places[0], b"late")
    assert pair.client.count(b"late") == 0
    assert not pair.line


def test_a_reply_of_ours_does_not_go_into_the_middle_of_a_frame():
    pair = Pair()
    pair.ask(request(FETCH, 1) + request(OWN, 2), 10_000)
    whole = response(1, b"a" * 50)
    pair.responses.receive(whole[:20])
    pair.responses.fill(pair.places[0], b"own")
    assert pair.client == whole[:20]
    pair.responses.receive(whole[20:])
    assert pair.client == whole + b"own"


def test_a_reply_that_is_there_at_once_waits_for_those_before_it():
    pair = Pair()
    pair.answer = lambda _data, place: pair.responses.fill(place, b"own")
    pair.ask(request(OWN, 1), 10_000)
    assert pair.client == b"own"
    pair.ask(request(FETCH, 2) + request(OWN, 3), 10_000)
    assert pair.client == b"own"
    pair.reply(response(2), 10_000)
    assert pair.client == b"own" + response(2) + b"own"


@STEPS
def test_large_frames_are_passed_on_in_pieces_and_not_kept(step):
    pair = Pair()
    data = produce(1, 1, body=b"r" * 5_000)
    pair.ask(data[:-1], step)
    assert pair.broker == data[:-1]
    assert pair.requests.part is None
    assert pair.requests.is_amid


@STEPS
def test_tokens_pass_until_the_broker_is_content(step):
    pair = Pair()
    pair.line.expects_token = True
    pair.ask(frame(b"one"), step)
    pair.reply(frame(b"more"), step)
    pair.ask(frame(b""), step)
    pair.reply(frame(b"done"), step)
    pair.ask(request(FETCH, 1), step)
    assert pair.asked == [b"one", b"more", b"", b"done"]
    assert pair.broker == frame(b"one") + frame(b"") + request(FETCH, 1)
    assert pair.client == frame(b"more") + frame(b"done")


@STEPS
def test_a_request_may_come_where_a_token_could(step):
    pair = Pair()
    pair.line.expects_token = True
    pair.ask(request(FETCH, 1) + request(FETCH, 2), step)
    assert pair.broker == request(FETCH, 1) + request(FETCH, 2)
    assert list(pair.line) == [1, 2]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (frame(b""), MalformedBytes),
        (frame(b"123456789"), MalformedBytes),
        (struct.pack(">ihhih", -1, FETCH, 0, 1, -1), MalformedBytes),
        (request(OWN, 1, b"x" * 1_000), MalformedBytes),
        (request(METADATA, 1, version=99), UnsupportedRequest),
        (produce(1, 1, version=99), UnsupportedRequest),
    ],
)
def test_what_came_before_a_bad_request_is_passed_on(data, error):
    pair = Pair()
    with pytest.raises(error):
        pair.ask(request(FETCH, 1) + request(READ, 2) + data + bytes(20), 10_000)
    assert pair.broker.startswith(request(FETCH, 1) + request(READ, 2))


@STEPS
@pytest.mark.parametrize("size", [-(2**31), -1, 0, 7, 9])
def test_a_size_that_holds_no_header_is_refused_before_anything_follows_it(size, step):
    pair = Pair()
    with pytest.raises(MalformedBytes):
        pair.ask(request(FETCH, 1) + struct.pack(">i", size), step)
    assert pair.broker == request(FETCH, 1)
    assert not pair.requests.is_amid


@STEPS
@pytest.mark.parametrize("version", [2, 8, 11])
def test_a_produce_request_that_ends_before_acks_is_refused_at_once(version, step):
    pair, whole = Pair(), produce(2, 1, version, body=b"")
    cut_off = frame(whole[4:-1])
    with pytest.raises(MalformedBytes):
        pair.ask(request(FETCH, 1) + cut_off + request(FETCH, 3) * 9, step)
    # Of a head that may still be whole nothing is passed on.
    assert pair.broker == request(FETCH, 1)
    assert list(pair.line) == [1]


def test_acks_are_not_read_behind_the_end_of_a_request():
    pair = Pair()
    transactional = struct.pack(">h", 30) + b"t" * 30 + struct.pack(">h", 1)
    one = request(PRODUCE, 1, transactional, version=8)
    pair.ask(one, 10_000)
    assert list(pair.line) == [1]
    with pytest.raises(MalformedBytes):
        pair.ask(frame(one[4:-20]) + bytes(100), 10_000)


def test_a_bad_request_of_ours_leaves_no_place_behind():
    pair = Pair()

    def refuse(_data, _place):
        raise MalformedBytes("cut off")

    pair.answer = refuse
    with pytest.raises(MalformedBytes):
        pair.ask(request(FETCH, 1) + request(OWN, 2) + request(FETCH, 3), 10_000)
    assert list(pair.line) == [1]
    assert pair.broker == request(FETCH, 1)


def test_what_came_at_once_goes_on_at_once():
    pair, writes = Pair(), []
    pair.requests._to_broker = writes.append
    asked = [request(FETCH, 1), request(OWN, 2), request(READ, 3), request(FETCH, 4)]
    pair.ask(b"".join(asked), 10_000)
    assert writes == [asked[0] + asked[2] + asked[3]]


@pytest.mark.parametrize(("acks", "is_noted"), [(0, True), (1, False), (-1, False)])
def test_it_is_noted_that_something_has_no_answer(acks, is_noted):
    pair = Pair()
    pair.ask(produce(1, acks), 10_000)
    assert pair.requests.has_unanswered is is_noted


@STEPS
def test_an_answer_that_the_client_has_not_asked_for_is_dropped(step):
    pair = Pair()
    pair.ask(request(FETCH, 1), step)
    question, place = make_question("me")
    pair.line.append(place)
    pair.ask(request(FETCH, 2), step)
    (size, api_key, version, correlation_id) = struct.unpack_from(">ihhi", question)
    assert (size, api_key, version) == (len(question) - 4, METADATA, 7)
    assert question.endswith(b"\0\2me" + bytes(5))
    pair.reply(response(1) + response(correlation_id, b"x" * 90) + response(2), step)
    assert pair.client == response(1) + response(2)
    assert not pair.line
    assert not pair.responses.is_amid


@pytest.mark.parametrize("client_id", [None, "x" * 40_000])
def test_a_client_without_a_name_that_fits_is_asked_for_without_one(client_id):
    question, _ = make_question(client_id)
    assert question[12:] == b"\xff\xff" + bytes(5)


@pytest.mark.parametrize(
    "data",
    [response(2), struct.pack(">ii", 3, 1), struct.pack(">ii", -4, 1)],
)
def test_a_response_that_is_not_awaited_is_malformed(data):
    pair = Pair()
    pair.ask(request(FETCH, 1), 10_000)
    with pytest.raises(MalformedResponse):
        pair.reply(data, 10_000)


def test_a_response_that_nobody_has_asked_for_is_malformed():
    with pytest.raises(MalformedResponse):
        Pair().reply(response(1), 10_000)
