"""Kafka's own tools show and alter quotas at the endpoint."""

import os
import shlex

import pytest

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.call import Call
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.kafka.kafka_commands import run_configs

ALICE = ("--entity-type", "users", "--entity-name", "quoted-alice")
C1 = ("--entity-type", "clients", "--entity-name", "c1")


@pytest.fixture(scope="module")
def endpoint(kafka):
    """Where a bridge listens that takes everybody for an admin."""
    settings = make_settings(kafka, "bridge.admin_principals=['User:ANONYMOUS']")
    with running_bridge(settings) as (_, place):
        yield place


def test_what_is_set_at_the_endpoint_is_set_at_the_broker(java, kafka, endpoint):
    set_one = ("--add-config", "producer_byte_rate=60000,request_percentage=12.5")
    code, printed = run_configs(java, endpoint, "--alter", *ALICE, *C1, *set_one)
    assert (code, printed) == (0, "Completed updating config for user quoted-alice.\n")
    at_the_endpoint, at_the_broker = (
        run_configs(java, place, "--describe", *ALICE, *C1)
        for place in (endpoint, kafka.bootstrap_servers)
    )
    assert at_the_endpoint == at_the_broker
    assert "producer_byte_rate=60000.0" in at_the_endpoint[1]
    keys = ("--delete-config", "producer_byte_rate,request_percentage")
    assert run_configs(java, endpoint, "--alter", *ALICE, *C1, *keys)[0] == 0
    _, printed = run_configs(java, kafka.bootstrap_servers, "--describe", *ALICE, *C1)
    assert "producer_byte_rate" not in printed


def test_what_a_broker_refuses_is_refused_in_its_words(java, kafka, endpoint):
    words = ("--alter", *ALICE, "--add-config", "producer_byte_rate=0")
    told = [
        run_configs(java, place, *words)
        for place in (endpoint, kafka.bootstrap_servers)
    ]
    first = [printed.replace(endpoint, "").splitlines()[1] for _, printed in told]
    assert first[0] == first[1]
    assert "Quota producer_byte_rate must be greater than 0" in first[0]
    assert told[0][0] == told[1][0] == 1


def test_who_is_no_admin_is_refused(java, kafka):
    with running_bridge(make_settings(kafka)) as (_, place):
        for words in (
            ("--describe", *ALICE),
            ("--alter", *ALICE, "--add-config", "producer_byte_rate=1"),
        ):
            code, printed = run_configs(java, place, *words)
            assert code == 1
            assert "ClusterAuthorizationException" in printed
            assert "Cluster authorization failed." in printed


def test_a_file_is_applied_through_the_endpoint(endpoint, tmp_path, capsys):
    path = tmp_path / "quotas.yaml"
    path.write_text(
        "\n".join(
            f"- {{entity_path: clients/many-{n}, quotas: {{producer_byte_rate: {n}}}}}"
            for n in range(1, 351)
        )
    )
    line = f"quotas apply --file {path} --bootstrap-server {endpoint}"
    call = Call(arguments=parse_words(shlex.split(line)), environ=os.environ)
    said = []
    for _ in range(2):
        assert COMMANDS_BY_NAME["quotas"].run(call) == 0
        said.append(capsys.readouterr().out.splitlines()[-1].partition(";")[0])
    assert said == ["350 additions, 0 changes, 0 removals", "no difference"]
