"""What admins and clients are answered, and what is written for them."""

import pytest

from pipelines.bridge.dynamic_configs import writing
from pipelines.bridge.dynamic_configs.state import Place, StoredRecord
from pipelines.kafka_client.client_configs import (
    Component,
    read_altered,
)
from pipelines.kafka_wire.records import TopicFault
from tests.support.bridge.dynamic_configs import client, set_configs, user
from tests.unit.bridge.dynamic_configs.store_bridge import (
    ADMIN,
    ANY,
    BOB,
    settle,
)
from udfs.dynamic_configs import ConfigRecord

FORBIDDEN = (31, "Cluster authorization failed.")
LOADING = (
    14,
    "This bridge has not read all dynamic client configs yet; ask again.",
)


def test_who_is_no_admin_neither_alters_nor_describes(bridge, run):
    async def scene():
        altered = await bridge.alter(
            set_configs(user("bob"), acks="2"), set_configs((), acks="1"), principal=BOB
        )
        assert altered == [FORBIDDEN, FORBIDDEN]
        described = bridge.describe(*ANY, principal=BOB)
        assert described == (0, *FORBIDDEN, None)
        assert bridge.describe(principal=BOB) == (0, *FORBIDDEN, None)

    run(scene)
    assert bridge.topic.transactions == []


def test_before_all_is_read_everybody_is_told_to_ask_again(bridge, run):
    bridge.state.clear(Place.CONFIGS)

    async def scene():
        altered = await bridge.alter(set_configs(user("bob"), acks="2"))
        assert altered == [LOADING]
        assert bridge.describe(*ANY) == (0, *LOADING, None)
        resolved = bridge.describe(
            principal=BOB, resolve_entity=True, supported_configs=("acks",)
        )
        assert resolved == (0, *LOADING, None)
        await settle()

    run(scene)
    assert bridge.topic.transactions == []


def test_an_alteration_is_one_transaction_and_is_answered_when_it_is_back(bridge, run):
    async def scene():
        bridge.topic.comes_back = False
        replies = bridge.begin(
            set_configs(user("bob"), acks="1", retries="3"),
            set_configs(client("bob", None), acks="all"),
        )
        await settle()
        assert replies == []
        ((*stored,),) = bridge.topic.transactions
        assert stored == [
            ConfigRecord("bob", None, False, "acks", "1", ADMIN, 1_000),
            ConfigRecord("bob", None, False, "retries", "3", ADMIN, 1_000),
            ConfigRecord("bob", None, True, "acks", "all", ADMIN, 1_000),
        ]
        bridge.writer.note_read([StoredRecord(1, b"", None, 0)], Place.CONFIGS)
        await settle()
        assert replies == []
        bridge.writer.note_read([StoredRecord(2, b"", None, 0)], Place.CONFIGS)
        await settle()
        assert len(replies) == 1

    run(scene)


def test_a_bad_entity_does_not_stop_the_others(bridge, run):
    async def scene():
        altered = await bridge.alter(
            set_configs(user("bob"), acks="2"),
            set_configs(user("eve"), acks="0"),
            set_configs(user("eve"), acks="1"),
            set_configs((("client-id", "c"), ("user", "bob")), acks="1"),
        )
        assert altered == [
            (42, "acks: expects one of -1, 0, 1, all"),
            (0, None),
            (42, "Ignoring duplicate entity in one request."),
            (0, None),
        ]
        described = bridge.describe(*ANY)
        assert described.entries == [
            (client("bob", "c"), {"acks": "1"}),
            (user("eve"), {"acks": "0"}),
        ]

    run(scene)


def test_validate_only_writes_nothing_and_judges_all_the_same(bridge, run):
    async def scene():
        answers = await bridge.alter(
            set_configs(user("bob"), acks="1"),
            set_configs(user("eve"), acks="3"),
            validate_only=True,
        )
        assert [code for code, _ in answers] == [0, 42]

    run(scene)
    assert bridge.topic.transactions == []
    assert bridge.describe(*ANY).entries == []


def test_what_is_so_already_is_not_written(bridge, run):
    async def scene():
        for _ in range(2):
            assert await bridge.alter(set_configs(user("b"), acks="1")) == [(0, None)]

    run(scene)
    assert len(bridge.topic.transactions) == 1


def test_a_key_is_judged_over_what_the_alteration_before_it_has_set(bridge, run):
    async def scene():
        both = [
            bridge.begin(set_configs(user("bob"), session_timeout_ms="10")),
            bridge.begin(set_configs(user("bob"), heartbeat_interval_ms="10")),
        ]
        await settle()
        codes = [read_altered(body)[1][0].error_code for (body,) in both]
        assert codes == [0, 42]

    run(scene)


@pytest.mark.parametrize("fault", [TopicFault("Kafka says no"), None])
def test_what_kafka_does_not_take_in_time_is_said(bridge, run, counters, fault):
    async def scene():
        bridge.topic.fault, bridge.topic.comes_back = fault, False
        answers = await bridge.alter(
            set_configs(user("bob"), acks="1"), set_configs(user("eve"), acks="2")
        )
        assert [code for code, _ in answers] == [7, 42]
        assert answers[0][1].endswith("it may stand there all the same.")

    run(scene)
    assert counters.failed_alterations == 1


def test_who_waits_when_the_bridge_stops_is_told(bridge, run):
    waiting = []

    async def scene():
        bridge.topic.comes_back = False
        waiting.append(bridge.begin(set_configs(user("bob"), acks="1")))
        waiting.append(bridge.begin(set_configs(user("eve"), acks="1")))
        await settle()

    run(scene)
    told = [read_altered(body)[1][0] for (body,) in waiting]
    assert [one.error_code for one in told] == [7, 7]
    assert "The bridge stops" in told[0].error_message


def test_more_alterations_than_may_wait_are_refused(bridge, run, monkeypatch):
    monkeypatch.setattr(writing, "MAX_WAITING_ALTERATIONS", 1)

    async def scene():
        bridge.begin(set_configs(user("bob"), acks="1"))
        (body,) = bridge.begin(set_configs(user("eve"), acks="1"))
        (told,) = read_altered(body)[1]
        assert (told.error_code, told.error_message[:8]) == (7, "Too many")

    run(scene)


def test_a_filter_that_says_nothing_is_invalid(bridge):
    assert bridge.describe()[:2] == (0, 42)
    assert bridge.describe(Component("ip", 2, None)) == (
        0, 42, "Unknown entity type: dynamic client configs have user and client-id.", None,
    )  # fmt: skip


def set_all(bridge, run):
    async def scene():
        await bridge.alter(
            set_configs(user("bob"), acks="all", retries="1"),
            set_configs(client("bob", None), acks="1"),
            set_configs(client("bob", "app"), acks="0"),
            set_configs(user("eve"), acks="-1"),
        )

    run(scene)


def test_a_client_resolves_itself_whatever_it_says_of_itself(bridge, run):
    set_all(bridge, run)
    own = {"acks": "0", "retries": "1"}
    assert bridge.resolve(BOB) == (client("bob", "app"), own)
    for said in (Component("user", 0, "eve"), Component("x", 9, None)):
        assert bridge.resolve(BOB, "app", said)[1] == own
    default = {"acks": "1", "retries": "1"}
    assert bridge.resolve(BOB, "other") == (client("bob", "other"), default)
    assert bridge.resolve(BOB, "") == (user("bob"), default)
    assert bridge.resolve("User:ANONYMOUS") == (client("ANONYMOUS", "app"), {})


def test_an_admin_resolves_somebody_else(bridge, run):
    set_all(bridge, run)
    bob, app = Component("user", 0, "bob"), Component("client-id", 0, "app")
    assert bridge.resolve(ADMIN, "tool", bob, app)[1]["acks"] == "0"
    assert bridge.resolve(ADMIN, "tool", bob) == (
        user("bob"),
        {"acks": "1", "retries": "1"},
    )
    assert bridge.resolve(ADMIN, "tool") == (client("admin", "tool"), {})


def test_alteration_after_a_topic_is_recreated_waits_until_it_is_read_back(bridge, run):
    async def scene():
        for number in range(5):
            await bridge.alter(set_configs(user("bob"), retries=str(number)))
        bridge.topic.recreate()
        bridge.topic.comes_back = False
        replies = bridge.begin(set_configs(user("bob"), retries="7"))
        await settle()
        assert replies == []
        bridge.topic.read_back()
        await settle()
        assert len(replies) == 1

    run(scene)
