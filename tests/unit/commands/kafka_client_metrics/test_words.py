"""What the command says that no broker is needed for."""

from pipelines import __version__
from pipelines.commands.kafka_client_metrics import answers
from tests.unit.commands.kafka_client_metrics.test_options import given


def test_version_is_printed_as_kafkas_tool_prints_its_own():
    said, complained = [], []
    code = answers.run(
        given("--version"),
        say=said.append,
        complain=lambda *one: complained.append(one),
    )
    assert (code, said, complained) == (0, [f"{__version__} (Commit:unknown)"], [])


def test_a_selector_that_never_matches_is_warned_of_when_it_is_set():
    warn = answers.list_warnings
    (line,) = warn("client_instance_id=b69cc35a-7a54-4790-aa69-cc2bd4ee4538")
    assert "this one is tpzDWnpUR5Cqacwr1O5FOA" in line
    assert warn("client_id=a") == warn("client_id=(?=a)") == []
