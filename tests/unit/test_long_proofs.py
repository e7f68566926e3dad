"""`tests/run.sh long`: what it knows, how it runs a proof, and what documents say."""

import re

import pytest

from tests.long.__main__ import PROOFS, ROOT, Proof, main, run


def test_the_page_on_tests_lists_each_proof_and_its_program():
    page = (ROOT / "docs" / "dev" / "tests.md").read_text(encoding="utf-8")
    told = {}
    for names, program in re.findall(
        r"^\| (`.*`) \| `tests/(\S+)` \|", page, re.MULTILINE
    ):
        told |= dict.fromkeys(re.findall(r"`([a-z0-9-]+)`", names), program)
    assert told == {proof.name: proof.words[0] for proof in PROOFS}


def test_every_program_is_there():
    for proof in PROOFS:
        assert (ROOT / "tests" / proof.words[0]).is_file()


def test_a_proof_is_known_by_its_exit_code_and_its_last_line(tmp_path):
    program = "long/proxy_pipelines.py"
    told = run(Proof(name="told", words=(program, "--help")), tmp_path)
    assert (told.code, told.last_line) == (0, "  --seed SEED")
    wrong = run(Proof(name="wrong", words=(program, "--wrong")), tmp_path)
    assert wrong.code == 2
    assert wrong.last_line.endswith("unrecognized arguments: --wrong")
    assert (tmp_path / "wrong.txt").exists()


def test_an_unknown_name_prints_usage(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["long", "job-kill"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "no proof job-kill" in capsys.readouterr().err
