"""Whose delegation tokens are: the cluster is asked, and not too often."""

from kio.schema.describe_delegation_token.v3.request import (
    DescribeDelegationTokenRequest,
)
from kio.schema.describe_delegation_token.v3.response import (
    DescribedDelegationToken,
    DescribeDelegationTokenResponse,
)
from kio.schema.errors import ErrorCode

from pipelines.bridge.proxy.rules.token_owners import PAUSE_S, TokenOwners
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE


class Cluster:
    def __init__(self):
        self.asked, self.timers, self.notes, self.told = [], [], [], []
        self.owners = TokenOwners(
            lambda request, finish: self.asked.append((request, finish)),
            lambda delay_s, work: self.timers.append((delay_s, work)),
            self.notes.append,
        )

    def find(self, token_id):
        self.owners.find(token_id, self.told.append)

    def answer(self, answer):
        _request, finish = self.asked.pop()
        finish(answer)

    def pass_time(self):
        delay_s, work = self.timers.pop()
        assert delay_s == PAUSE_S
        work()


def make_answer(error_code=ErrorCode.none, **owners):
    tokens = tuple(
        DescribedDelegationToken(
            principal_type="User",
            principal_name=name,
            token_requester_principal_type="User",
            token_requester_principal_name="other",
            issue_timestamp=0,
            expiry_timestamp=0,
            max_timestamp=0,
            token_id=token_id,
            hmac=b"secret",
            renewers=(),
        )
        for token_id, name in owners.items()
    )
    return DescribeDelegationTokenResponse(
        error_code=error_code, tokens=tokens, throttle_time=NO_THROTTLE
    )


def test_an_owner_is_asked_for_once_and_remembered():
    cluster = Cluster()
    cluster.find("t1")
    assert cluster.asked[0][0] == DescribeDelegationTokenRequest(owners=None)
    assert cluster.told == []
    cluster.answer(make_answer(t1="alice", t2="bob"))
    assert cluster.told == ["User:alice"]
    cluster.find("t2")
    assert cluster.told == ["User:alice", "User:bob"]
    assert cluster.asked == []
    assert cluster.notes == []


def test_those_who_come_meanwhile_wait_for_one_more_question():
    cluster = Cluster()
    for token_id in ("t1", "t2", "t3"):
        cluster.find(token_id)
    assert len(cluster.asked) == 1
    cluster.answer(make_answer(t1="alice"))
    assert cluster.told == ["User:alice"]
    assert cluster.asked == []
    cluster.pass_time()
    cluster.answer(make_answer(t1="alice", t2="bob", t3="carol"))
    assert cluster.told == ["User:alice", "User:bob", "User:carol"]
    cluster.pass_time()
    assert cluster.asked == []
    # Nobody waits: the next one is asked for at once.
    cluster.find("t4")
    assert len(cluster.asked) == 1


def test_a_cluster_that_does_not_say_is_told_of_once():
    cluster = Cluster()
    refusal = make_answer(ErrorCode.delegation_token_request_not_allowed)
    for answer in (ClusterFault("no answer"), refusal, refusal, make_answer(t9="x")):
        cluster.find("t1")
        cluster.answer(answer)
        cluster.pass_time()
    assert cluster.told == [None] * 4
    assert cluster.notes == [
        "no answer",
        "the cluster answers delegation_token_request_not_allowed",
        "the cluster does not show the token to the user of the bridge",
    ]


def test_an_owner_with_control_characters_is_not_known():
    cluster = Cluster()
    cluster.find("t1")
    cluster.answer(make_answer(t1="alice\n", t2="bob"))
    assert cluster.told == [None]
