"""Quotas and dynamic client configs of one command, each asked of its own API."""

import shlex

import pytest

from pipelines.commands import parse_words
from pipelines.commands.kafka_configs import answers
from pipelines.kafka_client.client_configs import (
    ALTER_CLIENT_CONFIGS,
    DESCRIBE_CLIENT_CONFIGS,
)
from tests.support.config_broker import ConfigBroker

ALICE = (("user", "alice"),)
CLIENT_CONFIGS = {DESCRIBE_CLIENT_CONFIGS, ALTER_CLIENT_CONFIGS}
ALTER_QUOTAS = 49
INVALID_REQUEST, LOADING, NOT_AUTHORIZED = 42, 14, 31


def run(broker, line):
    """Run the command; return exit code, what it prints and what it complains of."""
    said, complained = [], []
    words = ["kafka-configs", "--bootstrap-server", broker.place, *shlex.split(line)]
    code = answers.run(parse_words(words), say=said.append, complain=complained.append)
    return code, said, complained


@pytest.fixture
def broker():
    with ConfigBroker() as one:
        yield one


def test_the_lines_of_the_proposal_with_keys_in_order(broker):
    for line, told in [
        (
            (
                "--alter --entity-type users --entity-name alice "
                "--add-config acks=-1,session.timeout.ms=11000,producer_byte_rate=50000"
            ),
            ["Completed updating config for user alice."],
        ),
        (
            (
                "--alter --entity-type users --entity-name alice --entity-type clients "
                "--entity-name clientid-override "
                "--add-config acks=0,heartbeat.interval.ms=2000,producer_byte_rate=60000"
            ),
            ["Completed updating config for user alice."],
        ),
        (
            "--describe --entity-type users --entity-name alice",
            [
                (
                    "Quota configs for user-principal 'alice' are "
                    "producer_byte_rate=50000.0"
                ),
                (
                    "Dynamic configs for user-principal 'alice' are "
                    "acks=-1, session.timeout.ms=11000"
                ),
            ],
        ),
        (
            "--describe --entity-type users --entity-name alice --entity-type clients",
            [
                (
                    "Quota configs for user-principal 'alice', client-id "
                    "'clientid-override' are producer_byte_rate=60000.0"
                ),
                (
                    "Dynamic configs for user-principal 'alice', client-id "
                    "'clientid-override' are acks=0, heartbeat.interval.ms=2000"
                ),
            ],
        ),
    ]:
        assert run(broker, line) == (0, told, [])


def test_a_default_client_id_is_named_as_released_tools_name_it(broker):
    assert (
        run(broker, "--alter --user bob --client-defaults --add-config acks=1")[0] == 0
    )
    line = "--alter --user bob --client b --add-config acks=0,request_percentage=5"
    assert run(broker, line) == (0, ["Completed updating config for client b."], [])
    assert run(broker, "--describe --entity-type users --entity-type clients") == (
        0,
        [
            (
                "Quota configs for user-principal 'bob', client-id 'b' are "
                "request_percentage=5.0"
            ),
            "Dynamic configs for user-principal 'bob', client-id 'b' are acks=0",
            (
                "Dynamic configs for user-principal 'bob', the default client-id are "
                "acks=1"
            ),
        ],
        [],
    )


def test_the_lines_of_one_entity_stand_together_whoever_names_its_user_last(broker):
    pair, turned = (
        (("user", "a"), ("client-id", "b")),
        (("client-id", "b"), ("user", "a")),
    )
    broker.quotas, broker.dynamic = (
        {turned: {"request_percentage": 5.0}},
        {pair: {"acks": "0"}},
    )
    said = run(broker, "--describe --user a --client b")[1]
    assert [line.partition(" ")[0] for line in said] == ["Quota", "Dynamic"]


def test_removing_a_config_that_is_not_set_is_no_error_but_of_a_quota_it_is(broker):
    assert run(broker, "--alter --user alice --delete-config acks")[0] == 0
    broker.asked.clear()
    line = "--alter --user alice --add-config acks=1 --delete-config request_percentage"
    assert run(broker, line) == (1, [], ["Invalid config(s): request_percentage"])
    assert not {ALTER_QUOTAS, *CLIENT_CONFIGS} & {*broker.asked}


def test_where_the_second_part_is_refused_the_first_is_named_as_done(broker):
    broker.answers = [(INVALID_REQUEST, "acks: must be one of -1, 0, 1, all")]
    line = "--alter --user alice --add-config acks=2,producer_byte_rate=7"
    assert run(broker, line) == (
        1,
        [
            (
                "Completed updating quota configs for user alice; its dynamic configs are "
                "not updated."
            )
        ],
        ["Error while executing config command: acks: must be one of -1, 0, 1, all"],
    )
    assert broker.quotas == {ALICE: {"producer_byte_rate": 7.0}}
    broker.answers = [(INVALID_REQUEST, "acks: no")]
    assert run(broker, "--alter --user alice --add-config acks=2")[1] == []


def test_a_cluster_without_dynamic_configs_says_so_before_anything_is_altered():
    with ConfigBroker(is_serving=False) as broker:
        line = "--alter --user alice --add-config acks=1,producer_byte_rate=7"
        assert run(broker, line) == (
            1, [], ["This cluster does not serve dynamic client configs"],
        )  # fmt: skip
        assert broker.quotas == {}
        line = "--alter --user alice --add-config producer_byte_rate=7"
        assert run(broker, line)[0] == 0
        assert run(broker, "--describe --user alice") == (
            0,
            ["Quota configs for user-principal 'alice' are producer_byte_rate=7.0"],
            [],
        )
        assert not CLIENT_CONFIGS & {*broker.asked}


def test_quotas_are_told_where_dynamic_configs_are_refused(broker):
    broker.quotas = {ALICE: {"producer_byte_rate": 7.0}}
    broker.answers = [(NOT_AUTHORIZED, None)]
    code, said, complained = run(broker, "--describe --user alice")
    assert (code, len(said)) == (1, 1)
    assert complained == [
        "Error while executing config command: Cluster authorization failed."
    ]


def test_a_bridge_that_still_reads_its_store_is_asked_again(broker):
    broker.dynamic = {ALICE: {"acks": "1"}}
    broker.answers = [(LOADING, None)] * 2
    assert run(broker, "--describe --user alice") == (
        0, ["Dynamic configs for user-principal 'alice' are acks=1"], [],
    )  # fmt: skip
    assert broker.asked.count(DESCRIBE_CLIENT_CONFIGS) == 3


@pytest.mark.parametrize(
    "line",
    ["--client c", "--entity-type clients", "--user-defaults", "--ip-defaults",
     "--user-defaults --client c"],
)  # fmt: skip
def test_only_what_has_a_user_is_asked_for_dynamic_configs(broker, line):
    assert run(broker, f"--describe {line}") == (0, [], [])
    assert not CLIENT_CONFIGS & {*broker.asked}


def test_both_numbers_may_be_others(tmp_path):
    path = tmp_path / "admin.properties"
    path.write_text(
        "dynamic.configs.describe.api.key=20050\ndynamic.configs.alter.api.key=20051\n"
    )
    line = f"--command-config {path} --user alice"
    with ConfigBroker(describe_key=20050, alter_key=20051) as broker:
        assert run(broker, f"{line} --alter --add-config acks=1")[0] == 0
        assert run(broker, f"{line} --describe")[1] != []
        assert run(broker, "--describe --user alice")[1] == []
        path.write_text("dynamic.configs.alter.api.key=40000\n")
        assert run(broker, f"{line} --describe")[2] == [
            (
                "Error while executing config command: dynamic.configs.alter.api.key: "
                "must be a number from 0 to 32767"
            )
        ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--user-defaults --add-config acks=1,producer_byte_rate=5",
         ("Only quota configs can be altered for the default user. Dynamic client "
         "configs are those of one user: acks")),
        ("--user-defaults --client c --delete-config acks",
         ("Only quota configs can be altered for the default user. Dynamic client "
         "configs are those of one user: acks")),
        ("--client c --add-config acks=1",
         ("Only quota configs can be added for 'clients' using --bootstrap-server. "
         "Unexpected config names: Set(acks)")),
        ("--user alice --add-config SCRAM-SHA-512=[iterations=8192,password=hunter2]",
         "SCRAM credentials are altered by Kafka's own tool, kafka-configs.sh"),
        ("--user alice --delete-config SCRAM-SHA-256",
         "SCRAM credentials are altered by Kafka's own tool, kafka-configs.sh"),
        ("--user alice --delete-config ''",
         "Invalid config(s): a name of a config is empty"),
        (f"--user alice --add-config acks={'1' * 40_000}",
         "acks: a value of 40000 bytes is longer than 32767"),
        (f"--user {'a' * 40_000} --add-config acks=1",
         "A name of 40000 bytes is longer than 32767"),
    ],
)  # fmt: skip
def test_what_is_sure_to_be_refused_is_refused_without_asking(broker, line, told):
    assert run(broker, f"--alter {line}") == (1, [], [told])
    assert broker.asked == []
