"""Words of `clients` that go together, and those that do not."""

import pytest

from pipelines.commands import parse_words
from pipelines.settings.api_versions import load_api_versions
from tests.support.jobs.given_calls import run_line


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("upgrade", "arguments are required: --to"),
        ("upgrade --to 4.9", "--to: expected one of 3.9, 4.0"),
        ("stale --to 4.4", "--to 4.4; it belongs to clients upgrade"),
        ("stale --client-instance-id x", "it belongs to clients coverage"),
        ("coverage --principal x", "it belongs to clients stale and clients upgrade"),
        ("upgrade --to 4.4 --since never", "'never' is not a date or a time"),
    ],
)
def test_words_that_do_not_go_together(words, reason, capsys):
    with pytest.raises(SystemExit):
        run_line(None, f"./spark-submit.sh clients {words}")
    assert reason in capsys.readouterr().err


def test_all_releases_can_be_named():
    for release in load_api_versions().releases:
        words = parse_words(["clients", "upgrade", "--to", release])
        assert words.to == release
