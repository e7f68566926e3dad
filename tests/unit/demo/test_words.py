"""Words of demo that exclude each other are refused before anything starts."""

import pytest

from tests.support.jobs.called_main import call_main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--site", "--clients", "4"), "--site has twelve clients of its own"),
        (("--site", "--duration", "0"), "--duration: --site needs at least 30 seconds"),
        (("--site", "--duration", "29"), "--duration: --site needs at least 30 sec"),
        (("--mend",), "--mend goes with --site"),
    ],
)
def test_words_that_exclude_each_other_are_refused(capsys, words, said):
    code, printed, error = call_main(capsys, "demo", *words)
    assert (code, printed) == (2, "")
    assert error.startswith(f"kafka-clientele: {said}")
