"""What commands refuse before anything starts, and in which words."""

import pytest

from pipelines.commands import parse_words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["demo", "--duration", "-5"], "--duration: expected a whole number, 0 or more, not '-5'"),
        (["demo", "--clients", "201"], "--clients: expected a whole number, from 2 to 200, not '201'"),
        (["sql", "select 1", "--limit", "-1"], "--limit: expected a whole number, 0 or more, not '-1'"),
        (["sql", "select 1", "--limit", "x"], "--limit: expected a whole number, 0 or more, not 'x'"),
        (["kafka", "--brokers", "0"], "--brokers: expected a whole number, 1 or more, not '0'"),
        (["kafka", "--port", "65536"], "--port: expected a whole number, from 0 to 65535, not '65536'"),
    ],
)  # fmt: skip
def test_a_number_that_makes_no_sense_is_refused_with_usage(words, reason, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_words(words)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"usage: ./spark-submit.sh {words[0]}")
    assert said.endswith(f"argument {reason}\n")
