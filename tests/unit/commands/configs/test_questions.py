"""The words of `configs`: what goes together, and what ends with the usage."""

from datetime import UTC, datetime

import pytest

from pipelines.commands import parse_words
from pipelines.commands.configs.questions import ClientName, read_question


def read(text):
    return read_question(parse_words(["configs", *text.split()]))


def test_words_become_a_question():
    asked = read(
        "diff --client-id app --client-instance-id i-1 --principal User:a "
        "--client-type share-consumer --key acks --key retries --at 2026-03-01 --json"
    )
    assert asked.clients == (
        ClientName(column="client_id", text="app"),
        ClientName(column="client_instance_id", text="i-1"),
    )
    assert asked.client_type == "share_consumer"
    assert asked.keys == ("acks", "retries")
    assert asked.at == datetime(2026, 3, 1, tzinfo=UTC)
    assert asked.is_json
    assert str(asked) == (
        "client-id app, client-instance-id i-1, principal User:a, "
        "client-type share_consumer"
    )


@pytest.mark.parametrize(
    "text",
    [
        "describe --client-id app --all",
        "describe --principal User:a --at 2026-03-01T06:00",
        "diff --client-id a --client-id b",
        "diff --client-id a",
        "diff --client-id a --from 2026-03-01",
        "diff --client-instance-id a --from 2026-03-01 --to 2026-03-02",
        "history --client-type admin --to 2026-03-02",
    ],
)
def test_words_that_go_together(text):
    assert read(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("explain", "unknown action 'explain'; known actions: describe, diff, history"),
        ("describe", "say which clients"),
        ("history", "say which clients"),
        ("describe --client-id a --at noon", "'noon' is not a date or a time"),
        (
            "describe --client-id a --from 2026-03-01",
            "it belongs to configs diff and configs history",
        ),
        (
            "history --client-id a --at 2026-03-01",
            "it belongs to configs describe and configs diff",
        ),
        ("history --client-id a --all", "it belongs to configs describe"),
        ("diff", "one client, now or at two moments, or about two"),
        ("diff --client-id a --client-id b --client-id c", "or about two clients"),
        ("diff --client-instance-id a", "one instance is compared at two moments"),
        ("diff --client-id a --to 2026-03-01", "one client is compared at two moments"),
        ("diff --client-id a --at 2026-03-01", "compared at two moments"),
        ("diff --client-id a --client-id b --to 2026-03-01", "compared at one moment"),
        (
            "diff --client-id a --from 2026-03-02 --to 2026-03-01",
            "--to must be later than --from",
        ),
        ("describe --client-type broker", "invalid choice: 'broker'"),
    ],
)
def test_words_that_do_not_go_together_end_with_the_usage(capsys, text, reason):
    with pytest.raises(SystemExit) as ended:
        read(text)
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert printed.startswith("usage: ./spark-submit.sh configs")
    assert reason in printed
