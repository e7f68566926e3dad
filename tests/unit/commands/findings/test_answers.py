"""Exit codes of findings, and files that cannot be checked."""

import json

import pytest

from pipelines.commands import parse_words
from pipelines.commands.call import Call
from pipelines.commands.findings import answers
from pipelines.commands.findings.checking import check
from pipelines.commands.options import CommandFault
from pipelines.tables.findings import CLIENT_FINDINGS, FINDING_RUNS
from tests.unit.commands.findings.test_lines import FINDING, RUN


class Rows(list):
    """Rows of a table that was read."""

    to_pylist = list.copy


@pytest.mark.parametrize(("words", "code"), [([], 1), (["--rules"], 0)])
def test_findings_json_with_open_error_exits_0_only_with_rules(
    monkeypatch, words, code
):
    tables = {
        CLIENT_FINDINGS.name: Rows([FINDING | {"severity": "error"}]),
        FINDING_RUNS.name: Rows([RUN]),
    }
    monkeypatch.setattr(answers, "_read_tables", lambda *_: tables)
    said = []
    arguments = parse_words(["findings", "list", "--json", *words])
    assert answers.answer(Call(arguments=arguments, environ={}), said.append) == code
    assert "findings" in json.loads(said[0])


def test_findings_check_of_file_in_other_encoding_names_utf_8(tmp_path):
    file = tmp_path / "client.properties"
    file.write_bytes(b"client.id=caf\xe9\n")
    arguments = parse_words(
        ["findings", "check", "--client-type", "producer", "--properties", str(file)]
    )
    with pytest.raises(CommandFault, match="not a UTF-8 text file"):
        check(Call(arguments=arguments, environ={}), print)
