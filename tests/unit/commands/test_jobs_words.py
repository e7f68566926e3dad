"""Which jobs the command jobs runs."""

import pytest

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.call import Call
from pipelines.commands.jobs import PREPARE, choose_jobs
from pipelines.errors import InvalidSetting

TELEMETRY, TRAFFIC = "client_telemetry_to_delta", "client_traffic_to_delta"


def called(*words):
    return Call(arguments=parse_words(["jobs", *words]), environ={})


def test_all_jobs_over_a_topic_run_in_one_order():
    named = [c.name for c in COMMANDS_BY_NAME.values() if c.name.endswith("_to_delta")]
    assert sorted(choose_jobs(called())) == sorted(named)
    assert next(iter(PREPARE)) == TELEMETRY


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--only", TRAFFIC], [TRAFFIC]),
        (["--only", TRAFFIC, "--only", TELEMETRY], [TELEMETRY, TRAFFIC]),
        (["--without", TELEMETRY], [name for name in PREPARE if name != TELEMETRY]),
        (["--only", TRAFFIC, "--only", TELEMETRY, "--without", TRAFFIC], [TELEMETRY]),
    ],
    ids=str,
)
def test_jobs_are_chosen_by_name(words, left):
    call = called(*words)
    assert choose_jobs(call) == left
    # As the driver is called.
    again = called(*COMMANDS_BY_NAME["jobs"].words_of(call.arguments))
    assert choose_jobs(again) == left


def test_a_choice_of_nothing_is_refused():
    with pytest.raises(InvalidSetting, match="leave no job"):
        choose_jobs(called("--only", TRAFFIC, "--without", TRAFFIC))


def test_a_name_that_is_no_job_is_refused_with_usage(capsys):
    with pytest.raises(SystemExit) as ended:
        called("--only", "demo")
    assert ended.value.code == 2
    assert "invalid choice: 'demo'" in capsys.readouterr().err
